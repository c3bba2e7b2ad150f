"""Doubts about correlated features that a monitor picks: chance may explain them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem
from ...domain.deployment import Deployment
from ...domain.monitor import Monitor
from ..training.queries import read_associations
from ..training.training_facts import NOT_CORRECTED, Association

CHANCE_MEMBER = "no_stronger_than_chance"
"""Member of a window that lists such features, with strength and level of chance."""

NOT_CORRECTED_MEMBER = "not_corrected_for_chance"
"""Member of a window that lists features whose strength an earlier version measured."""


def describe_doubts(picked: Collection[str], associations: Sequence[Association]) -> dict[str, object]:
    """Members of a check's window, JSON-safe: picked features that are no stronger than chance, and those
    not compared with it. Empty without doubt.
    """
    mine = [association for association in associations if association.feature in picked]
    levels = {
        association.feature: {"strength": association.strength, "chance_level": association.chance_level}
        for association in mine
        if association.is_within_chance
    }
    not_corrected = [association.feature for association in mine if not association.is_corrected]
    members = {CHANCE_MEMBER: levels, NOT_CORRECTED_MEMBER: not_corrected}
    return {name: member for name, member in members.items() if member}


def chance_warnings(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    correlated = [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
    associations = read_associations(session, deployment.no, correlated) if correlated else {}
    return [
        FieldProblem(
            f"attributes[{index}].correlated_features[{attribute.correlated_features.index(association.feature)}]",
            warning,
        )
        for index, attribute in enumerate(monitor.attributes)
        for association in associations.get(attribute.feature, ())
        if association.feature in attribute.correlated_features
        and (warning := chance_warning(attribute.feature, association))
    ]


def chance_warning(attribute: str, association: Association) -> str | None:
    feature = association.feature
    if not association.is_corrected:
        return (
            f"whether {feature} goes together with {attribute} more strongly than chance is not known: "
            + NOT_CORRECTED
        )
    if not association.is_within_chance:
        return None
    return (
        f"{feature} goes together with {attribute} no more strongly than shuffled values do (strength "
        f"{association.strength:.3f}, level of chance {association.chance_level:.3f}), so changing it says "
        "nothing about indirect bias: pick the features that are recommended"
    )


def notes_on_doubts(attribute: str, doubts: Mapping[str, Any]) -> Iterator[str]:
    """Yields the notes on counterfactual figures of a meta field; `doubts` is its
    `correlated_features` in the window.
    """
    levels = doubts.get(CHANCE_MEMBER, {})
    unknown = doubts.get(NOT_CORRECTED_MEMBER, [])
    strengths = "; ".join(
        f"{name}: strength {figures['strength']:.3f}, level of chance {figures['chance_level']:.3f}"
        for name, figures in levels.items()
    )
    if levels and set(levels) == set(doubts["features"]):
        yield (
            f"Do not take the counterfactual figures of {attribute} for a sign of fairness: in the training "
            f"data {_join(levels)} went together with {attribute} no more strongly than shuffled values do "
            f"({strengths}). Copies that change nothing else are answered alike in both groups whatever the "
            "model does, so a ratio near 1 says nothing. Pick the recommended features."
        )
    elif levels:
        yield (
            f"Among the features that copies of {attribute} change, {_join(levels)} went together with "
            f"{attribute} in the training data no more strongly than shuffled values do ({strengths}). "
            "Changing this shows no indirect bias and adds chance; take it out of the monitor."
        )
    if unknown:
        yield (
            f"It is not known whether {_join(unknown)} went together with {attribute} in the training data "
            "more strongly than chance: they were uploaded when strengths were not yet corrected for it. A "
            "counterfactual ratio near 1 may be false; upload the training data again."
        )


def _join(names: Collection[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
