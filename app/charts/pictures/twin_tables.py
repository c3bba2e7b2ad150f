"""Figures of a chart as an unrounded table, also for the CSV."""

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter, itemgetter

from ...base.values import frozen
from ...checks.views.view_shapes import AttributeView, Outcomes
from ..series import Series, Volume, disadvantaged_at

Cell = str | int | float | bool | datetime | None


@frozen
class Twin:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


_OF_POINT = (
    "value",
    "lower",
    "upper",
    "n",
    "verdict",
    "reason",
    "carried_forward",
    "lower_limit",
    "upper_limit",
)
_OF_SERIES = (
    *("at", "metric", "data", "attribute", "scope", "group", *_OF_POINT),
    *("rollup", "check_id", "disadvantaged", "definition"),
)
_OF_OUTCOMES = ("favourable", "unfavourable", "records", "share", "lower", "upper", "reason")
_OF_GROUP = ("original_records", "additional_records", "unclassified")
_OF_SHARES = ("attribute", "group", "role", "when", *_OF_OUTCOMES, *_OF_GROUP, "perfect_equality")
_OF_RANGE = ("favourable", "unfavourable", "records", "unclassified", "share", "lower", "upper", "reason")


def series_twin(series: Series) -> Twin:
    rollup = series.rollup and series.rollup.value
    about = (series.metric, series.data.value, series.attribute)
    rows: list[tuple[datetime, tuple[Cell, ...]]] = []
    for group in series.groups:
        for point in group.points:
            figures = (*about, group.scope.value, group.group, *attrgetter(*_OF_POINT)(point))
            rows.append(
                (
                    point.at,
                    (*figures, rollup, point.check_id, disadvantaged_at(series, point), point.definition),
                )
            )
    for gap in series.gaps:
        reason = f"check {gap.state.value}: {gap.reason or ''}"
        rows.append((gap.at, (*about, *[None] * 7, reason, None, None, None, rollup, None, None)))
    # What follows the time may be None, which has no order.
    return Twin(_OF_SERIES, tuple((at, *row) for at, row in sorted(rows, key=itemgetter(0))))


def volume_twin(volumes: Sequence[Volume]) -> Twin:
    return Twin(
        ("at", "records", "additional_records"),
        tuple((volume.at, volume.records, volume.additional) for volume in volumes),
    )


def shares_twin(view: AttributeView) -> Twin:
    """One row a group, or two where it has an after; the roles as a whole come last."""
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    rows: list[tuple[Cell, ...]] = []
    for group in (*view.groups, *view.pooled):
        stages: list[tuple[Outcomes, str | None]] = [(group.outcomes, None)]
        if group.after is not None:
            stages = [(group.outcomes, "before"), (group.after, "after")]
        for outcomes, stage in stages:
            counts = (*attrgetter(*_OF_OUTCOMES)(outcomes), *attrgetter(*_OF_GROUP)(group))
            rows.append((view.attribute, group.group, group.role, stage, *counts, equality))
    return Twin(_OF_SHARES, tuple(rows))


def ranges_twin(view: AttributeView) -> Twin:
    rows = tuple(
        (view.attribute, group.group, group.role, sub_range.label, *attrgetter(*_OF_RANGE)(sub_range))
        for group in view.groups
        for sub_range in group.sub_ranges
    )
    return Twin(("attribute", "group", "role", "sub_range", *_OF_RANGE), rows)
