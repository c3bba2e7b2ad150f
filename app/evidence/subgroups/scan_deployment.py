"""One scan of a deployment: read the last days once, search, and store the result."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.errors import Conflict
from ...base.values import Scalar, canonical, frozen_arrays
from ...database.engine import ArrowReader, Database, arrow_reader
from ...deployments.monitor.queries import find_monitor
from ...domain.check import Span
from ...domain.monitor import Outcome
from ...sources.arrays.favourable_scores import classify_answers, read_stored_cells
from ...sources.arrays.read_records import thin_to_equal_rates
from ...sources.stored.window_queries import WindowQuery, name_values
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.group_labels import MISSING as NO_VALUE
from ...statistics.group_labels import NEITHER, Codes
from ...statistics.scan.scan_results import Bins, search_groups
from ...statistics.scan.search_subgroup import MAX_FEATURES, MIN_RECORDS
from ...statistics.sentences.left_out import CountedRecords, count_records
from ..count_hours import number_hours
from ..first_records import FirstRecordChoice, FirstRecords
from ..queries.eras import find_era, read_followed_deployment
from ..queries.hour_counts import count_logged_by_hour, read_records_between
from ..watched_figures import FollowedEra
from .scan_queries import SubgroupScan, claim_scan, end_scan, read_bins

MAX_RECORDS = 200_000
"""Records of the newest hours that a scan reads; of one hour it may read more."""

MAX_CELLS = 10_000
"""Combinations of values; with more, the last features are left out, lest the scan outlast its lease."""

_NO_MONITOR = (
    "The deployment has no fairness monitor, which says what is favourable. Set one, then request the scan "
    "again."
)
_NOTHING_COUNTED = (
    "No hour has been counted for the present monitor and model revision yet. Request the "
    "scan again after the next full hour."
)
_TOO_FEW_RECORDS = (
    f"Fewer than {2 * MIN_RECORDS} records with these features count in the scanned hours; a scan needs that "
    "many."
)


@frozen_arrays
class FeatureRecords:
    """Records of one schema version: the features and outcomes of those that count, and counts of all."""

    columns: Mapping[str, pa.ChunkedArray]
    favourable: npt.NDArray[np.bool_]
    records: CountedRecords


def run_next_scan(database: Database, *, token: str) -> bool:
    """Runs the oldest scan that is due; False if there is none. `token` is new for each call.

    Raises:
        LeaseLost: another worker took the scan over; nothing was stored.
        Unavailable: the database went away; the scan is taken over when its lease has run out.
    """
    with database.transaction() as session:
        scan = claim_scan(session, token=token)
    if scan is None:
        return False
    try:
        _run_scan(database, scan)
    except Conflict as error:
        with database.transaction() as session:
            end_scan(session, scan, state="failed", reason=str(error))
    return True


def _run_scan(database: Database, scan: SubgroupScan) -> None:
    with database.transaction() as session, arrow_reader(database) as reader:
        followed = _find_followed_era(session, scan.deployment_no)
        span = _choose_span(session, followed, scan.hours)
        features = scan.features or _choose_features(followed)
        has_people = followed.monitor.evidence.person is not None
        people = FirstRecords(session, followed.era.no, remembers=False) if has_people else None
        batches = list(read_features(reader, followed, features, span, people))
        bins_by_feature = read_bins(session, scan.deployment_no)
    if sum(len(batch.favourable) for batch in batches) < 2 * MIN_RECORDS:
        raise Conflict(_TOO_FEW_RECORDS)
    # A feature that a scan has searched keeps its bins: a group found again has the same rule.
    bins = [
        bins_by_feature.get(name)
        or Bins.choose(name, count_values([batch.columns[name] for batch in batches]))
        for name in features
    ]
    codes = np.concatenate(
        [
            np.column_stack([encode_column(binned, batch.columns[binned.feature]) for binned in bins])
            for batch in batches
        ]
    )
    while codes.shape[1] > 1 and len(np.unique(codes, axis=0)) > MAX_CELLS:
        bins = bins[:-1]
        codes = codes[:, :-1]
    favourable = np.concatenate([batch.favourable for batch in batches])
    result = search_groups(bins, codes, favourable, direction=UnfairSide(scan.direction), seed=scan.no)
    counted = reduce(CountedRecords.plus, [batch.records for batch in batches])
    with database.transaction() as session:
        end_scan(
            session,
            scan,
            state="succeeded",
            features=features,
            span_start=span.start,
            span_end=span.end,
            bins=bins,
            result={**msgspec.to_builtins(result), "counted": counted.to_json()},
        )


def _find_followed_era(session: Session, deployment_no: int) -> FollowedEra:
    monitor = find_monitor(session, deployment_no)
    if monitor is None:
        raise Conflict(_NO_MONITOR)
    deployment = read_followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision)
    if era is None:
        raise Conflict(_NOTHING_COUNTED)
    return FollowedEra(deployment, monitor, era)


def _choose_span(session: Session, followed: FollowedEra, hours: int) -> Span:
    """The last counted hours, without the older ones where all have more than MAX_RECORDS records."""
    until = followed.era.counted_until
    if until is None:
        raise Conflict(_NOTHING_COUNTED)
    span = Span(start=until - hours * HOUR, end=until)
    records = 0
    for hour, hour_records in count_logged_by_hour(session, followed.deployment.no, span):
        records += hour_records
        if records > max(MAX_RECORDS, hour_records):
            return Span(start=hour + HOUR, end=until)
    return span


def _choose_features(followed: FollowedEra) -> list[str]:
    """The monitored columns, then the features of the present schema; never the column of persons."""
    schema = followed.deployment.schema
    monitored = [attribute.feature for attribute in followed.monitor.attributes]
    columns = [name for name in monitored if schema.column(name) is not None]
    columns += [column.name for column in schema.features]
    return [name for name in dict.fromkeys(columns) if name != followed.monitor.evidence.person][
        :MAX_FEATURES
    ]


def read_features(
    reader: ArrowReader,
    followed: FollowedEra,
    names: Sequence[str],
    span: Span,
    people: FirstRecordChoice | None,
) -> Iterator[FeatureRecords]:
    """Classified records of each schema version with all these columns, each person's first.

    Where rates of logging differ within an hour, the higher are thinned to the lowest.
    """
    person = followed.monitor.evidence.person
    columns = tuple(dict.fromkeys([*names, *([] if person is None else [person])]))
    for schema in followed.deployment.schemas:
        if any(schema.column(name) is None for name in columns):
            continue
        rows = read_records_between(
            reader, WindowQuery(followed.deployment.no, schema, columns), span, followed.era.model_revision
        )
        if not rows.num_rows:
            continue
        cells = name_values(rows, columns)
        outcomes = classify_answers(rows["outcome"], followed.monitor.outcomes)
        hours = number_hours(rows["logged_at"], span)
        # A subgroup that is logged more often would look larger than it is.
        left_out = {"thinned": ~thin_to_equal_rates(rows["record_no"].to_numpy(), rows["sample_rate"], hours)}
        if people is not None and person is not None:
            left_out["repeated_person"] = ~people.choose(cells[person], rows)
        is_counted = ~np.logical_or.reduce([outcomes == Outcome.UNCLASSIFIED, *left_out.values()])
        mask = pa.array(is_counted)
        yield FeatureRecords(
            columns={name: cells[name].filter(mask) for name in names},
            favourable=(outcomes == Outcome.FAVOURABLE)[is_counted],
            records=count_records(
                "",
                (),
                np.full(len(outcomes), NEITHER),
                outcomes,
                answers="predictions",
                lacks_answer=rows["outcome"].is_null().to_numpy(),
                excluded=left_out,
            ),
        )


def count_values(columns: Sequence[pa.ChunkedArray]) -> Mapping[Scalar, int]:
    counts: Counter[Scalar] = Counter()
    for column in columns:
        coded = read_stored_cells(column).coded()
        frequencies = np.bincount(coded.codes[coded.codes != NO_VALUE], minlength=len(coded.values)).tolist()
        for value, count in zip(coded.values, frequencies, strict=True):
            counts[value] += count
    return counts


def encode_column(bins: Bins, column: pa.ChunkedArray) -> Codes:
    """Position [records] of each cell in the bins; in ranges, what is no number is missing."""
    coded = read_stored_cells(column).coded()
    if bins.edges:
        numbers = [float(value) if isinstance(value, int | float) else np.nan for value in coded.values]
        positions = bins.encode_numbers(np.array(numbers, np.float64))
    else:
        positions = bins.encode_texts([canonical(value) for value in coded.values])
    # The code of a missing cell, -1, takes the last position.
    return np.asarray(np.append(positions, bins.missing)[coded.codes])
