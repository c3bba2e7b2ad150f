"""Read models whose groups have their display names. They are for people: nothing is looked up by such a name."""

from dataclasses import replace

from ..domain.attributions import AttributedGap, SideCounts
from ..domain.group_words import GroupWords
from ..tracking.looking import ComparisonState
from .check_views import AttributeView
from .series import Series


def rename_state(words: GroupWords, one: ComparisonState) -> ComparisonState:
    """Returns the state of a comparison whose group has its display name."""
    return one if one.group is None else replace(one, group=words.label(one.attribute, one.group))


def rename_gap(words: GroupWords, gap: AttributedGap) -> AttributedGap:
    """Returns the gap whose sides have their display names."""

    def call(side: SideCounts) -> SideCounts:
        return side if side.label is None else replace(side, label=words.label(gap.attribute, side.label))

    return replace(gap, monitored=call(gap.monitored), reference=call(gap.reference))


def rename_series(words: GroupWords, series: Series) -> Series:
    """Returns the series whose groups have their display names, for the legend of a chart."""
    if series.attribute is None:
        return series
    attribute = series.attribute
    groups = (one if one.group is None else replace(one, group=words.label(attribute, one.group)) for one in series.groups)
    return replace(series, groups=tuple(groups))


def rename_shares(words: GroupWords, view: AttributeView) -> AttributeView:
    """Returns the attribute of a view whose groups have their display names, for the names of bars and rows."""
    groups = (one if one.group is None else replace(one, group=words.label(view.attribute, one.group)) for one in view.groups)
    return replace(view, groups=tuple(groups))
