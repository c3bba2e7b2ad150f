"""Rules about a deployment's mitigation settings, and the part of them that applies. Source: spec of the fairness check, section 8.

Pure: returns the problems, each with its place, and raises nothing. Settings are compared with the monitor when they are stored; a
monitor that changes later leaves them as they are, and they go on for what is left of the attributes.
"""

from collections.abc import Iterator

from ..errors import FieldProblem
from .deployments import ProblemType
from .mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, DetectorUse, MitigationSettings, Mode
from .monitors import Monitor
from .repeated_rules import check_names

LEAST_GROUP = 30
"""Min records of a group. With fewer it would fit a threshold to the noise of a handful of scores."""

MOST_GROUP = 1_000_000
"""Max records of a group: as many as a check reads."""

DEFAULT_GROUP = 100


def mitigation_problems(settings: MitigationSettings, monitor: Monitor, problem_type: ProblemType) -> list[FieldProblem]:
    """Returns every problem of the settings for a deployment of that monitor and type; empty if they may be stored."""
    monitored = {attribute.feature for attribute in monitor.attributes if attribute.rule is None}
    found = []
    if problem_type is ProblemType.REGRESSION:
        reason = "thresholds are fitted to probabilities, which a regression model has none of"
        if settings.mode is Mode.PARITY:
            found.append(FieldProblem("mode", f"must be lift_only or reference_substitution for a regression model: {reason}"))
        if settings.parity:
            found.append(FieldProblem("parity", f"must be left out for a regression model: {reason}"))

    named = settings.attributes
    if named is not None and not named:
        found.append(FieldProblem("attributes", "must list at least one attribute; leave it out for every monitored one"))
    if named is not None and len(named) > len(monitored):
        message = f"must list at most the {len(monitored)} monitored attributes, found {len(named):,}"
        found.append(FieldProblem("attributes", message))
    else:
        found += check_names("attributes[{}]", named or (), monitored, _describe_unknown)
    found += _check_goals(settings, monitored)

    missing = attributes_without_goal(settings, monitor)
    if missing:
        names = ", ".join(f"{name!r:.100}" for name in missing)
        found.append(FieldProblem("parity", f"mode parity needs a goal for every attribute that is mitigated; there is none for {names}"))
    if settings.mode is Mode.PARITY and settings.bias_detector is DetectorUse.CHOOSE:
        message = "must be off or mark in mode parity, which asks the model for no second answer that could be chosen"
        found.append(FieldProblem("bias_detector", message))
    return found


def mitigated_attributes(settings: MitigationSettings, monitor: Monitor) -> tuple[str, ...]:
    """Returns the monitored attributes that the settings apply to, in the monitor's order."""
    return tuple(one.feature for one in monitor.attributes if one.rule is None and settings.mitigates(one.feature))


def unused_attributes(settings: MitigationSettings, monitor: Monitor | None) -> tuple[str, ...]:
    """Returns the attributes that the settings name and the monitor no longer has, in the order in which they are named."""
    monitored = {attribute.feature for attribute in monitor.attributes} if monitor is not None else set()
    named = (*(settings.attributes or ()), *(goal.attribute for goal in settings.parity))
    return tuple(dict.fromkeys(name for name in named if name not in monitored))


def attributes_without_goal(settings: MitigationSettings, monitor: Monitor) -> tuple[str, ...]:
    """Returns the chosen attributes without a goal in parity mode; none in other modes, which need no goal."""
    goals = {goal.attribute for goal in settings.parity}
    chosen = (attribute.feature for attribute in monitor.attributes if settings.chooses(attribute.feature))
    return tuple(feature for feature in chosen if settings.mode is Mode.PARITY and feature not in goals)


def notes_of(mode: Mode) -> tuple[str, ...]:
    """Returns the notes to show next to every number that this mode made."""
    return (ONLY_DIRECT, PARITY_TREATS_UNLIKE) if mode is Mode.PARITY else (ONLY_DIRECT,)


def _check_goals(settings: MitigationSettings, monitored: set[str]) -> Iterator[FieldProblem]:
    goals = settings.parity
    if len(goals) > len(monitored):
        yield FieldProblem("parity", f"must have at most one goal for each of the {len(monitored)} attributes, found {len(goals):,}")
        return
    yield from check_names("parity[{}].attribute", [goal.attribute for goal in goals], monitored, _describe_unknown)
    for index, goal in enumerate(goals):
        place = f"parity[{index}]"
        if goal.attribute in monitored and not settings.chooses(goal.attribute):
            yield FieldProblem(f"{place}.attribute", f"{goal.attribute!r:.100} is not listed in attributes, so the goal would never count")
        if not 0 < goal.disparate_impact <= 1:
            message = f"must be above 0 and at most 1 (0.8 means 80 %), found {goal.disparate_impact}"
            yield FieldProblem(f"{place}.disparate_impact", message)
        if not LEAST_GROUP <= goal.min_group_size <= MOST_GROUP:
            message = f"must be between {LEAST_GROUP} and {MOST_GROUP:,} records, found {goal.min_group_size}"
            yield FieldProblem(f"{place}.min_group_size", message)


def _describe_unknown(_name: str) -> str:
    return "is not one of the monitor's attributes"
