"""One scan of a deployment: read the last days once, search, and store the result with its candidate in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from ...clock import HOUR
from ...domain.checks import Span
from ...errors import Conflict
from ...evidence.nulls import UnfairSide
from ...evidence.unsteadiness import UNSTEADINESS_HOURS
from ...scan.cells import MAX_FEATURES, count_cells
from ...scan.scanning import Scan, scan_cells
from ...scan.search import MIN_RECORDS
from ...store.alerts.alert_rules import hold_deployment
from ...store.database.arrow import ArrowReader, arrow_reader
from ...store.database.engine import Database
from ...store.deployments.monitors import monitor_of
from ...store.evidence.eras import find_era, followed_deployment, lock_evidence
from ...store.evidence.hours import count_records
from ...store.subgroups.candidates import NewCandidate, add_candidate, candidates_of_era
from ...store.subgroups.scans import SubgroupScan, claim_scan, end_scan, last_bins
from ..counting import FollowedEra
from ..people import FirstRecords
from .binning import Bins, count_values
from .following import count_candidates, settle_candidates
from .reading import read_features

MAX_P_VALUE = 0.05
"""Max p value of a scan whose subgroup becomes a candidate."""

MOST_RECORDS = 200_000
"""Max records that a scan reads, unless a single hour has more; of more, those of the newest hours."""

MAX_CELLS = 10_000
"""Max combinations of values; with more, which would take longer than the lease, the last features are left out."""

LEASE = timedelta(minutes=15)
MAX_ATTEMPTS = 3
ABANDONED = "The workers that ran the scan stopped without an answer. Request it again."
NOTHING_COUNTED = (
    "No hour has been counted for the present monitor and model revision yet. Request the scan again after the next full hour."
)
CHANGED = "The monitor or the model revision was changed during the scan. Request it again."


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Result of a search: the hours that were read, the division of the features, and the scan with the positions of its values."""

    span: Span
    bins: Sequence[Bins]
    scan: Scan
    values: list[list[int] | None]
    all_records: int
    all_favourable: int


def run_next_scan(database: Database, *, token: str) -> bool:
    """Runs the next queued scan; returns False if there is none. `token` is new for each call.

    Raises:
        LeaseLost: another worker took the scan over; nothing was stored.
        Unavailable: the database went away; the scan is taken over when its lease has run out.
    """
    with database.transaction() as session:
        scan = claim_scan(session, token=token, lease=LEASE, max_attempts=MAX_ATTEMPTS, if_abandoned=ABANDONED)
    if scan is None:
        return False
    try:
        followed, found = _search(database, scan)
        with database.transaction() as session, arrow_reader(database) as reader:
            store_scan(session, reader, scan, followed, found)
    except Conflict as error:
        with database.transaction() as session:
            end_scan(session, scan, state="failed", reason=str(error))
    return True


def default_features(followed: FollowedEra) -> list[str]:
    """Returns the features of a scan that names none: the monitored attributes, then the features of the model in their order."""
    schema, person = followed.deployment.schemas[-1], followed.monitor.evidence.person
    monitored = [one.feature for one in followed.monitor.attributes if schema.column(one.feature) is not None]
    names = dict.fromkeys([*monitored, *(column.name for column in schema.features)])
    return [name for name in names if name != person][:MAX_FEATURES]


def store_scan(session: Session, reader: ArrowReader, scan: SubgroupScan, followed: FollowedEra, found: _Found) -> None:
    """Stores the result, and the candidate if there is a new one, within the transaction.

    Raises:
        Conflict: the monitor or the model revision has changed.
        LeaseLost: another worker may own the scan; nothing was written.
    """
    no = followed.deployment.no
    lock_evidence(session, no)
    if not hold_deployment(session, no):
        raise Conflict("The deployment was deleted.")
    present = _follow(session, no)
    if present.era.no != followed.era.no:
        raise Conflict(CHANGED)
    candidate_no = None
    if found.scan.subgroup is not None and found.scan.p_value <= MAX_P_VALUE:
        candidate_no = _find_or_add(session, reader, scan, present, found)
    others = found.all_records - found.scan.records
    result = {
        "p_value": found.scan.p_value,
        "subsets": found.scan.subsets,
        "records": found.all_records,
        "favourable": found.all_favourable,
        # Only of a subgroup that may be shown.
        **(
            {
                "inside_records": found.scan.records,
                "inside_favourable": found.scan.favourable,
                "others_records": others,
                "others_favourable": found.all_favourable - found.scan.favourable,
            }
            if candidate_no is not None
            else {}
        ),
    }
    bins = [one.to_json() for one in found.bins]
    span = {"span_start": found.span.start, "span_end": found.span.end}
    end_scan(session, scan, state="succeeded", bins=bins, result=result, candidate_no=candidate_no, **span)


def _find_or_add(session: Session, reader: ArrowReader, scan: SubgroupScan, followed: FollowedEra, found: _Found) -> int:
    """Returns the candidate of the subgroup: the one that is watched or confirmed already, else a new one under the next number."""
    bins, values, born_at = [one.to_json() for one in found.bins], found.values, followed.era.counted_until
    for one in candidates_of_era(session, followed.era.no):
        if one.state != "expired" and (one.bins, one.values, one.direction, one.limit) == (bins, values, scan.direction, scan.limit):
            return one.no
    assert born_at is not None, "an era without counted hours cannot be scanned"  # noqa: S101 - see `_follow`
    new = NewCandidate(
        scan_no=scan.no, era_no=followed.era.no, bins=bins, values=values, direction=scan.direction, limit=scan.limit, born_at=born_at
    )
    no = add_candidate(session, followed.deployment.no, new)
    people = None if followed.monitor.evidence.person is None else FirstRecords(session, followed.era.no, remembers=False)
    candidates = candidates_of_era(session, followed.era.no)
    # The hours before the birth choose the first bets. They are counted a day at a time, as those after it.
    for hours in range(UNSTEADINESS_HOURS, 0, -24):
        start = born_at - hours * HOUR
        count_candidates(session, reader, followed, candidates, Span(start=start, end=start + 24 * HOUR), people)
    settle_candidates(session, followed, candidates, born_at)
    return no


def _follow(session: Session, deployment_no: int) -> FollowedEra:
    """Returns the deployment in its present era, of which hours were counted."""
    monitor = monitor_of(session, deployment_no)
    if monitor is None:
        raise Conflict("The deployment has no fairness monitor, which says what is favourable. Set one, then request the scan again.")
    deployment = followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision)
    if era is None or era.counted_until is None:
        raise Conflict(NOTHING_COUNTED)
    return FollowedEra(deployment, monitor, era)


def _search(database: Database, scan: SubgroupScan) -> tuple[FollowedEra, _Found]:
    with database.transaction() as session, arrow_reader(database) as reader:
        followed = _follow(session, scan.deployment_no)
        until = followed.era.counted_until
        assert until is not None, "`_follow` refuses others"  # noqa: S101 - above
        span = Span(start=until - scan.hours * HOUR, end=until)
        records = count_records(session, scan.deployment_no, span)
        if records > MOST_RECORDS:
            span = Span(start=until - max(1, scan.hours * MOST_RECORDS // records) * HOUR, end=until)
        names = scan.features or default_features(followed)
        people = None if followed.monitor.evidence.person is None else FirstRecords(session, followed.era.no, remembers=False)
        parts = list(read_features(reader, followed, names, span, people))
        stored = {one["feature"]: Bins.from_json(one) for one in last_bins(session, scan.deployment_no)}
    favourable = np.concatenate([part.favourable for part in parts]) if parts else np.zeros(0, np.bool_)
    if len(favourable) < 2 * MIN_RECORDS:
        raise Conflict(f"Fewer than {2 * MIN_RECORDS} records with these features count in the scanned hours; a scan needs that many.")
    # A feature keeps its values from scan to scan, so that a subgroup that is found again is known.
    bins = [stored.get(name) or Bins.choose(name, count_values([part.columns[name] for part in parts])) for name in names]
    codes = np.concatenate([np.column_stack([one.encode(part.columns[one.feature]) for one in bins]) for part in parts])
    while codes.shape[1] > 1 and len(np.unique(codes, axis=0)) > MAX_CELLS:
        bins, codes = bins[:-1], codes[:, :-1]
    used = [np.unique(column) for column in codes.T]
    # Without positions that no record has: they would count as subgroups that were searched.
    dense = np.column_stack([np.searchsorted(values, column) for values, column in zip(used, codes.T, strict=True)])
    cells = count_cells(dense, tuple(len(values) for values in used), favourable)
    result = scan_cells(cells, direction=UnfairSide(scan.direction), seed=scan.no)
    named: Sequence[Any] = () if result.subgroup is None else result.subgroup.values
    values = [None if one is None else used[feature][list(one)].tolist() for feature, one in enumerate(named)]
    return followed, _Found(span, bins, result, values, len(favourable), int(favourable.sum()))
