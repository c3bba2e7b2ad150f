"""Replaces an empty chart: the reason why there is nothing to show, instead of an empty frame."""

import altair as alt

from .channels import x_at, y_at
from .theme import ThemeLook


def empty_chart(what: str, *, height: float, look: ThemeLook) -> alt.Chart:
    """Returns the sentence, as a layer or a chart of that height."""
    base = alt.Chart(alt.InlineData([{"what": what}]))
    mark: alt.Chart = base.mark_text(color=look.muted, fontSize=13, align="left")
    return mark.encode(x=x_at(12), y=y_at(height / 2), text=alt.Text("what:N"))
