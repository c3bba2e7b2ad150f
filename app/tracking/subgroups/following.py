"""Candidates over the hours: counts of each later hour, and whether these hours confirm the candidate.

The state follows from the stored counts alone, so a past hour that is counted again gives the state that it would have given before.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from ...clock import HOUR
from ...domain.checks import Span
from ...evidence.hours import Hours, Side
from ...evidence.nulls import Limit, Scale, UnfairSide
from ...evidence.unsteadiness import UNSTEADINESS_HOURS
from ...scan.confirming import EXPIRY_HOURS, Candidate, follow_candidate
from ...scan.scanning import Subgroup
from ...store.database.arrow import ArrowReader
from ...store.subgroups.candidates import (
    StoredCandidate,
    SubgroupHour,
    change_candidate,
    replace_subgroup_hours,
    subgroup_hours_of,
)
from ..counting import FollowedEra
from ..people import ChoosesRecords
from .binning import Bins
from .reading import read_features


def span_of(candidate: StoredCandidate) -> Span:
    """Returns the hours that a candidate's state depends on: those before its birth choose the bets."""
    return Span(start=candidate.born_at - UNSTEADINESS_HOURS * HOUR, end=candidate.born_at + EXPIRY_HOURS * HOUR)


def count_candidates(
    session: Session,
    reader: ArrowReader,
    followed: FollowedEra,
    candidates: Sequence[StoredCandidate],
    span: Span,
    people: ChoosesRecords | None,
) -> None:
    """Counts the records of the span for those of the candidates that are the era's and depend on it.

    A confirmed one is counted as well: hours that are counted again may take the confirmation back, and then the later ones decide.
    """
    together: dict[tuple[str, ...], list[StoredCandidate]] = defaultdict(list)
    for candidate in candidates:
        own = span_of(candidate)
        if candidate.era_no == followed.era.no and span.start < own.end and own.start < span.end:
            together[tuple(one["feature"] for one in candidate.bins)].append(candidate)
    size = (span.end - span.start) // HOUR
    for names, several in together.items():
        sums = np.zeros((len(several), 4, size), np.int64)
        for part in read_features(reader, followed, names, span, people):
            for number, candidate in enumerate(several):
                # Of the candidate itself: another scan may have chosen others for the same features.
                bins = [Bins.from_json(one) for one in candidate.bins]
                codes = np.column_stack([one.encode(part.columns[one.feature]) for one in bins])
                inside = subgroup_of(candidate.values).contains(codes)
                kinds = (inside & part.favourable, inside, ~inside & part.favourable, ~inside)
                sums[number] += [np.bincount(part.hours[kind], minlength=size) for kind in kinds]
        for candidate, counts in zip(several, sums, strict=True):
            hours = [
                SubgroupHour(
                    hour=span.start + at * HOUR,
                    inside_favourable=inside_favourable,
                    inside_records=inside_records,
                    others_favourable=others_favourable,
                    others_records=others_records,
                )
                for at, (inside_favourable, inside_records, others_favourable, others_records) in enumerate(counts.T.tolist())
                if inside_records or others_records
            ]
            replace_subgroup_hours(session, candidate.no, span, hours)


def settle_candidates(
    session: Session, followed: FollowedEra, candidates: Sequence[StoredCandidate], until: datetime, changed: Span | None = None
) -> None:
    """Computes the state of the era's candidates after the hours before `until`, and ends those of other eras that are too old.

    Candidates with no later hour are left out, unless they depend on hours that have `changed`.
    """
    for candidate in candidates:
        if candidate.era_no != followed.era.no:
            if candidate.born_at <= until - EXPIRY_HOURS * HOUR:
                change_candidate(session, candidate.no, state="expired")
            continue
        own = span_of(candidate)
        end = min(until, own.end)
        has_changed = changed is not None and changed.start < own.end and own.start < changed.end
        if end <= candidate.born_at or (end <= candidate.until and not has_changed):
            continue
        born = UNSTEADINESS_HOURS
        # The subgroup plays no part: the hours were counted for it.
        found = follow_candidate(Candidate(candidate.number, Subgroup(()), limit_of(candidate), born), [_load(session, candidate, end)])
        state = "confirmed" if found.confirmed is not None else "expired" if found.is_expired else "candidate"
        confirmed_at = None if found.confirmed is None else candidate.born_at + (found.confirmed + 1 - born) * HOUR
        log_evidence = float(found.log_evidence[-1])
        change_candidate(session, candidate.no, state=state, log_evidence=log_evidence, confirmed_at=confirmed_at, until=end)


def limit_of(candidate: StoredCandidate) -> Limit:
    """Returns the limit of the ratio that a candidate is claimed to be beyond."""
    return Limit(Scale.RATIO, UnfairSide(candidate.direction), candidate.limit)


def subgroup_of(values: Sequence[Sequence[int] | None]) -> Subgroup:
    """Returns the stored subgroup."""
    return Subgroup(tuple(None if one is None else tuple(one) for one in values))


def _load(session: Session, candidate: StoredCandidate, end: datetime) -> Hours:
    """Returns the counts of the hours before the birth that choose bets, and of those up to `end`; hours without records have zeros."""
    span = Span(start=span_of(candidate).start, end=end)
    # An hour without a row still counts as one of those that choose the next bet.
    counts = np.zeros((4, (span.end - span.start) // HOUR))
    for one in subgroup_hours_of(session, candidate.no, span):
        at = (one.hour - span.start) // HOUR
        counts[:, at] = (one.inside_favourable, one.inside_records, one.others_favourable, one.others_records)
    return Hours(Side(counts[0], counts[1]), Side(counts[2], counts[3]))
