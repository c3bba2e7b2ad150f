"""Groups of a view from measurements and count tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..checks.sub_ranges import SubRanges
from ..details import SIDES
from ..domain.checks import Measurement, Scope
from ..domain.groups import Role
from ..frozen import frozen
from ..metrics.groups import Groups, IntArray, of_role
from ..metrics.intervals import proportion
from ..metrics.tables import BalancedCells, DebiasedCells, GroupCounts
from .check_views import GroupShare, Outcomes, SubRange

Divided: TypeAlias = GroupCounts | BalancedCells | DebiasedCells

_POOLED: Mapping[Role, Scope] = {"monitored": Scope.POOLED, "reference": Scope.REFERENCE}


def side_subject(role: Role, groups: Groups) -> "ShareSubject":
    """A role's only group, or all of them pooled."""
    places = of_role(groups, role)
    return ShareSubject(Scope.GROUP, groups[places[0]].label) if len(places) == 1 else ShareSubject(_POOLED[role], None)


@frozen
class ShareSubject:
    """Group by label, or (None) all monitored or reference ones."""

    scope: Scope
    group: str | None

    @classmethod
    def of(cls, figure: Measurement) -> "ShareSubject":
        return cls(figure.scope, figure.group)


@frozen
class GroupFigures:
    """Outcomes of groups and comparisons with the reference, before or after mitigation.

    `openscale` are OpenScale's own comparisons, where the outcomes hold copies.
    """

    outcomes: Mapping[ShareSubject, Outcomes]
    comparisons: Mapping[ShareSubject, Measurement]
    openscale: Mapping[ShareSubject, Measurement]

    @property
    def worst(self) -> Measurement | None:
        return next((one for one in self.comparisons.values() if one.worst_of is not None), None)


def side(
    rates: Iterable[Measurement],
    comparisons: Iterable[Measurement],
    *,
    counted_as: str = "favourable",
    openscale: Iterable[Measurement] = (),
) -> GroupFigures:
    """`counted_as` is the name of favourable ones among the details."""
    return GroupFigures(
        {ShareSubject.of(one): _outcomes(one, counted_as) for one in rates},
        {ShareSubject.of(one): one for one in comparisons},
        {ShareSubject.of(one): one for one in openscale},
    )


def shares(
    table: Divided,
    additional: Divided,
    before: GroupFigures,
    *,
    after: GroupFigures | None = None,
    inside: Mapping[str, SubRanges] | None = None,
) -> tuple[tuple[GroupShare, ...], tuple[GroupShare, ...]]:
    """Groups in the order of the table, then the monitored and the reference ones as a whole."""
    counts = own_outcomes(table)
    # Earlier hours may have had other groups: their counts go under those of the whole table.
    of_label = {group.label: earlier for group, earlier in zip(additional.groups, own_outcomes(additional), strict=True)}
    listed = [of_label.get(group.label, np.zeros(2, np.int64)) for group in table.groups]
    earlier = np.array(listed, dtype=np.int64).reshape(len(table.groups), 2)
    intervals = {label: _sub_ranges(one) for label, one in (inside or {}).items()}

    def share(subject: ShareSubject, group: str | None, role: Role, places: Sequence[int]) -> GroupShare:
        chosen = list(places)
        return GroupShare(
            group=group,
            role=role,
            outcomes=before.outcomes[subject],
            after=None if after is None else after.outcomes[subject],
            original_records=int(counts[chosen].sum()),
            additional_records=int(earlier[chosen].sum()),
            additional_favourable=int(earlier[chosen, 1].sum()),
            unclassified=int(table.unclassified[chosen].sum()),
            comparison=before.comparisons.get(subject),
            comparison_after=None if after is None else after.comparisons.get(subject),
            openscale_fairness=before.openscale.get(subject),
            sub_ranges=intervals.get(group or "", ()),
        )

    single = tuple(share(ShareSubject(Scope.GROUP, label), label, role, [place]) for place, (label, role) in enumerate(table.groups))
    pooled = tuple(share(side_subject(role, table.groups), None, role, of_role(table.groups, role)) for role in SIDES)
    return single, pooled


def own_outcomes(table: Divided) -> IntArray:
    """Counts [groups, 2] (unfavourable, favourable) without copies, before mitigation."""
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


def _outcomes(figure: Measurement, counted_as: str) -> Outcomes:
    counts, numbers = figure.details.counts, []
    for weight, count in ((f"{counted_as}_weight", counted_as), ("weight", "n")):
        # Weighted training data have weights; all others have counts only.
        numbers.append(counts.get(weight, counts.get(count, 0)) or 0)
    favourable, records = numbers
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


def _sub_ranges(ranges: SubRanges) -> tuple[SubRange, ...]:
    found = []
    for label, (unfavourable, favourable, unclassified) in zip(ranges.labels, ranges.counts.tolist(), strict=True):
        records = favourable + unfavourable
        interval = proportion(favourable, records) if records else None
        reason = f"no record of {label} was classified" if unclassified else f"there is no record of {label}"
        found.append(
            SubRange(
                label=label,
                favourable=favourable,
                unfavourable=unfavourable,
                unclassified=unclassified,
                share=favourable / records if records else None,
                lower=None if interval is None else interval.lower,
                upper=None if interval is None else interval.upper,
                reason=None if records else reason,
            )
        )
    return tuple(found)
