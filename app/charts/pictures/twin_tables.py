"""Figures of a chart as an unrounded table, also for the CSV; and bar charts of a check's views."""

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter, itemgetter

from ...base.values import frozen
from ...checks.views.view_shapes import AttributeView, Outcomes, SubRange, ViewKind
from ...domain.groups import Role
from ..series import Series, Volume, find_disadvantaged_at
from .drawing import LINE_HEIGHT, Chart, Drawing, ThemeLook, clip_name, write_text

Cell = str | int | float | bool | datetime | None

MAX_BARS = 60

VIEW_TITLES = {
    ViewKind.OPENSCALE: "records and copies, as OpenScale counts",
    ViewKind.AS_LOGGED: "logged records",
    ViewKind.TRAINING: "training data",
    ViewKind.MITIGATED: "before and after mitigation",
}

_BAR_HEIGHT, _BAR_GAP = 13, 4
"""In pixels."""

_SHARE_TICKS = [(share, f"{100 * share:.0f} %", False) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]

_POINT_COLUMNS = (
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
_SERIES_COLUMNS = (
    *("at", "metric", "data", "attribute", "scope", "group", *_POINT_COLUMNS),
    *("rollup", "check_id", "disadvantaged", "definition"),
)
_OUTCOME_COLUMNS = ("favourable", "unfavourable", "records", "share", "lower", "upper", "reason")
_GROUP_COLUMNS = ("original_records", "additional_records", "unclassified")
_SHARE_COLUMNS = (
    "attribute",
    "group",
    "role",
    "when",
    *_OUTCOME_COLUMNS,
    *_GROUP_COLUMNS,
    "perfect_equality",
)
_RANGE_COLUMNS = (
    "favourable",
    "unfavourable",
    "records",
    "unclassified",
    "share",
    "lower",
    "upper",
    "reason",
)


@frozen
class Twin:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def tabulate_series(series: Series) -> Twin:
    rollup = series.rollup and series.rollup.value
    subject = (series.metric, series.data.value, series.attribute)
    rows: list[tuple[Cell, ...]] = []
    for group in series.groups:
        for point in group.points:
            figures = (*subject, group.scope.value, group.group, *attrgetter(*_POINT_COLUMNS)(point))
            disadvantaged = find_disadvantaged_at(series, point)
            rows.append((point.at, *figures, rollup, point.check_id, disadvantaged, point.definition))
    for gap in series.gaps:
        reason = f"check {gap.state.value}: {gap.reason or ''}"
        rows.append((gap.at, *subject, *[None] * 7, reason, None, None, None, rollup, None, None))
    # Cells after the time may be None, which has no order.
    return Twin(_SERIES_COLUMNS, tuple(sorted(rows, key=itemgetter(0))))


def tabulate_volume(volumes: Sequence[Volume]) -> Twin:
    return Twin(
        ("at", "records", "additional_records"),
        tuple((volume.at, volume.records, volume.additional) for volume in volumes),
    )


def tabulate_shares(view: AttributeView) -> Twin:
    """Makes a row for each group, two if it is mitigated; both roles as a whole come last."""
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    rows: list[tuple[Cell, ...]] = []
    for group in (*view.groups, *view.pooled):
        stages: list[tuple[Outcomes, str | None]] = [(group.outcomes, None)]
        if group.after is not None:
            stages = [(group.outcomes, "before"), (group.after, "after")]
        for outcomes, stage in stages:
            counts = (*attrgetter(*_OUTCOME_COLUMNS)(outcomes), *attrgetter(*_GROUP_COLUMNS)(group))
            rows.append((view.attribute, group.group, group.role, stage, *counts, equality))
    return Twin(_SHARE_COLUMNS, tuple(rows))


def tabulate_ranges(view: AttributeView) -> Twin:
    rows = tuple(
        (view.attribute, group.group, group.role, sub_range.label, *attrgetter(*_RANGE_COLUMNS)(sub_range))
        for group in view.groups
        for sub_range in group.sub_ranges
    )
    return Twin(("attribute", "group", "role", "sub_range", *_RANGE_COLUMNS), rows)


@frozen
class _BarRow:
    """Bars of one group, before and after mitigation where it has both."""

    name: str
    role: Role
    stages: Sequence[Outcomes | SubRange]

    @property
    def words(self) -> list[str]:
        shares = " → ".join(
            "no rate" if stage.share is None else _write_percent(stage.share) for stage in self.stages
        )
        reason = next(
            (f" ({stage.reason})" for stage in self.stages if stage.share is None and stage.reason), ""
        )
        return [self.name, self.role, f"{shares} of {self.stages[0].records:,.10g}{reason}"]


def draw_shares_chart(
    kind: ViewKind, view: AttributeView, look: ThemeLook, *, with_copies: bool = False
) -> Chart:
    """Draws rates of groups. `with_copies`: the records of a mitigated view include perturbed ones."""
    rows = []
    for group in view.groups:
        name = clip_name(group.group or "") or ("(blank)" if group.group is not None else f"all {group.role}")
        rows.append(
            _BarRow(
                name, group.role, [group.outcomes] if group.after is None else [group.outcomes, group.after]
            )
        )
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    records = f"{VIEW_TITLES[kind]}{', counterfactual' if with_copies else ''}"
    return _draw_rates(rows, f"Favourable rate by {clip_name(view.attribute)}", records, equality, look)


def draw_ranges_chart(kind: ViewKind, view: AttributeView, look: ThemeLook) -> Chart:
    rows = [
        _BarRow(clip_name(sub_range.label), group.role, [sub_range])
        for group in view.groups
        for sub_range in group.sub_ranges
    ]
    return _draw_rates(
        rows, f"Favourable rate by sub-range of {clip_name(view.attribute)}", VIEW_TITLES[kind], None, look
    )


def _draw_rates(
    rows: Sequence[_BarRow], title: str, records: str, equality: float | None, look: ThemeLook
) -> Chart:
    is_pair = any(len(row.stages) > 1 for row in rows)
    notes = f"{records[0].upper()}{records[1:]}. Lines on the bars are 95 % intervals."
    notes += (
        " Hollow: before mitigation; filled: after." if is_pair else " Filled: monitored; hollow: reference."
    )
    if equality is not None:
        notes += f" Dashed: perfect equality, {_write_percent(equality)}."
    if len(rows) > MAX_BARS:
        notes += f" The first {MAX_BARS} of {len(rows)}."
    drawing = Drawing(title, notes, look)
    for row in rows[:MAX_BARS]:
        drawing.write_parts(row.words)
        top = drawing.height
        for position, outcomes in enumerate(row.stages):
            stage = ("before", "after")[position] if is_pair else ""
            _draw_bar(
                drawing,
                row,
                outcomes,
                stage,
                is_hollow=stage == "before" if is_pair else row.role == "reference",
            )
        if equality is not None:
            x = drawing.place(equality)
            line = f'<line x1="{x}" x2="{x}" y1="{top - 2:g}" y2="{drawing.height + 1:g}"'
            drawing.add(f'{line} stroke="{look.unfair}" stroke-width="2" stroke-dasharray="4 2"/>')
        drawing.height += LINE_HEIGHT / 2
    if rows:
        drawing.draw_ticks(_SHARE_TICKS)
    else:
        drawing.write("There are no groups to show.", fill=look.muted)
    figures = "; ".join(", ".join(row.words) for row in rows[:MAX_BARS]) or "no group"
    level = "" if equality is None else f" Perfect equality is {_write_percent(equality)}."
    return drawing.finish(f"Bar chart. {title}: {figures}.{level}")


def _draw_bar(
    drawing: Drawing, row: _BarRow, outcomes: Outcomes | SubRange, stage: str, *, is_hollow: bool
) -> None:
    look = drawing.look
    y = drawing.height
    drawing.add(
        f'<rect y="{y:g}" width="{drawing.place(1)}" height="{_BAR_HEIGHT}" '
        f'fill="{look.line}" fill-opacity="0.4"/>'
    )
    drawing.height += _BAR_HEIGHT + _BAR_GAP
    if outcomes.share is None:
        return
    lower = outcomes.lower or 0.0
    upper = 1.0 if outcomes.upper is None else outcomes.upper
    name = ", ".join(text for text in (row.name, stage) if text)
    sentence = (
        f"{name}: {_write_percent(outcomes.share)} of {outcomes.records:,.10g}, "
        f"95 %: {_write_percent(lower)} to {_write_percent(upper)}"
    )
    shade = look.monitored if row.role == "monitored" else look.link
    low = drawing.place(lower)
    high = drawing.place(upper)
    middle = y + _BAR_HEIGHT / 2
    drawing.add(
        f"<g><title>{write_text(sentence)}</title>",
        f'<rect y="{y:g}" width="{drawing.place(outcomes.share)}" height="{_BAR_HEIGHT}"',
        f' fill="{shade}" fill-opacity="{0.15 if is_hollow else 0.8}" stroke="{shade}" stroke-width="1.5"/>',
        f'<g stroke="{look.text}" stroke-width="1.5">',
        f'<line x1="{low}" x2="{high}" y1="{middle:g}" y2="{middle:g}"/>',
        *(f'<line x1="{x}" x2="{x}" y1="{middle - 4:g}" y2="{middle + 4:g}"/>' for x in (low, high)),
        "</g></g>",
    )


def _write_percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"
