"""Favourable rates of groups as bars with their intervals: one view of a check, before and after mitigation, or by sub-range."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

import altair as alt

from ..domain.groups import Role
from ..views.check_views import AttributeView, ViewKind
from .channels import x_at, y_at
from .empty import empty_chart
from .rendering import Spec, layer_spec
from .theme import LOOKS, Theme, ThemeLook, clip_name, config

MOST_BARS = 60
"""Max groups, or sub-ranges, that are drawn. The table twin has all."""

VIEW_TITLES = {
    ViewKind.PAYLOAD_PERTURBED: "payload and perturbed records",
    ViewKind.PAYLOAD: "payload records",
    ViewKind.TRAINING: "training data",
    ViewKind.DEBIASED: "before and after mitigation",
}

_TITLE_WIDTH = 50
_STEP = 44
_STEP_OF_PAIR = 62
_BAR = 13
_FIRST = 8
"""Pixels from the middle of its place down to a bar; its label lies above."""
_OF_PAIR = (1, 17)
_LABEL_WIDTH = 44
"""Max characters of a line of a label, so that it fits on a telephone."""
_LABEL_LIMIT = 300
"""Pixels of a line of a label, for letters that are wider than others."""
_BOUND = "\N{NO-BREAK SPACE}"
_LINE = 14
_RIGHT_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Bar:
    """One share as a bar. `name` is its group or sub-range; `when` is `before` or `after` in a pair, else empty."""

    name: str
    role: Role
    share: float | None
    ends: tuple[float | None, float | None]
    records: float
    reason: str | None
    when: str = ""


class _Label:
    """The text over the bars of one place, whole and in lines."""

    def __init__(self, place: str, bars: Sequence[_Bar]) -> None:
        shares = " → ".join("no rate" if bar.share is None else _percent(bar.share) for bar in bars)
        why = next((f" ({bar.reason})" for bar in bars if bar.share is None and bar.reason), "")
        self.place = place
        parts = (f"{shares} of {bars[0].records:,.10g}", bars[0].role, f"{bars[0].name}{why}")
        self.text = " · ".join(parts)
        # A part that fits on a line is not broken: `aged 18–25` is one name.
        bound = [part.replace(" ", _BOUND) if len(part) < _LABEL_WIDTH else part for part in parts]
        self.lines = [line.replace(_BOUND, " ") for line in wrap(f"{_BOUND}· ".join(bound), _LABEL_WIDTH)]


def shares_chart(kind: ViewKind, view: AttributeView, *, theme: Theme = Theme.LIGHT, with_copies: bool = False) -> Spec:
    """Returns the groups of one attribute in one view. `with_copies` says that a debiased view's records include perturbed ones."""
    places: list[list[_Bar]] = []
    for group in view.groups:
        name = clip_name(group.group or "") or ("(blank)" if group.group is not None else f"all {group.role}")
        pair = [(group.outcomes, "")] if group.after is None else [(group.outcomes, "before"), (group.after, "after")]
        places.append([_Bar(name, group.role, one.share, (one.lower, one.upper), one.records, one.reason, stage) for one, stage in pair])
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    records = f"{VIEW_TITLES[kind]}{', counterfactual' if with_copies else ''}"
    return _draw(places, f"Favourable rate by {clip_name(view.attribute)}", records, equality, LOOKS[theme])


def ranges_chart(kind: ViewKind, view: AttributeView, *, theme: Theme = Theme.LIGHT) -> Spec:
    """Returns the sub-ranges of a numeric attribute's groups."""
    places = [
        [_Bar(clip_name(one.label), group.role, one.share, (one.lower, one.upper), one.records, one.reason)]
        for group in view.groups
        for one in group.sub_ranges
    ]
    title = f"Favourable rate by sub-range of {clip_name(view.attribute)}"
    return _draw(places, title, VIEW_TITLES[kind], None, LOOKS[theme])


def _draw(places: Sequence[Sequence[_Bar]], title: str, records: str, equality: float | None, look: ThemeLook) -> Spec:
    shown = places[:MOST_BARS]
    is_pair = any(len(bars) > 1 for bars in shown)
    y = alt.Y("p:N", scale=alt.Scale(domain=[f"{place}" for place in range(len(shown))], paddingOuter=0), axis=None)
    stages = list(zip(("before", "after"), _OF_PAIR, strict=True)) if is_pair else [("", _FIRST)]
    labels = [_Label(f"{place}", bars) for place, bars in enumerate(shown)]
    # Each line of a label beyond the first takes room above all bars.
    extra = _LINE * (max((len(one.lines) for one in labels), default=1) - 1)
    layers = [layer for stage, below in stages for layer in _bar_layers(shown, stage, y, below + extra / 2, look)]
    # The line of equality is under the labels, which would be hard to read with a line through them.
    layers += [] if equality is None else _equality_layers(equality, look)
    if labels:
        layers += _label_layers(labels, y, (-20 if is_pair else -10) - extra / 2, look)
    else:
        layers.append(empty_chart("There are no groups to show.", height=_STEP, look=look))

    height = max(len(shown), 1) * ((_STEP_OF_PAIR if is_pair else _STEP) + extra)
    spec = layer_spec(layers, height=height)

    notes = f"{records[0].upper()}{records[1:]}. Lines on the bars are 95 % intervals."
    notes += " Hollow: before mitigation; filled: after." if is_pair else " Filled: monitored; hollow: reference."
    if len(places) > MOST_BARS:
        notes += f" The first {MOST_BARS} of {len(places)}."
    description = f"Bar chart. {title}: {'; '.join(one.text for one in labels) or 'no group'}."
    if equality is not None:
        description += f" Perfect equality is {_percent(equality)}."
    titled = {"text": wrap(title, _TITLE_WIDTH), "subtitle": wrap(notes, _TITLE_WIDTH)}
    return spec | {"title": titled, "description": description, "config": config(look)}


def _label_layers(labels: Sequence[_Label], y: alt.Y, up: float, look: ThemeLook) -> list[alt.Chart]:
    """Returns the labels over their bars, each with a ground of its own."""
    most = max(len(one.lines) for one in labels)
    # A label with fewer lines than others ends where they end, directly over its bar.
    rows = [{"p": one.place, "label": one.text, "lines": [*[""] * (most - len(one.lines)), *one.lines]} for one in labels]
    at: dict[str, Any] = {"align": "left", "dx": 2, "dy": up, "limit": _LABEL_LIMIT, "lineHeight": _LINE}
    base = alt.Chart(alt.InlineData(rows)).encode(x=x_at(0), y=y, text=alt.Text("lines:N"))
    halo = base.mark_text(**at, color=look.surface, stroke=look.surface, strokeWidth=4, strokeJoin="round")
    return [halo, base.mark_text(**at, color=look.text).encode(tooltip=alt.Tooltip("label:N", title="Group"))]


def _bar_layers(places: Sequence[Sequence[_Bar]], stage: str, y: alt.Y, below: float, look: ThemeLook) -> list[alt.Chart]:
    """Returns the bars of one stage with their intervals, `below` the middle of their places; none where no share is known."""
    rows: list[dict[str, Any]] = []
    for place, bars in enumerate(places):
        for bar in bars:
            # In a chart of pairs, a group without an after has no stage: it gets a label and no bar.
            if bar.when == stage and bar.share is not None:
                is_hollow = bar.when == "before" if bar.when else bar.role == "reference"
                lower, upper = bar.ends
                rows.append(
                    {"p": f"{place}", "name": bar.name, "role": bar.role, "when": bar.when, "share": bar.share}
                    | {"lower": lower, "upper": upper, "n": bar.records}
                    | {"c": look.groups[1] if bar.role == "monitored" else look.groups[0], "filled": 0.12 if is_hollow else 0.85}
                )
    if not rows:
        return []

    tooltip = [
        alt.Tooltip("name:N", title="Group"),
        alt.Tooltip("role:N", title="Role"),
        alt.Tooltip("share:Q", title="Favourable", format=".1%"),
        alt.Tooltip("lower:Q", title="95 %, lower end", format=".1%"),
        alt.Tooltip("upper:Q", title="95 %, upper end", format=".1%"),
        alt.Tooltip("n:Q", title="Records", format=","),
    ]
    base = alt.Chart(alt.InlineData(rows)).encode(y=y, tooltip=tooltip)
    bar_mark = base.mark_bar(size=_BAR, yOffset=below, strokeWidth=1.5).encode(
        x=_share_axis("share"),
        fill=alt.Fill("c:N", scale=None, legend=None),
        stroke=alt.Stroke("c:N", scale=None, legend=None),
        fillOpacity=alt.FillOpacity("filled:Q", scale=None, legend=None),
    )
    tick = base.mark_tick(size=9, thickness=1.5, color=look.text, yOffset=below)
    sides = [tick.encode(x=_share_axis(side)) for side in ("lower", "upper")]
    whisker = base.mark_rule(color=look.text, strokeWidth=1.5, yOffset=below).encode(x=_share_axis("lower"), x2=alt.X2("upper:Q"))
    return [bar_mark, whisker, *sides]


def _percent(rate: float) -> str:
    """Returns a rate as every page writes it: `63.2 %`."""
    return f"{100 * rate:.1f} %"


def _share_axis(field: str) -> alt.X:
    # The title of the chart says what is drawn.
    axis = alt.Axis(title=None, format=".0%", tickCount=5)
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def _equality_layers(level: float, look: ThemeLook) -> list[alt.Chart]:
    """Returns a line where all groups would be, with its name above the chart."""
    base = alt.Chart(alt.InlineData([{"x": level, "name": f"perfect equality {_percent(level)}"}])).encode(x=_share_axis("x"))
    side: Literal["left", "right"] = "right" if level > _RIGHT_HALF else "left"
    rule = base.mark_rule(color=look.limit, strokeDash=[7, 4], strokeWidth=1.5)
    label = base.mark_text(align=side, baseline="bottom", dy=-3, color=look.limit, fontSize=12)
    return [rule, label.encode(y=y_at(0), text=alt.Text("name:N"))]
