"""What a chart shows that has nothing to show: why, instead of an empty frame."""

import altair as alt

from app.charts.theme import Look


def nothing(what: str, *, height: float, look: Look) -> alt.Chart:
    """The sentence, as a layer or a chart of that height."""
    base = alt.Chart(alt.InlineData([{"what": what}]))
    mark: alt.Chart = base.mark_text(color=look.muted, fontSize=13, align="left")
    return mark.encode(x=alt.value(12), y=alt.value(height / 2), text="what:N")
