"""Merges proposals into a monitor."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from ..domain.monitors import Monitor, MonitoredAttribute
from ..errors import FieldProblem, InvalidInput
from ..frozen import frozen
from ..metrics.sides import mirrored_ratio
from .choice import GroupChoice
from .recommending import Recommended

Picked: TypeAlias = Literal["proposed", "customary"]

_PLACE = re.compile(r"attributes\[(\d+)\]")


@frozen
class Accepted:
    """One attribute that was asked for; `changes` are the edited members of a MonitoredAttribute.

    `picked` None: the groups that the monitor has, or else the proposed ones.
    """

    feature: str
    changes: Mapping[str, Any]
    picked: Picked | None = None


def merge_into_monitor(monitor: Monitor | None, recommended: Recommended, asked: Sequence[Accepted] | None) -> Monitor:
    """Returns the monitor with the accepted attributes, and with the outcomes if it is new or they were sent; not yet checked.

    If nothing is `asked` for, accepts every proposal that is accepted by default. A monitored attribute keeps everything that was neither
    picked nor edited, so the same again changes nothing.
    """
    of_feature = {attribute.feature: attribute for attribute in monitor.attributes} if monitor else {}
    proposed = {proposal.feature: proposal for proposal in recommended.proposals}
    if asked is None:
        asked = [Accepted(proposal.feature, {}) for proposal in recommended.proposals if proposal.by_default]
        if not asked and monitor is None:
            raise InvalidInput.of("attributes", "is required: no proposal is sure enough to be accepted unseen; list those you want")
    problems = _find_problems(asked, {*of_feature, *proposed}, recommended)
    if monitor is None and not (recommended.outcomes.rule and recommended.outcomes.is_certain):
        problems += [FieldProblem(field, f"is required: {recommended.outcomes.evidence}") for field in ("favourable", "unfavourable")]
    # The second test is for the type checker.
    if problems or recommended.outcomes.rule is None:
        raise InvalidInput(problems)
    for one in asked:
        choice = _find_choice(one, recommended)
        groups = {} if choice is None else {"monitored": choice.monitored, "reference": choice.reference}
        changes = groups | dict(one.changes)
        base = of_feature.get(one.feature)
        if base is None:
            proposal = proposed[one.feature]
            base = MonitoredAttribute(
                feature=proposal.feature,
                monitored=proposal.choice.monitored,
                reference=proposal.choice.reference,
                threshold=proposal.threshold,
                upper_threshold=proposal.upper_threshold,
            )
            # Of a proposal whose threshold was edited alone, the upper one mirrors it.
            threshold = changes.get("threshold")
            if "upper_threshold" not in changes and isinstance(threshold, int | float):
                changes["upper_threshold"] = mirrored_ratio(threshold)
        of_feature[one.feature] = replace(base, **changes)
    attributes = tuple(of_feature.values())
    if monitor is None:
        return Monitor(outcomes=recommended.outcomes.rule, attributes=attributes)
    return replace(monitor, outcomes=recommended.outcomes.rule, attributes=attributes)


def locate_problems(problems: Sequence[FieldProblem], monitor: Monitor, asked: Sequence[Accepted] | None) -> list[FieldProblem]:
    """Returns the problems of the merged monitor, each at the place where it was sent, or else in the monitor that is stored."""
    places = {one.feature: place for place, one in enumerate(asked or ())}

    def locate(found: re.Match[str]) -> str:
        feature = monitor.attributes[int(found[1])].feature
        return f"attributes[{places[feature]}]" if feature in places else f"fairness_monitor.{found[0]}"

    return [FieldProblem(_PLACE.sub(locate, problem.field, count=1), problem.message) for problem in problems]


def _find_problems(asked: Sequence[Accepted], known: set[str], recommended: Recommended) -> list[FieldProblem]:
    reasons = {one.feature: one.reason for one in recommended.not_proposed}
    problems = []
    for place, one in enumerate(asked):
        if one.feature not in known:
            why = reasons.get(one.feature, "neither its name nor its values show an attribute to watch")
            message = f"{one.feature!r:.210} is not proposed: {why}. To watch it anyway, PUT the fairness monitor"
            problems.append(FieldProblem(f"attributes[{place}].feature", message))
        elif any(earlier.feature == one.feature for earlier in asked[:place]):
            problems.append(FieldProblem(f"attributes[{place}].feature", f"{one.feature!r:.210} is listed twice"))
        elif one.picked is not None and _find_choice(one, recommended) is None:
            why = f"no {one.picked} groups of {one.feature!r:.210} are known; send monitored and reference"
            problems.append(FieldProblem(f"attributes[{place}].groups", why))
    return problems


def _find_choice(asked: Accepted, recommended: Recommended) -> GroupChoice | None:
    if asked.picked is None:
        return None
    choices = {one.feature: one.choice for one in recommended.already} | {one.feature: one.choice for one in recommended.proposals}
    choice = choices.get(asked.feature)
    return choice if choice is None or asked.picked == "proposed" else choice.customary
