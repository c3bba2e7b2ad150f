"""Subgroups of a DataFrame that nobody listed: found by scans, confirmed on later hours."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..domain.values import label_of
from ..errors import InvalidInput
from ..evidence.hours import FloatArray, Hours, Side
from ..evidence.nulls import Limit, Scale, UnfairSide
from ..scan.cells import MAX_FEATURES, count_cells, count_subsets
from ..scan.confirming import EXPIRY_HOURS, USUAL_LIMITS, Candidate, CandidateBook, Followup, follow_candidate
from ..scan.scanning import Scan, scan_cells
from .binning import BinnedFeature, bin_feature
from .columns import Column, column_of
from .evidence import check_arguments
from .further import strata_of
from .outcomes import FAVOURABLE, UNCLASSIFIED, FrameOutcomes, OutcomeLists, outcomes_of
from .times import HourNumbers, first_of_each, hours_of

SCAN_HOURS = 168
"""Hours between two scans."""

SCANNED_HOURS = 720
"""Hours before a scan whose records it reads."""

MAX_P_VALUE = 0.05
"""Max p value of a scan whose subgroup becomes a candidate."""


MAX_STRATA = 50
"""Max strata within which records are compared."""


class CandidateState(StrEnum):
    """State of a subgroup that a scan found."""

    CANDIDATE = "candidate"
    CONFIRMED = "confirmed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """A subgroup that a scan found, under its number.

    `labels` are the values that belong to it, by feature; other features do not restrict it. `records`, `rate`, `others_rate` and
    `p_value` are those of its scan, `found_at` is the end of the scan's last hour. The p value accounts for the search over all
    subgroups of one scan, but not for several scans. Only `confirmed_at` says that later hours show it to be beyond the
    limit. `evidence` is the factor by which the later hours speak against "inside the limit", `needed` the factor that confirms it.
    """

    number: int
    labels: dict[str, tuple[str, ...]]
    state: CandidateState
    records: int
    rate: float
    others_rate: float
    p_value: float
    found_at: datetime
    confirmed_at: datetime | None
    expires_at: datetime
    evidence: float
    needed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroups:
    """Result of looking for subgroups. `features` are the labels by feature, `scans` the number of scans."""

    groups: tuple[FoundGroup, ...]
    features: dict[str, tuple[str, ...]]
    scans: int
    hours: int
    first: datetime
    records: int
    limit: float
    direction: UnfairSide
    favourable: tuple[str, ...]

    @property
    def subsets(self) -> int:
        """The number of subgroups that each scan searched."""
        return count_subsets([len(labels) for labels in self.features.values()])


def find_groups(
    frame: pd.DataFrame,
    *,
    features: Sequence[str],
    time: str,
    prediction: str | None = None,
    label: str | None = None,
    strata: str | None = None,
    person: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    limit: float | None = None,
    direction: str = "below",
    scan_hours: int = SCAN_HOURS,
    seed: int = 0,
) -> FoundGroups:
    """Looks for subgroups whose favourable rate falls short (or is ahead, `direction` "above"), and confirms them on later hours.

    Every `scan_hours` hours, and at the end, a scan over up to eight `features` reads the records of the last 30 days. A subgroup that
    chance alone would find in at most 5 % of scans becomes a candidate. It is confirmed when the hours after its scan, and only these, show
    that its favourable rate is less than `limit` (default 0.8; above: more than 1.25) times that of all other records; with `strata`, of
    those in the same stratum. At most 5 % is the chance of ever confirming one that is inside the limit in every hour, over all candidates.
    Outcomes are those of `prediction`, else of `label`; other arguments those of `follow_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    bound, lists = _read_limit(direction, limit), OutcomeLists.of(favourable, unfavourable)
    check_arguments(frame, prediction, label, limit=min(bound.value, 1 / bound.value))
    outcomes, hours = _read_outcomes(frame, prediction, label, lists), hours_of(column_of(frame, time, "time"), "time")
    counted = (outcomes.codes != UNCLASSIFIED) & (person is None or first_of_each(column_of(frame, person, "person"), hours.seconds))
    ends = _list_ends(hours.hours, scan_hours)
    log = _Log(
        features=_bin_columns(frame, features, counted, counted & (hours.numbers < ends[0])),
        favourable=outcomes.codes == FAVOURABLE,
        stratum=np.zeros(len(frame), np.int64) if strata is None else _number_strata(column_of(frame, strata, "strata")),
        counted=counted,
        hours=hours,
    )
    return FoundGroups(
        groups=tuple(_replay(log, ends, bound, seed)),
        features={one.name: one.labels for one in log.features},
        scans=len(ends),
        hours=hours.hours,
        first=hours.first,
        records=int(counted.sum()),
        limit=bound.value,
        direction=bound.direction,
        favourable=tuple(label_of(value) for value in lists.favourable),
    )


def _read_limit(direction: object, limit: object) -> Limit:
    if direction not in tuple(UnfairSide):
        raise InvalidInput.of("direction", f"must be 'below' or 'above', found {direction!r:.100}")
    side = UnfairSide(str(direction))
    given = USUAL_LIMITS[side] if limit is None else limit
    is_below = side is UnfairSide.BELOW
    if isinstance(given, bool) or not isinstance(given, int | float) or not (0 < given < 1 if is_below else 1 < given < np.inf):
        expected = "between 0 and 1, such as 0.8" if is_below else "above 1, such as 1.25"
        raise InvalidInput.of("limit", f"must be a ratio {expected}, found {given!r:.100}")
    return Limit(Scale.RATIO, side, float(given))


def _read_outcomes(frame: pd.DataFrame, prediction: str | None, label: str | None, lists: OutcomeLists) -> FrameOutcomes:
    option = "label" if prediction is None else "prediction"
    return outcomes_of(column_of(frame, prediction or label or "", option), lists, option)


def _list_ends(hours: int, scan_hours: object) -> list[int]:
    """Returns the hours at which scans end, the last hour of the log included."""
    if isinstance(scan_hours, bool) or not isinstance(scan_hours, int) or scan_hours < 1:
        raise InvalidInput.of("scan_hours", f"must be a whole number of hours, 1 or more, found {scan_hours!r:.100}")
    return [*range(scan_hours, hours, scan_hours), hours]


def _bin_columns(frame: pd.DataFrame, features: object, counted: npt.NDArray[np.bool_], seen: npt.NDArray[np.bool_]) -> list[BinnedFeature]:
    """Returns the features, whose values are chosen once, before anything is found, so that a candidate keeps its meaning."""
    names = [features] if isinstance(features, str) else list(features) if isinstance(features, Sequence) else []
    if not 1 <= len(names) <= MAX_FEATURES or len(set(map(str, names))) < len(names):
        raise InvalidInput.of("features", f"must name 1 to {MAX_FEATURES} columns, each once")
    return [bin_feature(column_of(frame, name, "features"), seen if seen.any() else counted) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Log:
    """Records as arrays [N]."""

    features: list[BinnedFeature]
    favourable: npt.NDArray[np.bool_]
    stratum: npt.NDArray[np.int64]
    counted: npt.NDArray[np.bool_]
    hours: HourNumbers

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        return np.column_stack([one.codes for one in self.features]).astype(np.int64)


def _number_strata(column: Column) -> npt.NDArray[np.int64]:
    """Returns the stratum of each record; those without one make up one of their own."""
    strata = strata_of(column)
    if len(strata.labels) > MAX_STRATA:
        raise InvalidInput.of(
            "strata", f"{column.name!r} holds {len(strata.labels):,} different values where at most {MAX_STRATA} are compared"
        )
    return np.unique(np.asarray(strata.codes), return_inverse=True)[1].astype(np.int64)


def _replay(log: _Log, ends: list[int], limit: Limit, seed: int) -> list[FoundGroup]:
    """Returns the candidates of all scans in their order, followed to the end of the log."""
    codes, stratum, book = log.codes, log.stratum, CandidateBook()
    sizes = tuple(len(one.labels) for one in log.features)
    found: list[FoundGroup] = []
    busy: dict[object, int] = {}
    for end in ends:
        read = log.counted & (log.hours.numbers >= end - SCANNED_HOURS) & (log.hours.numbers < end)
        if not read.any():
            continue
        cells = count_cells(codes[read], sizes, log.favourable[read], stratum[read])
        scan = scan_cells(cells, direction=limit.direction, seed=seed)
        # A subgroup that is watched already gets no second number; a confirmed one is known.
        if scan.subgroup is None or scan.p_value > MAX_P_VALUE or busy.get(scan.subgroup, 0) > end:
            continue
        candidate = book.open(scan.subgroup, limit, end)
        inside = candidate.subgroup.contains(codes)
        followed = follow_candidate(candidate, [_count(log, inside, log.counted & (stratum == one)) for one in np.unique(stratum)])
        busy[scan.subgroup] = end + EXPIRY_HOURS if followed.confirmed is None else log.hours.hours + 1
        found.append(_describe(log, candidate, followed, scan, log.favourable[read & ~inside]))
    return found


def _count(log: _Log, inside: npt.NDArray[np.bool_], counted: npt.NDArray[np.bool_]) -> Hours:
    """Returns the hours of a subgroup and of all other records."""

    def count(which: npt.NDArray[np.bool_]) -> FloatArray:
        return np.bincount(log.hours.numbers[which], minlength=log.hours.hours).astype(np.float64)

    return Hours(*(Side(count(counted & side & log.favourable), count(counted & side)) for side in (inside, ~inside)))


def _describe(log: _Log, candidate: Candidate, followed: Followup, scan: Scan, others: npt.NDArray[np.bool_]) -> FoundGroup:
    chosen = zip(log.features, candidate.subgroup.values, strict=True)
    confirmed = followed.confirmed
    state = CandidateState.EXPIRED if followed.is_expired else CandidateState.CANDIDATE if confirmed is None else CandidateState.CONFIRMED
    log_evidence = float(followed.log_evidence[-1]) if len(followed.log_evidence) else 0.0
    return FoundGroup(
        number=candidate.number,
        labels={feature.name: tuple(feature.labels[place] for place in values) for feature, values in chosen if values is not None},
        state=state,
        records=scan.records,
        rate=scan.favourable / scan.records,
        others_rate=float(others.mean()),
        p_value=scan.p_value,
        found_at=log.hours.start_of(candidate.born),
        confirmed_at=None if confirmed is None else log.hours.start_of(confirmed) + timedelta(hours=1),
        expires_at=log.hours.start_of(candidate.born + EXPIRY_HOURS),
        evidence=float(np.exp(min(log_evidence, 700.0))),
        needed=float(np.exp(candidate.log_threshold)),
    )
