"""From measurements and count tables to the groups of a view: outcomes, comparison with the reference, and what was left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from app.checks.sub_ranges import SubRanges
from app.domain.checks import Measurement, Scope
from app.domain.groups import Role
from app.metrics.groups import Groups, IntArray, of_role
from app.metrics.intervals import proportion
from app.metrics.tables import BalancedCells, DebiasedCells, GroupCounts
from app.views.check_views import GroupShare, Outcomes, SubRange

Whom: TypeAlias = tuple[Scope, str | None]
"""One group by its label, or all monitored or reference ones."""
Divided: TypeAlias = GroupCounts | BalancedCells | DebiasedCells

_POOLED: Mapping[Role, Scope] = {"monitored": Scope.POOLED, "reference": Scope.REFERENCE}


@dataclass(frozen=True, slots=True)
class Side:
    """Measurements of each group, before mitigation or after it: outcomes, and comparisons with the reference.

    `openscale` are OpenScale's own comparisons of the outcomes, where they hold copies.
    """

    outcomes: Mapping[Whom, Outcomes]
    comparisons: Mapping[Whom, Measurement] = field(default_factory=dict)
    openscale: Mapping[Whom, Measurement] = field(default_factory=dict)

    @property
    def worst(self) -> Measurement | None:
        """The headline: the comparison of the monitored value that is furthest out."""
        return self.comparisons.get((Scope.WORST, None))


def side(
    rates: Iterable[Measurement],
    comparisons: Iterable[Measurement],
    *,
    counted_as: str = "favourable",
    openscale: Iterable[Measurement] = (),
) -> Side:
    """Returns the measurements by group and scope. `counted_as` is the name of the favourable ones among the details."""
    return Side(
        {_whom(one): _outcomes(one, counted_as) for one in rates},
        {_whom(one): one for one in comparisons},
        {_whom(one): one for one in openscale},
    )


def shares(
    table: Divided,
    additional: Divided,
    before: Side,
    *,
    after: Side | None = None,
    inside: Mapping[str, SubRanges] | None = None,
) -> tuple[tuple[GroupShare, ...], tuple[GroupShare, ...]]:
    """The groups in the order of the table, then the monitored and the reference ones as a whole."""
    counts, earlier = own_outcomes(table), _aligned(additional, table.groups)
    intervals = {label: _sub_ranges(one) for label, one in (inside or {}).items()}

    def share(whom: Whom, role: Role, places: Sequence[int]) -> GroupShare:
        chosen = list(places)
        return GroupShare(
            group=whom[1],
            role=role,
            outcomes=before.outcomes[whom],
            after=None if after is None else after.outcomes[whom],
            original_records=int(counts[chosen].sum()),
            additional_records=int(earlier[chosen].sum()),
            additional_favourable=int(earlier[chosen, 1].sum()),
            unclassified=int(table.unclassified[chosen].sum()),
            comparison=before.comparisons.get(whom),
            comparison_after=None if after is None else after.comparisons.get(whom),
            openscale_fairness=before.openscale.get(whom),
            sub_ranges=intervals.get(whom[1] or "", ()),
        )

    single = tuple(share((Scope.GROUP, group.label), group.role, [place]) for place, group in enumerate(table.groups))
    pooled = tuple(share((scope, None), role, of_role(table.groups, role)) for role, scope in _POOLED.items())
    return single, pooled


def own_outcomes(table: Divided) -> IntArray:
    """Counts [groups, 2] (unfavourable, favourable) of the records themselves, without copies, before mitigation."""
    match table:
        case GroupCounts():
            return table.counts
        case BalancedCells():
            size = len(table.groups)
            flat = np.bincount(table.group * 2 + table.outcome, table.count, minlength=2 * size)
            return flat.astype(np.int64).reshape(size, 2)
        case DebiasedCells():
            before: IntArray = table.outcomes.sum(axis=2)
            return before


def _aligned(part: Divided, groups: Groups) -> IntArray:
    """The part's own outcomes [groups, 2] under the groups of the whole table."""
    of_label = {group.label: counts for group, counts in zip(part.groups, own_outcomes(part), strict=True)}
    nothing = np.zeros(2, np.int64)
    return np.array([of_label.get(group.label, nothing) for group in groups], dtype=np.int64).reshape(len(groups), 2)


def _whom(figure: Measurement) -> Whom:
    return figure.scope, figure.group


def _outcomes(figure: Measurement, counted_as: str) -> Outcomes:
    favourable, records = (_number(figure, weight, count) for weight, count in ((f"{counted_as}_weight", counted_as), ("weight", "n")))
    return Outcomes(
        favourable=favourable,
        unfavourable=records - favourable,
        records=records,
        share=figure.value,
        lower=figure.lower,
        upper=figure.upper,
        interval_method=figure.interval_method,
        reason=figure.reason,
        figure=figure,
    )


def _number(figure: Measurement, *names: str) -> float:
    """The first of the counts that the figure has among its details."""
    found = (figure.details[name] for name in names if name in figure.details)
    number = next(found, 0)
    return number if isinstance(number, int | float) else 0


def _sub_ranges(ranges: SubRanges) -> tuple[SubRange, ...]:
    return tuple(_sub_range(label, *counts) for label, counts in zip(ranges.labels, ranges.counts.tolist(), strict=True))


def _sub_range(label: str, unfavourable: int, favourable: int, unclassified: int) -> SubRange:
    records = favourable + unfavourable
    interval = proportion(favourable, records) if records else None
    return SubRange(
        label=label,
        favourable=favourable,
        unfavourable=unfavourable,
        unclassified=unclassified,
        share=favourable / records if records else None,
        lower=None if interval is None else interval.lower,
        upper=None if interval is None else interval.upper,
        reason=None if records else f"no record of {label} was classified" if unclassified else f"there is no record of {label}",
    )
