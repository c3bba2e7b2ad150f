"""The same figures as a chart, unrounded, as a table: for those who do not see it, and for the CSV."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from app.views.check_views import AttributeView, GroupShare, Outcomes
from app.views.series import Series, Volume, disadvantaged_at

Cell: TypeAlias = str | int | float | bool | datetime | None


@dataclass(frozen=True, slots=True)
class Twin:
    """A table: the names of its columns, and its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


_OF_SERIES = (
    *("at", "metric", "data", "attribute", "scope", "group", "value", "lower", "upper", "n"),
    *("verdict", "reason", "carried_forward", "lower_limit", "upper_limit", "rollup", "check_id", "disadvantaged", "definition"),
)
_OF_SHARES = (
    *("attribute", "group", "role", "when", "favourable", "unfavourable", "records", "share", "lower", "upper", "reason"),
    *("original_records", "additional_records", "unclassified", "perfect_equality"),
)
_OF_RANGES = (
    "attribute",
    "group",
    "role",
    "sub_range",
    "favourable",
    "unfavourable",
    "records",
    "unclassified",
    "share",
    "lower",
    "upper",
    "reason",
)


def series_twin(series: Series) -> Twin:
    """One row a point, and one for each check that ended without measurements; oldest first."""
    rollup = None if series.rollup is None else series.rollup.value
    rows: list[tuple[datetime, tuple[Cell, ...]]] = []
    for group in series.groups:
        for point in group.points:
            whom: tuple[Cell, ...] = (point.at, series.metric, series.data.value, series.attribute, group.scope.value, group.group)
            figures: tuple[Cell, ...] = (point.value, point.lower, point.upper, point.n, point.verdict, point.reason, point.carried_forward)
            limits = (point.lower_limit, point.upper_limit)
            rows.append((point.at, (*whom, *figures, *limits, rollup, point.check_id, disadvantaged_at(series, point), point.definition)))
    for gap in series.gaps:
        whom = (gap.at, series.metric, series.data.value, series.attribute, None, None)
        rows.append(
            (
                gap.at,
                (*whom, None, None, None, None, None, f"check {gap.state.value}: {gap.reason or ''}", None, None, None, rollup, None, None),
            )
        )
    return Twin(_OF_SERIES, tuple(row for _, row in sorted(rows, key=lambda one: one[0])))


def volume_twin(volumes: Sequence[Volume]) -> Twin:
    """One row a checked hour, or a period."""
    return Twin(("at", "records", "additional_records"), tuple((one.at, one.records, one.additional) for one in volumes))


def shares_twin(view: AttributeView) -> Twin:
    """One row a group, or two where it has an after; the roles as a whole behind them."""
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    groups = (*view.groups, *view.pooled)
    return Twin(_OF_SHARES, tuple(row for group in groups for row in _shares(view.attribute, group, equality)))


def ranges_twin(view: AttributeView) -> Twin:
    """One row a sub-range of each group."""
    return Twin(
        _OF_RANGES,
        tuple(
            (
                *(view.attribute, group.group, group.role, one.label, one.favourable, one.unfavourable, one.records),
                *(one.unclassified, one.share, one.lower, one.upper, one.reason),
            )
            for group in view.groups
            for one in group.sub_ranges
        ),
    )


def _shares(attribute: str, group: GroupShare, equality: float | None) -> Iterable[tuple[Cell, ...]]:
    parts: list[tuple[Outcomes, str | None]] = [(group.outcomes, None)]
    if group.after is not None:
        parts = [(group.outcomes, "before"), (group.after, "after")]
    for one, when in parts:
        yield (
            *(attribute, group.group, group.role, when, one.favourable, one.unfavourable, one.records, one.share, one.lower, one.upper),
            *(one.reason, group.original_records, group.additional_records, group.unclassified, equality),
        )
