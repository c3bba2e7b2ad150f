"""Measures what was logged: the favourable rates of an attribute's groups and how they compare."""

from app.metrics.estimates import Counted, Estimate, Words
from app.metrics.measure import measure_all
from app.metrics.tables import GroupCounts
from app.metrics.values import Measured
from app.metrics.worst import RatioLimits

FAVOURABLE = Words(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="the reference rate is zero: none of {n} reference records was favourable",
)


def measure_payload(table: GroupCounts, *, lower_limit: float | None = None, upper_limit: float | None = None) -> list[Measured]:
    """Favourable rates, disparate impact and statistical parity difference of one attribute or intersection.

    The limits are those of its disparate impact, by which its worst value is chosen.
    """
    return measure_all("payload", table.groups, _rates(table), RatioLimits(lower_limit, upper_limit))


def _rates(table: GroupCounts) -> dict[str, Estimate]:
    return {"favourable": Counted(FAVOURABLE, table.counts[:, 1], table.counts.sum(axis=1))}
