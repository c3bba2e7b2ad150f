"""What the mitigation settings of a deployment may not say, and what of them applies. Source: spec of the fairness check, section 8.

Pure: gives the problems, each with its place, raises nothing. Settings are held against the monitor when they are put; a monitor that
is changed later leaves them as they are, and they go on for what is left of the attributes.
"""

from collections.abc import Iterator

from app.domain.deployments import ProblemType
from app.domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, DetectorUse, MitigationSettings, Mode
from app.domain.monitors import Monitor
from app.errors import FieldProblem

LEAST_GROUP = 30
"""Records. Of fewer, a threshold would be learnt from the noise of a handful of scores."""

MOST_GROUP = 1_000_000
"""As many records as a check reads at most."""

DEFAULT_GROUP = 100


def mitigation_problems(settings: MitigationSettings, monitor: Monitor, problem_type: ProblemType) -> list[FieldProblem]:
    """Everything wrong with the settings for a deployment of that monitor and type; empty if they may be stored."""
    monitored = {attribute.feature for attribute in monitor.attributes}
    return [
        *_mode(settings, problem_type),
        *_attributes(settings, monitored),
        *_goals(settings, monitored),
        *_missing_goals(settings, monitor),
        *_detector(settings),
    ]


def mitigated_attributes(settings: MitigationSettings, monitor: Monitor) -> tuple[str, ...]:
    """The monitored attributes that the settings apply to, in the monitor's order."""
    return tuple(attribute.feature for attribute in monitor.attributes if settings.mitigates(attribute.feature))


def unused_attributes(settings: MitigationSettings, monitor: Monitor | None) -> tuple[str, ...]:
    """The attributes that the settings name although the monitor has them no more, in the order in which they are named."""
    monitored = {attribute.feature for attribute in monitor.attributes} if monitor is not None else set()
    named = (*(settings.attributes or ()), *(goal.attribute for goal in settings.parity))
    return tuple(dict.fromkeys(name for name in named if name not in monitored))


def attributes_without_goal(settings: MitigationSettings, monitor: Monitor) -> tuple[str, ...]:
    """In parity mode, the chosen attributes that no goal speaks of; in other modes none, which need no goal."""
    goals = {goal.attribute for goal in settings.parity}
    chosen = (attribute.feature for attribute in monitor.attributes if settings.chooses(attribute.feature))
    return tuple(feature for feature in chosen if settings.mode is Mode.PARITY and feature not in goals)


def notes_of(mode: Mode) -> tuple[str, ...]:
    """What has to be said beside every number that this mode made."""
    return (ONLY_DIRECT, PARITY_TREATS_UNLIKE) if mode is Mode.PARITY else (ONLY_DIRECT,)


def _mode(settings: MitigationSettings, problem_type: ProblemType) -> Iterator[FieldProblem]:
    if problem_type is not ProblemType.REGRESSION:
        return
    reason = "thresholds are learnt from probabilities, which a regression model has none of"
    if settings.mode is Mode.PARITY:
        yield FieldProblem("mode", f"must be lift_only or reference_substitution for a regression model: {reason}")
    if settings.parity:
        yield FieldProblem("parity", f"must be left out for a regression model: {reason}")


def _attributes(settings: MitigationSettings, monitored: set[str]) -> Iterator[FieldProblem]:
    named = settings.attributes
    if named is None:
        return
    if not named:
        yield FieldProblem("attributes", "must list at least one attribute; leave it out for every monitored one")
    if len(named) > len(monitored):
        yield FieldProblem("attributes", f"must list at most the {len(monitored)} monitored attributes, found {len(named):,}")
        return
    yield from _each("attributes[{}]", named, monitored)


def _goals(settings: MitigationSettings, monitored: set[str]) -> Iterator[FieldProblem]:
    goals = settings.parity
    if len(goals) > len(monitored):
        yield FieldProblem("parity", f"must have at most one goal for each of the {len(monitored)} attributes, found {len(goals):,}")
        return
    yield from _each("parity[{}].attribute", tuple(goal.attribute for goal in goals), monitored)
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


def _each(place: str, named: tuple[str, ...], monitored: set[str]) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for index, name in enumerate(named):
        if name not in monitored:
            yield FieldProblem(place.format(index), f"{name!r:.100} is not one of the monitor's attributes")
        elif name in seen:
            yield FieldProblem(place.format(index), f"{name!r:.100} is listed twice")
        seen.add(name)


def _missing_goals(settings: MitigationSettings, monitor: Monitor) -> Iterator[FieldProblem]:
    missing = attributes_without_goal(settings, monitor)
    if missing:
        names = ", ".join(f"{name!r:.100}" for name in missing)
        yield FieldProblem("parity", f"mode parity needs a goal for every attribute that is mitigated; there is none for {names}")


def _detector(settings: MitigationSettings) -> Iterator[FieldProblem]:
    if settings.mode is Mode.PARITY and settings.bias_detector is DetectorUse.CHOOSE:
        yield FieldProblem(
            "bias_detector", "must be off or mark in mode parity, which asks the model for no second answer that could be chosen for"
        )
