"""Interval of the value furthest out, which is valid although it was chosen among several."""

from dataclasses import replace

from scipy.special import ndtri

from .catalogue.metric import ComparedRate, Measure
from .comparisons import ShareComparison
from .estimates import Counted
from .evidence import TableEvidence
from .intervals import Interval
from .members import members, reference
from .values import Measured, Value


def allow_for_choice(worst: Measured, how: Measure, evidence: TableEvidence) -> Measured:
    """Returns the headline with the interval that allows for the choice, where its metric compares two rates of counted records.

    The intervals of all groups that it was chosen from hold their values at once with 95 % probability (Bonferroni), so the interval of
    the chosen one holds, whatever the rule of the choice is.
    """
    chosen_from, group = worst.details.chosen_from, worst.details.worst_group
    if not isinstance(how, ComparedRate) or chosen_from is None or chosen_from == 1 or not isinstance(worst.number, Value):
        return worst
    estimate = evidence.estimates[how.rate]
    # Records with counterfactuals have resampled intervals, which have no closed form at another level.
    if not isinstance(estimate, Counted):
        return worst
    subject = next(one for one in members(("group",), evidence.groups) if one.label == group)
    share, other = estimate.pair(subject.columns, reference(evidence.groups).columns)
    return replace(worst, for_choice=interval_for_choice(how.by, share.size, other.size, point=worst.number.value, chosen_from=chosen_from))


def interval_for_choice(
    by: ShareComparison, monitored: tuple[float, float], reference: tuple[float, float], *, point: float, chosen_from: int
) -> Interval:
    """Returns the interval of a figure that was chosen from so many; of each side the counted and the whole."""
    found = by.interval(*monitored, *reference, float(ndtri(1 - 0.025 / chosen_from)))
    upper = None if found.upper is None else max(found.upper, point)
    return Interval(min(found.lower, point), upper, found.method)
