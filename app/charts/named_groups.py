"""Read models with display names, for people: nothing is looked up by such a name."""

from dataclasses import replace

from ..checks.views.view_shapes import AttributeView, CheckView
from ..domain.groups import GroupWords
from ..evidence.attribution.attribution import AttributedGap, SideCounts
from ..evidence.present_state import DeploymentEvidence, rename_state
from .series import Series


def rename_evidence(names: GroupWords, evidence: DeploymentEvidence | None) -> DeploymentEvidence | None:
    return evidence and replace(
        evidence, comparisons=[rename_state(names, state) for state in evidence.comparisons]
    )


def rename_gap(names: GroupWords, gap: AttributedGap) -> AttributedGap:
    """As a sentence says both sides: `people aged 18–25`."""

    def call(side: SideCounts) -> SideCounts:
        if side.label is None or not names.is_named(gap.attribute, side.label):
            return side
        return replace(side, label=names.role(gap.attribute, side.label))

    return replace(gap, monitored=call(gap.monitored), reference=call(gap.reference))


def rename_series(names: GroupWords, series: Series) -> Series:
    if series.attribute is None:
        return series
    attribute = series.attribute
    groups = (
        group if group.group is None else replace(group, group=names.label(attribute, group.group))
        for group in series.groups
    )
    return replace(series, groups=tuple(groups))


def rename_shares(names: GroupWords, view: AttributeView) -> AttributeView:
    groups = (
        group if group.group is None else replace(group, group=names.label(view.attribute, group.group))
        for group in view.groups
    )
    accuracy = (
        change
        if change.before.group is None
        else replace(
            change, before=replace(change.before, group=names.label(view.attribute, change.before.group))
        )
        for change in view.accuracy
    )
    return replace(view, groups=tuple(groups), accuracy=tuple(accuracy))


def rename_view(names: GroupWords, view: CheckView) -> CheckView:
    attributes, counterfactual = (
        tuple(rename_shares(names, attribute) for attribute in views)
        for views in (view.attributes, view.counterfactual)
    )
    return replace(view, attributes=attributes, counterfactual=counterfactual)
