"""Chart of the records that each check, or each period of a roll-up, was given."""

from collections.abc import Sequence
from textwrap import wrap

import altair as alt

from ..checks.rollups import Period
from ..domain.checks import Span
from ..views.series import Volume
from .empty import empty_chart
from .points import format_moment, milliseconds
from .rendering import Spec, layer_spec
from .series import TITLE_WIDTH, time_axis, time_config, whole_span
from .theme import LOOKS, Theme

HEIGHT = 140
MOST_COLUMNS = 240
"""Max columns that are drawn; with more, only their outline is drawn: columns would be thinner than a pixel."""

_WIDEST = 14


def volume_chart(volumes: Sequence[Volume], *, theme: Theme = Theme.LIGHT, span: Span | None = None, rollup: Period | None = None) -> Spec:
    """Returns the records over time, of each check or summed up. `span` is the time that the axis shows; left out, that of the points."""
    look = LOOKS[theme]
    rows = [
        {"t": milliseconds(one.at), "n": one.records, "more": one.additional, "when": format_moment(one.at)}
        for one in sorted(volumes, key=lambda one: one.at)
    ]
    tips = [
        alt.Tooltip("when:N", title="Time"),
        alt.Tooltip("n:Q", title="Records", format=","),
        alt.Tooltip("more:Q", title="Added from earlier hours", format=","),
    ]
    most = max((one.records for one in volumes), default=0) or 1
    y = alt.Y("n:Q", scale=alt.Scale(domain=[0, most * 1.1], nice=False), axis=alt.Axis(title=None, format=",d", tickCount=3))
    chart = alt.Chart(alt.InlineData(rows)).encode(x=time_axis(), y=y)
    drawn: alt.Chart
    if not rows:
        drawn = empty_chart("No hour of this time was checked.", height=HEIGHT, look=look)
    elif len(rows) > MOST_COLUMNS:
        drawn = chart.mark_area(color=look.groups[0], opacity=0.5, interpolate="step")
    else:
        # A bar on a time axis needs an explicit width: the chart does not know the step between the points.
        drawn = chart.mark_bar(color=look.groups[0], opacity=0.8, width=min(_WIDEST, max(2, 480 // max(len(rows), 1)))).encode(tooltip=tips)
    layers = [*([] if span is None or not rows else [whole_span(span)]), drawn]
    spec = layer_spec(layers, height=HEIGHT)
    total = sum(one.records for one in volumes)
    described = (
        f"Column chart of records logged over time: {len(rows)} points, {total:,} records in all. The table next to it has the figures."
    )
    title = {"text": ["Records logged"], "subtitle": wrap("As the checks counted them. Time in UTC.", TITLE_WIDTH)}
    moments = [one.at for one in volumes] if span is None else [span.start, span.end]
    return spec | {"title": title, "description": described, "config": time_config(look, moments, rollup)}
