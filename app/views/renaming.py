"""Read models with display names, for people: nothing is looked up by such a name."""

from dataclasses import replace

from ..domain.attributions import AttributedGap, SideCounts
from ..domain.group_words import GroupWords
from ..tracking.looking import ComparisonState, DeploymentEvidence
from .check_views import AttributeView, CheckView
from .series import Series


def rename_state(words: GroupWords, one: ComparisonState) -> ComparisonState:
    return one if one.group is None else replace(one, group=words.label(one.attribute, one.group))


def rename_evidence(words: GroupWords, evidence: DeploymentEvidence | None) -> DeploymentEvidence | None:
    return evidence and replace(evidence, comparisons=[rename_state(words, one) for one in evidence.comparisons])


def rename_gap(words: GroupWords, gap: AttributedGap) -> AttributedGap:
    """Renames both sides as a sentence says them: `people aged 18–25`."""

    def call(side: SideCounts) -> SideCounts:
        if side.label is None or not words.is_named(gap.attribute, side.label):
            return side
        return replace(side, label=words.role(gap.attribute, side.label))

    return replace(gap, monitored=call(gap.monitored), reference=call(gap.reference))


def rename_series(words: GroupWords, series: Series) -> Series:
    if series.attribute is None:
        return series
    attribute = series.attribute
    groups = (one if one.group is None else replace(one, group=words.label(attribute, one.group)) for one in series.groups)
    return replace(series, groups=tuple(groups))


def rename_shares(words: GroupWords, view: AttributeView) -> AttributeView:
    groups = (one if one.group is None else replace(one, group=words.label(view.attribute, one.group)) for one in view.groups)
    accuracy = (
        one if one.before.group is None else replace(one, before=replace(one.before, group=words.label(view.attribute, one.before.group)))
        for one in view.accuracy
    )
    return replace(view, groups=tuple(groups), accuracy=tuple(accuracy))


def rename_view(words: GroupWords, view: CheckView) -> CheckView:
    attributes, balanced = (tuple(rename_shares(words, one) for one in each) for each in (view.attributes, view.balanced))
    return replace(view, attributes=attributes, balanced=balanced)
