"""One scan of a deployment: read the last days once, search, and store the result."""

from datetime import timedelta

import msgspec
import numpy as np
from sqlalchemy.orm import Session

from ...clock import HOUR
from ...domain.checks import Span
from ...errors import Conflict
from ...evidence.nulls import UnfairSide
from ...scan.bins import Bins
from ...scan.cells import MAX_FEATURES
from ...scan.results import search_groups
from ...scan.search import MIN_RECORDS
from ...store.database.arrow import arrow_reader
from ...store.database.engine import Database
from ...store.deployments.monitors import monitor_of
from ...store.evidence.eras import find_era, followed_deployment
from ...store.evidence.hours import count_records
from ...store.subgroups.scans import SubgroupScan, claim_scan, end_scan, last_bins
from ..counting import FollowedEra
from ..people import FirstRecords
from .binning import count_values, encode
from .reading import FeatureRecords, read_features

MOST_RECORDS = 200_000
"""Max records that a scan reads, those of the newest hours, unless a single hour has more."""

MAX_CELLS = 10_000
"""Max combinations of values; beyond, the last features are left out, lest the scan outlast its lease."""

LEASE = timedelta(minutes=15)
MAX_ATTEMPTS = 3
ABANDONED = "The workers that ran the scan stopped without an answer. Request it again."
NOTHING_COUNTED = (
    "No hour has been counted for the present monitor and model revision yet. Request the scan again after the next full hour."
)


def run_next_scan(database: Database, *, token: str) -> bool:
    """Runs the next queued scan; False if there is none. `token` is new for each call.

    Raises:
        LeaseLost: another worker took the scan over; nothing was stored.
        Unavailable: the database went away; the scan is taken over when its lease has run out.
    """
    with database.transaction() as session:
        scan = claim_scan(session, token=token, lease=LEASE, max_attempts=MAX_ATTEMPTS, if_abandoned=ABANDONED)
    if scan is None:
        return False
    try:
        _run(database, scan)
    except Conflict as error:
        with database.transaction() as session:
            end_scan(session, scan, state="failed", reason=str(error))
    return True


def _default_features(followed: FollowedEra) -> list[str]:
    schema, person = followed.deployment.schemas[-1], followed.monitor.evidence.person
    monitored = [one.feature for one in followed.monitor.attributes if schema.column(one.feature) is not None]
    names = dict.fromkeys([*monitored, *(column.name for column in schema.features)])
    return [name for name in names if name != person][:MAX_FEATURES]


def _find_counted_era(session: Session, deployment_no: int) -> FollowedEra:
    monitor = monitor_of(session, deployment_no)
    if monitor is None:
        raise Conflict("The deployment has no fairness monitor, which says what is favourable. Set one, then request the scan again.")
    deployment = followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision)
    if era is None or era.counted_until is None:
        raise Conflict(NOTHING_COUNTED)
    return FollowedEra(deployment, monitor, era)


def _run(database: Database, scan: SubgroupScan) -> None:
    span, names, parts, stored = _read(database, scan)
    favourable = np.concatenate([part.favourable for part in parts]) if parts else np.zeros(0, np.bool_)
    if len(favourable) < 2 * MIN_RECORDS:
        raise Conflict(f"Fewer than {2 * MIN_RECORDS} records with these features count in the scanned hours; a scan needs that many.")
    # A feature keeps its values from scan to scan: a group found again has the same rule.
    bins = [stored.get(name) or Bins.choose(name, count_values([part.columns[name] for part in parts])) for name in names]
    codes = np.concatenate([np.column_stack([encode(binned, part.columns[binned.feature]) for binned in bins]) for part in parts])
    while codes.shape[1] > 1 and len(np.unique(codes, axis=0)) > MAX_CELLS:
        bins, codes = bins[:-1], codes[:, :-1]
    result = search_groups(bins, codes, favourable, direction=UnfairSide(scan.direction), seed=scan.no)
    with database.transaction() as session:
        end_scan(
            session,
            scan,
            state="succeeded",
            span_start=span.start,
            span_end=span.end,
            bins=[binned.to_json() for binned in bins],
            result=msgspec.to_builtins(result),
        )


def _read(database: Database, scan: SubgroupScan) -> tuple[Span, list[str], list[FeatureRecords], dict[str, Bins]]:
    with database.transaction() as session, arrow_reader(database) as reader:
        followed = _find_counted_era(session, scan.deployment_no)
        until = followed.era.counted_until
        assert until is not None, "`_find_counted_era` refuses others"  # noqa: S101 - above
        span = Span(start=until - scan.hours * HOUR, end=until)
        records = count_records(session, scan.deployment_no, span)
        if records > MOST_RECORDS:
            span = Span(start=until - max(1, scan.hours * MOST_RECORDS // records) * HOUR, end=until)
        names = scan.features or _default_features(followed)
        people = None if followed.monitor.evidence.person is None else FirstRecords(session, followed.era.no, remembers=False)
        parts = list(read_features(reader, followed, names, span, people))
        return span, names, parts, {binned["feature"]: Bins.from_json(binned) for binned in last_bins(session, scan.deployment_no)}
