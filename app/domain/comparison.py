"""Comparisons: one attribute, or several together, whose groups are compared.

The label, the names joined by ` × `, is for people, stored rows and answers.
"""

from collections.abc import Collection, Sequence
from itertools import combinations, pairwise

from ..base.frozen import frozen
from ..base.texts import TOGETHER
from ..base.values import name_value
from .monitor import Monitor, MonitoredAttribute

MOST_WAYS = 20
"""Max ways to divide the label of a combination: a filter of nothing but × would have exponentially many."""


@frozen
class Comparison:
    """Attributes whose groups are compared, by their columns' names; none: all records are measured as a whole."""

    features: tuple[str, ...]

    @classmethod
    def from_label(cls, label: str, columns: Collection[str] = ()) -> "Comparison":
        """Returns the comparison of that label. Of `columns`, only names that hold × as a word of their own matter.

        There is one way to divide it, because no column's name begins with another's and × (`joining_problem`).
        """
        pieces = label.split(TOGETHER) if label else []
        longest = max((name.count(TOGETHER) for name in columns), default=0) + 1
        features: list[str] = []
        while pieces:
            starts = [TOGETHER.join(pieces[:size]) for size in range(1, min(longest, len(pieces)) + 1)]
            features.append(next((name for name in starts if name in columns), pieces[0]))
            del pieces[: features[-1].count(TOGETHER) + 1]
        return cls(tuple(features))

    @property
    def label(self) -> str:
        return TOGETHER.join(self.features)

    @property
    def is_together(self) -> bool:
        return len(self.features) > 1

    def members(self, monitor: Monitor) -> list[MonitoredAttribute]:
        by_name = {attribute.feature: attribute for attribute in monitor.attributes}
        return [by_name[feature] for feature in self.features if feature in by_name]

    def reference_label(self, monitor: Monitor) -> str | None:
        """Returns the labels of the reference groups; None where every other value is one."""
        listed = [
            None if attribute.reference is None else [name_value(value) for value in attribute.reference]
            for attribute in self.members(monitor)
        ]
        reference_labels = [labels for labels in listed if labels is not None]
        return (
            TOGETHER.join(", ".join(labels) for labels in reference_labels)
            if reference_labels and len(reference_labels) == len(listed)
            else None
        )


def list_comparisons(monitor: Monitor) -> list[Comparison]:
    """Returns each attribute of the monitor by itself, then its intersections."""
    return [*(Comparison((attribute.feature,)) for attribute in monitor.attributes), *map(Comparison, monitor.intersections)]


def find_comparison(monitor: Monitor, label: str) -> Comparison | None:
    return next((comparison for comparison in list_comparisons(monitor) if comparison.label == label), None)


def split_group(label: str, members: Sequence[MonitoredAttribute]) -> list[tuple[str, ...]]:
    """Divides the label of a combination into the labels of the members' groups.

    Values that were merely seen may hold × as a word of their own: of several ways, at most `MOST_WAYS` are returned.
    """
    groups = [
        None if attribute.reference is None else {name_value(value) for value in (*attribute.monitored, *attribute.reference)}
        for attribute in members
    ]
    pieces = label.split(TOGETHER)
    divisions: list[tuple[str, ...]] = []
    for cuts in combinations(range(1, len(pieces)), len(members) - 1):
        labels = tuple(TOGETHER.join(pieces[start:end]) for start, end in pairwise((0, *cuts, len(pieces))))
        if all(listed is None or piece in listed for piece, listed in zip(labels, groups, strict=True)):
            divisions.append(labels)
        if len(divisions) == MOST_WAYS:
            break
    return divisions
