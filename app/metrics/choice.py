"""Interval of the value furthest out, valid although it was chosen among several."""

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
    """Marked result with an interval that allows for the choice, where two rates are compared in closed form.

    The intervals of all groups hold at once with 95 % probability (Bonferroni), so the chosen one's does, whatever the rule of choice.
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
    """Interval of a figure chosen from so many, from the counts in its details.

    None without two compared rates or closed form, with weights, or where an earlier release stored too few counts.
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
    """Standard errors to either side that leave 5 % for all of so many figures."""
    return float(ndtri(1 - 0.025 / chosen_from))


def _hold(found: Interval, point: float) -> Interval:
    upper = None if found.upper is None else max(found.upper, point)
    return Interval(min(found.lower, point), upper, found.method)


def _read_size(counts: Counts) -> tuple[float, float] | None:
    # Independent records have two counts: their number, and that of the counted, by its name.
    names = set(counts) - {"n"}
    total = counts.get("n")
    if total is None or len(names) != 1:
        return None
    count = counts[names.pop()]
    return None if count is None else (count, total)
