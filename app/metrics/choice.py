"""Interval of the value furthest out, which is valid although it was chosen among several."""

from dataclasses import replace

from scipy.special import ndtri

from ..details import SIDES, Counts, Details
from .catalogue.metric import ComparedRate, Measure
from .comparisons import Pairs
from .estimates import Counted
from .evidence import TableEvidence
from .intervals import Interval
from .members import members, reference
from .values import Measured, Value


def allow_for_choice(worst: Measured, how: Measure, evidence: TableEvidence) -> Measured:
    """Returns the marked result with the interval that allows for the choice, where its metric compares two rates in closed form.

    The intervals of all groups that it was chosen from hold their values at once with 95 % probability (Bonferroni), so the interval of
    the chosen one holds, whatever the rule of the choice is.
    """
    chosen_from = worst.worst_of
    if not isinstance(how, ComparedRate) or chosen_from is None or chosen_from == 1 or not isinstance(worst.number, Value):
        return worst
    estimate, point = evidence.estimates[how.rate], worst.number.value
    if isinstance(estimate, Counted):
        subject = next(one for one in members(("group",), evidence.groups) if one.label == worst.group)
        share, other = estimate.pair(subject.columns, reference(evidence.groups).columns)
        # The details have no effective sizes, which records with weights need.
        found = how.by.interval(*share.size, *other.size, reach_for_choice(chosen_from))
        return replace(worst, for_choice=_hold(found, point))
    return replace(worst, for_choice=interval_for_choice(how, worst.details, point=point, chosen_from=chosen_from))


def interval_for_choice(how: Measure, details: Details, *, point: float, chosen_from: int) -> Interval | None:
    """Returns the interval of a figure that was chosen from so many, computed from the counts in its details.

    None if the figure does not compare two rates, if its interval has no closed form (resampled or drawn), if its records carry weights,
    or if it was stored by a release whose details have too few counts.
    """
    if not isinstance(how, ComparedRate):
        return None
    reach, pairs = reach_for_choice(chosen_from), Pairs.from_counts(details.counts)
    if pairs is not None:
        return _hold(how.by.paired(pairs, reach), point)
    sides = [size for side in SIDES if (size := _read_size(details.counts_of(side))) is not None]
    if len(sides) < len(SIDES):
        return None
    (count, total), (other_count, other_total) = sides
    return _hold(how.by.interval(count, total, other_count, other_total, reach), point)


def reach_for_choice(chosen_from: int) -> float:
    """Returns the standard errors to either side that leave 5 % for all of so many figures together."""
    return float(ndtri(1 - 0.025 / chosen_from))


def _hold(found: Interval, point: float) -> Interval:
    upper = None if found.upper is None else max(found.upper, point)
    return Interval(min(found.lower, point), upper, found.method)


def _read_size(counts: Counts) -> tuple[float, float] | None:
    """Returns the counted and the whole of independent records; None for other counts, such as those with weights or copies."""
    # Independent records have two counts: their number, and how many are counted, under the name of what is counted.
    names = set(counts) - {"n"}
    total = counts.get("n")
    if total is None or len(names) != 1:
        return None
    count = counts[names.pop()]
    return None if count is None else (count, total)
