"""One scan of a deployment: read the last days once, search, and store the result."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.clock import HOUR
from ...base.errors import Conflict, InvalidInput, require_present
from ...base.values import Scalar, canonical, frozen_arrays, frozen_by_name
from ...database.binary_rows import HeldRow, lease_row, page_newest, read_row, write_held
from ...database.engine import ArrowReader, Database, arrow_reader
from ...database.tables import SubgroupScanRow
from ...deployments.monitor.queries import find_monitor
from ...domain.check import Span
from ...domain.deployment import RecordSchema
from ...domain.monitor import Outcome
from ...domain.paging import Paging
from ...sources.arrays.favourable_scores import classify_answers, read_stored_cells
from ...sources.arrays.read_records import thin_to_equal_rates
from ...sources.stored.window_queries import WindowQuery, name_values
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.group_labels import MISSING as NO_VALUE
from ...statistics.group_labels import NEITHER, Codes
from ...statistics.scan.scan_results import Bins, SearchResult, say_search, search_groups
from ...statistics.scan.search_subgroup import MAX_FEATURES, MIN_RECORDS
from ...statistics.sentences.left_out import CountedRecords, count_records
from ..count_hours import number_hours
from ..first_records import FirstRecordChoice, FirstRecords
from ..queries.eras import find_era, read_followed_deployment
from ..queries.hour_counts import count_logged, read_records_between
from ..watched_figures import FollowedEra

LEASE = timedelta(minutes=15)
MAX_ATTEMPTS = 3
ABANDONED = "The workers that ran the scan stopped without an answer. Request it again."
_OVER: dict[str, Any] = {"claimable_at": None, "lease_token": None, "finished_at": func.now()}
_IF_LOST = "The scan's lease ran out: another worker may own it."


@frozen_by_name
class SubgroupScan:
    no: int
    id: str
    deployment_no: int
    state: str
    features: list[str] | None
    hours: int
    direction: str
    created_by: str
    created_at: datetime
    finished_at: datetime | None
    attempts: int
    lease_token: str | None
    reason: str | None
    span_start: datetime | None
    span_end: datetime | None
    bins: list[Any] | None
    result: dict[str, Any] | None


def queue_scan(
    session: Session,
    deployment_no: int,
    *,
    features: Sequence[str] | None,
    direction: str,
    hours: int,
    requested_by: str,
) -> SubgroupScan:
    insertion = insert(SubgroupScanRow).values(
        deployment_no=deployment_no,
        features=features,
        hours=hours,
        direction=direction,
        created_by=requested_by,
    )
    is_open = SubgroupScanRow.claimable_at.is_not(None)
    session.execute(insertion.on_conflict_do_nothing(index_elements=["deployment_no"], index_where=is_open))
    statement = select(SubgroupScanRow).where(SubgroupScanRow.deployment_no == deployment_no, is_open)
    return read_row(SubgroupScan, session.scalars(statement).one())


def claim_scan(session: Session, *, token: str) -> SubgroupScan | None:
    """Scans without attempts left fail."""
    due = SubgroupScanRow.claimable_at <= func.now()
    abandoned = update(SubgroupScanRow).where(due, SubgroupScanRow.attempts >= MAX_ATTEMPTS)
    session.execute(abandoned.values(state="failed", reason=ABANDONED, **_OVER))
    no = session.scalar(
        select(SubgroupScanRow.no)
        .where(due)
        .order_by(SubgroupScanRow.no)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if no is None:
        return None
    lease_row(session, SubgroupScanRow, no, token=token, lease=LEASE, state="running")
    return read_row(SubgroupScan, session.get_one(SubgroupScanRow, no, populate_existing=True))


def end_scan(session: Session, scan: SubgroupScan, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    """Ends the scan with these values of its row. Raises LeaseLost."""
    held = HeldRow(table=SubgroupScanRow, no=scan.no, token=scan.lease_token, if_lost=_IF_LOST)
    write_held(session, held, {**_OVER, **values}, SubgroupScanRow.no)


def read_scans(session: Session, deployment_no: int, paging: Paging) -> Sequence[SubgroupScan]:
    statement = select(SubgroupScanRow).where(SubgroupScanRow.deployment_no == deployment_no)
    return [
        read_row(SubgroupScan, row)
        for row in session.scalars(page_newest(statement, SubgroupScanRow.no, paging))
    ]


def get_scan(session: Session, deployment_no: int, scan_id: str) -> SubgroupScan:
    """Raises NotFound."""
    statement = select(SubgroupScanRow).where(
        SubgroupScanRow.deployment_no == deployment_no, SubgroupScanRow.id == scan_id
    )
    row = session.scalars(statement).one_or_none()
    return read_row(SubgroupScan, require_present(row, "subgroup scan", scan_id))


def read_last_bins(session: Session, deployment_no: int) -> list[Any]:
    statement = select(SubgroupScanRow.bins).where(
        SubgroupScanRow.deployment_no == deployment_no, SubgroupScanRow.bins.is_not(None)
    )
    return session.scalar(statement.order_by(SubgroupScanRow.no.desc()).limit(1)) or []


FOUND_BEFORE = "It found a group, which this version of Evenhand does not show. Request the scan again."


def read_result(scan: SubgroupScan) -> SearchResult | None:
    """None unless it succeeded. The result of an earlier version has no group."""
    stored = scan.result
    bins = scan.bins
    if stored is None or bins is None:
        return None
    defaults: dict[str, Any] = {
        "group": None,
        "features": [binned["feature"] for binned in bins],
        "direction": scan.direction,
    }
    return msgspec.convert(defaults | stored, SearchResult)


def say_scan(scan: SubgroupScan) -> str:
    if scan.state == "queued":
        return "The scan waits for a worker."
    if scan.state == "running":
        return "The scan is running."
    result = read_result(scan)
    if result is None:
        return scan.reason or "The scan failed."
    if scan.result is not None and "inside_records" in scan.result:
        return FOUND_BEFORE
    counted = [scan.result["counted"]["text"]] if scan.result is not None and "counted" in scan.result else []
    return " ".join([*counted, say_search(result, left_out=(scan.features or [])[len(result.features) :])])


MAX_RECORDS = 200_000
"""Of the newest hours, unless a single hour has more."""

MAX_CELLS = 10_000
"""With more, the last features are left out, lest the scan outlast its lease."""

NOTHING_COUNTED = (
    "No hour has been counted for the present monitor and model revision yet. Request the "
    "scan again after the next full hour."
)


@frozen_arrays
class FeatureRecords:
    columns: Mapping[str, pa.ChunkedArray]
    favourable: npt.NDArray[np.bool_]
    records: CountedRecords


def run_next_scan(database: Database, *, token: str) -> bool:
    """False if there is none. `token` is new for each call.

    Raises:
        LeaseLost: another worker took the scan over; nothing was stored.
        Unavailable: the database went away; the scan is taken over when its lease has run out.
    """
    with database.transaction() as session:
        scan = claim_scan(session, token=token)
    if scan is None:
        return False
    try:
        _run(database, scan)
    except Conflict as error:
        with database.transaction() as session:
            end_scan(session, scan, state="failed", reason=str(error))
    return True


def _run(database: Database, scan: SubgroupScan) -> None:
    with database.transaction() as session, arrow_reader(database) as reader:
        monitor = find_monitor(session, scan.deployment_no)
        if monitor is None:
            raise Conflict(
                "The deployment has no fairness monitor, which says what is favourable. Set one, then "
                "request the scan again."
            )
        deployment = read_followed_deployment(session, scan.deployment_no)
        era = find_era(session, scan.deployment_no, deployment.model_revision)
        if era is None or era.counted_until is None:
            raise Conflict(NOTHING_COUNTED)
        until = era.counted_until
        span = Span(start=until - scan.hours * HOUR, end=until)
        records = count_logged(session, scan.deployment_no, span)
        if records > MAX_RECORDS:
            span = Span(start=until - max(1, scan.hours * MAX_RECORDS // records) * HOUR, end=until)
        schema = deployment.schema
        person = monitor.evidence.person
        monitored = [
            attribute.feature
            for attribute in monitor.attributes
            if schema.column(attribute.feature) is not None
        ]
        usual = dict.fromkeys([*monitored, *(column.name for column in schema.features)])
        names = scan.features or [name for name in usual if name != person][:MAX_FEATURES]
        people = None if person is None else FirstRecords(session, era.no, remembers=False)
        followed = FollowedEra(deployment, monitor, era)
        batches = list(read_features(reader, followed, names, span, people))
        last = msgspec.convert(read_last_bins(session, scan.deployment_no), list[Bins])

    stored = {binned.feature: binned for binned in last}
    favourable = np.concatenate([batch.favourable for batch in batches]) if batches else np.zeros(0, np.bool_)
    if len(favourable) < 2 * MIN_RECORDS:
        raise Conflict(
            f"Fewer than {2 * MIN_RECORDS} records with these features count in the scanned hours; a scan "
            "needs that many."
        )
    # A feature keeps its values from scan to scan: a group found again has the same rule.
    bins = [
        stored.get(name) or Bins.choose(name, count_values([batch.columns[name] for batch in batches]))
        for name in names
    ]
    codes = np.concatenate(
        [
            np.column_stack([encode(binned, batch.columns[binned.feature]) for binned in bins])
            for batch in batches
        ]
    )
    while codes.shape[1] > 1 and len(np.unique(codes, axis=0)) > MAX_CELLS:
        bins = bins[:-1]
        codes = codes[:, :-1]
    result = search_groups(bins, codes, favourable, direction=UnfairSide(scan.direction), seed=scan.no)
    with database.transaction() as session:
        end_scan(
            session,
            scan,
            state="succeeded",
            span_start=span.start,
            span_end=span.end,
            bins=bins,
            result=msgspec.to_builtins(result)
            | {"counted": reduce(CountedRecords.plus, [batch.records for batch in batches]).to_json()},
        )


def encode(bins: Bins, column: pa.ChunkedArray) -> Codes:
    coded = read_stored_cells(column).coded()
    if bins.edges:
        numbers = [float(value) if isinstance(value, int | float) else np.nan for value in coded.values]
        positions = bins.encode_numbers(np.array(numbers, np.float64))
    else:
        positions = bins.encode_texts([canonical(value) for value in coded.values])
    # The code -1 is the last place.
    return np.asarray(np.append(positions, bins.missing)[coded.codes])


def count_values(columns: Sequence[pa.ChunkedArray]) -> Mapping[Scalar, int]:
    counts: Counter[Scalar] = Counter()
    for column in columns:
        coded = read_stored_cells(column).coded()
        frequencies = np.bincount(coded.codes[coded.codes != NO_VALUE], minlength=len(coded.values)).tolist()
        for value, count in zip(coded.values, frequencies, strict=True):
            counts[value] += count
    return counts


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
    present = tuple(dict.fromkeys([*names, *([] if person is None else [person])]))
    for schema in followed.deployment.schemas:
        if any(schema.column(name) is None for name in present):
            continue
        rows = read_records_between(
            reader, WindowQuery(followed.deployment.no, schema, present), span, followed.era.model_revision
        )
        if not rows.num_rows:
            continue
        columns = name_values(rows, present)
        outcomes = classify_answers(rows["outcome"], followed.monitor.outcomes)
        hours = number_hours(rows["logged_at"], span)
        # A subgroup that is logged more often would look larger than it is.
        left_out = {"thinned": ~thin_to_equal_rates(rows["record_no"].to_numpy(), rows["sample_rate"], hours)}
        if people is not None and person is not None:
            left_out["repeated_person"] = ~people.choose(columns[person], rows)
        counts = ~np.logical_or.reduce([outcomes == Outcome.UNCLASSIFIED, *left_out.values()])
        mask = pa.array(counts)
        no_group = np.full(len(outcomes), NEITHER)
        lacks_answer = rows["outcome"].is_null().to_numpy()
        records = count_records(
            "", (), no_group, outcomes, answers="predictions", lacks_answer=lacks_answer, excluded=left_out
        )
        yield FeatureRecords(
            {name: columns[name].filter(mask) for name in names},
            (outcomes == Outcome.FAVOURABLE)[counts],
            records,
        )


SCANNED_HOURS = 720


def check_scan(
    session: Session, deployment_no: int, schema: RecordSchema, features: Sequence[str] | None
) -> None:
    """None: those of the deployment.

    Raises:
        InvalidInput: too many, or one is repeated, no column, or says whose record it is.
        Conflict: the deployment has no monitor.
    """
    monitor = find_monitor(session, deployment_no)
    listed = features or ()
    if features is not None and not 1 <= len(features) <= MAX_FEATURES:
        raise InvalidInput("features", f"must name 1 to {MAX_FEATURES} columns, found {len(features)}")
    for position, name in enumerate(listed):
        if name in listed[:position]:
            raise InvalidInput(f"features[{position}]", f"{name!r} is named twice")
        if schema.column(name) is None:
            raise InvalidInput(
                f"features[{position}]", f"{name!r} is not a feature or meta field of the deployment"
            )
        if monitor is not None and name == monitor.evidence.person:
            raise InvalidInput(
                f"features[{position}]", f"{name!r} says whose record it is, so it makes no subgroup"
            )
    if monitor is None:
        raise Conflict(
            "The deployment has no fairness monitor, which says what is favourable. Set one first."
        )
