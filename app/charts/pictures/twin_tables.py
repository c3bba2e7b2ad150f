"""Figures of a chart as an unrounded table, also for the CSV."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from ...base.frozen import frozen
from ...checks.views.view_shapes import AttributeView, Outcomes
from ..series import Series, Volume, disadvantaged_at

Cell: TypeAlias = str | int | float | bool | datetime | None


@frozen
class Twin:
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
    """One row a point, and one for each check without measurements; oldest first."""
    rollup = None if series.rollup is None else series.rollup.value
    rows: list[tuple[datetime, tuple[Cell, ...]]] = []
    for group in series.groups:
        for point in group.points:
            key: tuple[Cell, ...] = (point.at, series.metric, series.data.value, series.attribute, group.scope.value, group.group)
            figures: tuple[Cell, ...] = (point.value, point.lower, point.upper, point.n, point.verdict, point.reason, point.carried_forward)
            limits = (point.lower_limit, point.upper_limit)
            rows.append((point.at, (*key, *figures, *limits, rollup, point.check_id, disadvantaged_at(series, point), point.definition)))
    for gap in series.gaps:
        key = (gap.at, series.metric, series.data.value, series.attribute, None, None)
        reason = f"check {gap.state.value}: {gap.reason or ''}"
        rows.append((gap.at, (*key, None, None, None, None, None, reason, None, None, None, rollup, None, None)))
    # What follows the time may be None, which has no order.
    return Twin(_OF_SERIES, tuple(row for _, row in sorted(rows, key=lambda dated: dated[0])))


def volume_twin(volumes: Sequence[Volume]) -> Twin:
    return Twin(("at", "records", "additional_records"), tuple((volume.at, volume.records, volume.additional) for volume in volumes))


def shares_twin(view: AttributeView) -> Twin:
    """One row a group, or two where it has an after; the roles as a whole come last."""
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    rows: list[tuple[Cell, ...]] = []
    for group in (*view.groups, *view.pooled):
        stages: list[tuple[Outcomes, str | None]] = [(group.outcomes, None)]
        if group.after is not None:
            stages = [(group.outcomes, "before"), (group.after, "after")]
        for outcomes, stage in stages:
            shares = (
                outcomes.favourable,
                outcomes.unfavourable,
                outcomes.records,
                outcomes.share,
                outcomes.lower,
                outcomes.upper,
                outcomes.reason,
            )
            records = (group.original_records, group.additional_records, group.unclassified)
            rows.append((view.attribute, group.group, group.role, stage, *shares, *records, equality))
    return Twin(_OF_SHARES, tuple(rows))


def ranges_twin(view: AttributeView) -> Twin:
    return Twin(
        _OF_RANGES,
        tuple(
            (
                *(
                    view.attribute,
                    group.group,
                    group.role,
                    sub_range.label,
                    sub_range.favourable,
                    sub_range.unfavourable,
                    sub_range.records,
                ),
                *(sub_range.unclassified, sub_range.share, sub_range.lower, sub_range.upper, sub_range.reason),
            )
            for group in view.groups
            for sub_range in group.sub_ranges
        ),
    )
