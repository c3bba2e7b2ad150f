"""Favourable shares of groups as bars with their intervals: one view of a check, before and after mitigation, or by sub-range."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

import altair as alt

from app.charts.nothing import nothing
from app.charts.rendering import Spec
from app.charts.theme import LOOKS, Look, Theme, clipped, config
from app.domain.groups import Role
from app.views.check_views import AttributeView, GroupShare, Outcomes, SubRange, ViewKind

MOST_BARS = 60
"""Groups, or sub-ranges, that are drawn. The table twin has all."""

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
"""How far below the middle of its place a bar lies; its label lies above."""
_OF_PAIR = (1, 17)
_LABEL_LIMIT = 330
_RIGHT_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Bar:
    """One share to be drawn. `name` is its group or sub-range; `when` is `before` or `after` in a pair, else empty."""

    name: str
    role: Role
    share: float | None
    ends: tuple[float | None, float | None]
    records: float
    reason: str | None
    when: str = ""


def shares_chart(kind: ViewKind, view: AttributeView, *, theme: Theme = Theme.LIGHT, with_copies: bool = False) -> Spec:
    """The groups of one attribute in one view. `with_copies` says that a debiased view's records include perturbed ones."""
    places = [[_bar(_named(group), group.role, *outcomes) for outcomes in _pair(group)] for group in view.groups]
    equality = None if view.perfect_equality is None else view.perfect_equality.value
    records = f"{VIEW_TITLES[kind]}{', with copies' if with_copies else ''}"
    return _chart(places, f"Favourable share by {clipped(view.attribute)}", records, equality, LOOKS[theme])


def ranges_chart(kind: ViewKind, view: AttributeView, *, theme: Theme = Theme.LIGHT) -> Spec:
    """The sub-ranges of a numeric attribute's groups."""
    places = [[_sub_range(group, one)] for group in view.groups for one in group.sub_ranges]
    title = f"Favourable share by sub-range of {clipped(view.attribute)}"
    return _chart(places, title, VIEW_TITLES[kind], None, LOOKS[theme])


def _named(group: GroupShare) -> str:
    return clipped(group.group or "") or ("(blank)" if group.group is not None else f"all {group.role}")


def _pair(group: GroupShare) -> list[tuple[Outcomes, str]]:
    return [(group.outcomes, "")] if group.after is None else [(group.outcomes, "before"), (group.after, "after")]


def _bar(name: str, role: Role, outcomes: Outcomes, when: str) -> _Bar:
    return _Bar(name, role, outcomes.share, (outcomes.lower, outcomes.upper), outcomes.records, outcomes.reason, when)


def _sub_range(group: GroupShare, one: SubRange) -> _Bar:
    return _Bar(clipped(one.label), group.role, one.share, (one.lower, one.upper), one.records, one.reason)


def _chart(places: Sequence[Sequence[_Bar]], title: str, records: str, equality: float | None, look: Look) -> Spec:
    shown = places[:MOST_BARS]
    is_pair = any(len(bars) > 1 for bars in shown)
    rows = [_row(bar, f"{place}", look) for place, bars in enumerate(shown) for bar in bars]
    names = [{"p": f"{place}", "label": _label(bars)} for place, bars in enumerate(shown)]
    y = alt.Y("p:N", scale=alt.Scale(domain=[f"{place}" for place in range(len(shown))], paddingOuter=0), axis=None)
    layers = [
        *(
            layer
            for when, below in _offsets(is_pair=is_pair)
            for layer in _bars([row for row in rows if row["when"] == when], y, below, look)
        ),
        *([_labels(names, y, look, is_pair=is_pair)] if names else [nothing("There are no groups to show.", height=_STEP, look=look)]),
        *([] if equality is None else _equality(equality, look)),
    ]
    step = _STEP_OF_PAIR if is_pair else _STEP
    chart = alt.layer(*layers).properties(
        width="container", height=max(len(shown), 1) * step, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    spec: Spec = chart.to_dict(validate=False)
    notes = _notes(records, places, is_pair=is_pair)
    described = f"Bar chart. {title}: {'; '.join(name['label'] for name in names) or 'no group'}."
    if equality is not None:
        described += f" Perfect equality is {equality:.1%}."
    titled = {"text": wrap(title, _TITLE_WIDTH), "subtitle": wrap(notes, _TITLE_WIDTH)}
    return spec | {"title": titled, "description": described, "config": config(look)}


def _notes(records: str, places: Sequence[Sequence[_Bar]], *, is_pair: bool) -> str:
    notes = [f"{records[0].upper()}{records[1:]}. Lines on the bars are 95 % intervals."]
    notes.append("Hollow: before mitigation; filled: after." if is_pair else "Filled: monitored; hollow: reference.")
    if len(places) > MOST_BARS:
        notes.append(f"The first {MOST_BARS} of {len(places)}.")
    return " ".join(notes)


def _offsets(*, is_pair: bool) -> list[tuple[str, int]]:
    return list(zip(("before", "after"), _OF_PAIR, strict=True)) if is_pair else [("", _FIRST)]


def _row(bar: _Bar, place: str, look: Look) -> dict[str, Any]:
    lower, upper = bar.ends
    hollow = bar.when == "before" if bar.when else bar.role == "reference"
    return {
        "p": place,
        "name": bar.name,
        "role": bar.role,
        "when": bar.when,
        "share": bar.share,
        "lower": lower,
        "upper": upper,
        "n": bar.records,
        "c": look.groups[1] if bar.role == "monitored" else look.groups[0],
        "filled": 0.12 if hollow else 0.85,
    }


def _label(bars: Sequence[_Bar]) -> str:
    first = bars[0]
    shares = " → ".join("no share" if bar.share is None else f"{bar.share:.1%}" for bar in bars)
    why = next((f" ({bar.reason})" for bar in bars if bar.share is None and bar.reason), "")
    # The numbers stand first: where a name is too long, it is the name that is cut.
    return f"{shares} of {first.records:,.10g} · {first.role} · {first.name}{why}"


def _bars(rows: Sequence[dict[str, Any]], y: alt.Y, below: int, look: Look) -> list[alt.Chart]:
    known = [row for row in rows if row["share"] is not None]
    if not known:
        return []
    told = [
        alt.Tooltip("name:N", title="Group"),
        alt.Tooltip("role:N", title="Role"),
        alt.Tooltip("share:Q", title="Favourable", format=".1%"),
        alt.Tooltip("lower:Q", title="95 %, lower end", format=".1%"),
        alt.Tooltip("upper:Q", title="95 %, upper end", format=".1%"),
        alt.Tooltip("n:Q", title="Records", format=","),
    ]
    base = alt.Chart(alt.InlineData(known)).encode(y=y, tooltip=told)
    bar = base.mark_bar(size=_BAR, yOffset=below, strokeWidth=1.5).encode(
        x=_share("share"),
        fill=alt.Fill("c:N", scale=None, legend=None),
        stroke=alt.Stroke("c:N", scale=None, legend=None),
        fillOpacity=alt.FillOpacity("filled:Q", scale=None, legend=None),
    )
    sides = [base.mark_tick(size=9, thickness=1.5, color=look.text, yOffset=below).encode(x=_share(side)) for side in ("lower", "upper")]
    whisker = base.mark_rule(color=look.text, strokeWidth=1.5, yOffset=below).encode(x=_share("lower"), x2="upper:Q")
    return [bar, whisker, *sides]


def _share(field: str) -> alt.X:
    axis = alt.Axis(title="Favourable share", format=".0%", tickCount=5)
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def _labels(names: list[dict[str, str]], y: alt.Y, look: Look, *, is_pair: bool) -> alt.Chart:
    up = -20 if is_pair else -10
    mark: alt.Chart = alt.Chart(alt.InlineData(names)).mark_text(align="left", dx=2, dy=up, limit=_LABEL_LIMIT, color=look.text)
    return mark.encode(x=alt.value(0), y=y, text="label:N", tooltip=alt.Tooltip("label:N", title="Group"))


def _equality(level: float, look: Look) -> list[alt.Chart]:
    """A line where all groups would be, with its name above the chart."""
    base = alt.Chart(alt.InlineData([{"x": level, "name": f"perfect equality {level:.1%}"}])).encode(x=_share("x"))
    side: Literal["left", "right"] = "right" if level > _RIGHT_HALF else "left"
    rule = base.mark_rule(color=look.limit, strokeDash=[7, 4], strokeWidth=1.5)
    label = base.mark_text(align=side, baseline="bottom", dy=-3, color=look.limit, fontSize=11)
    return [rule, label.encode(y=alt.value(0), text="name:N")]
