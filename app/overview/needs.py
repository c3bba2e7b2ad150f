"""Lines of the overview that need a person: at most five, the gravest first."""

from datetime import datetime, timedelta

from ..base.clock import HOUR
from ..base.values import frozen, frozen_by_name
from ..checks.advice.causes import Cause
from ..checks.advice.deployment_facts import UnacknowledgedAlerts
from ..checks.schedule.worker_queries import describe_silence
from ..domain.check import DataSet
from ..statistics.e_values.state_words import DAY, say_start
from ..statistics.sentences.figure_sentences import count_digits, write_minus
from .fleet import URGENCY, DeploymentOverview, DeploymentState, Overview, OverviewSort, rank_deployment

MAX_NEED_LINES = 5

WORKER_HELP = "/help/operations/runbook#no-worker-answers"
"""Says what a worker does, and what to do without one."""


@frozen
class NextStep:
    """Link to do something. `page` is under the deployment's address; `{check}` is the last check's id."""

    verb: str
    page: str


@frozen_by_name
class PressingNeed:
    """Line about a deployment, or the installation (`name` None); its verb may acknowledge an alert."""

    deployment_id: str | None = None
    name: str | None = None
    state: DeploymentState
    sentence: str
    verb: str
    address: str
    acknowledges: str | None = None


@frozen
class Needs:
    """The lines that are shown, out of `total`, and the number of alerts that nobody acknowledged."""

    lines: tuple[PressingNeed, ...]
    total: int
    alerts: int = 0


STEPS = {
    cause: step
    for step, causes in {
        NextStep("Test endpoint", "/configure/model"): (Cause.SCORING_FAILED,),
        NextStep("Show check", "/checks/{check}"): (
            Cause.INTERRUPTED,
            Cause.TIMED_OUT,
            Cause.CHECK_FAILED,
            Cause.NOT_COMPUTABLE,
        ),
        NextStep("Check logging", "/configure/log"): (Cause.RECORDS_STOPPED,),
        NextStep("Log records", "/configure/log"): (
            Cause.NO_RECORDS,
            Cause.TOO_FEW_RECORDS,
            Cause.GROUP_TOO_SMALL,
        ),
        NextStep("Schedule checks", "/configure/monitor"): (Cause.NOT_SCHEDULED,),
        NextStep("Set monitor", "/configure/monitor"): (Cause.NO_MONITOR,),
        NextStep("Change monitor", "/configure/monitor"): (
            Cause.INVALID_INPUT,
            Cause.ALL_UNCLASSIFIED,
            Cause.GROUP_WITHOUT_RECORDS,
            Cause.REFERENCE_NEVER_FAVOURABLE,
            Cause.NO_LIMITS,
        ),
        NextStep("Watch both sides", "/configure/monitor"): (Cause.SIDE_UNWATCHED,),
    }.items()
    for cause in causes
}
"""Step by cause. A cause without a step passes by itself, or is that of all deployments:
no worker answers.
"""

_SHOW_STEP = NextStep("Show", "")

_DATA_SUFFIX = {DataSet.COUNTERFACTUAL: ", counterfactual", DataSet.LABELLED: " on labelled records"}


def list_needs(overview: Overview, *, now: datetime, may_manage: bool, may_acknowledge: bool) -> Needs:
    """Lists lines of all deployments that the caller may see, whatever the filter, with verbs that they may
    do.
    """
    lines = []
    silence = describe_silence(overview.workers)
    if silence is not None and overview.visible_deployments:
        lines.append(
            PressingNeed(state=DeploymentState.FAILING, sentence=silence, verb="Runbook", address=WORKER_HELP)
        )

    def rank_need(deployment: DeploymentOverview) -> tuple[int, object]:
        rank = URGENCY.index(deployment.state)
        if deployment.unacknowledged:
            # It is at least as grave as a suspicion.
            rank = min(rank, URGENCY.index(DeploymentState.SUSPECTED))
        return rank, rank_deployment(deployment, OverviewSort.SEVERITY)

    needing = [deployment for deployment in overview.visible_deployments if needs_person(deployment)]
    for deployment in sorted(needing, key=rank_need)[:MAX_NEED_LINES]:
        address = f"/deployments/{deployment.id}"
        step = STEPS.get(deployment.cause, _SHOW_STEP) if may_manage else _SHOW_STEP
        verb = step.verb
        page = step.page.format(check=deployment.last_check.id if deployment.last_check else "")
        acknowledges = None
        # A failed check is fixed first, and its alert then resolves.
        if deployment.unacknowledged is not None and deployment.state is not DeploymentState.FAILING:
            alerts = deployment.unacknowledged.alerts
            if alerts == 1:
                page = ""
                address = f"/alerts/{deployment.unacknowledged.alert_id}"
                acknowledges = deployment.unacknowledged.alert_id if may_acknowledge else None
                verb = "Acknowledge" if may_acknowledge else "Show alert"
            else:
                verb = f"Review {alerts} alerts"
                page = "/alerts?state=open"
        lines.append(
            PressingNeed(
                deployment_id=deployment.id,
                name=deployment.name,
                state=deployment.state,
                sentence=describe_need(deployment, now),
                verb=verb,
                address=address + page,
                acknowledges=acknowledges,
            )
        )
    waiting = sum(
        deployment.unacknowledged.alerts
        for deployment in overview.visible_deployments
        if deployment.unacknowledged is not None
    )
    total = len(needing) + (silence is not None and bool(overview.visible_deployments))
    return Needs(tuple(lines[:MAX_NEED_LINES]), total, waiting)


def needs_person(deployment: DeploymentOverview) -> bool:
    """Whether an alert is not acknowledged, or the deployment does not get on by itself.

    Unfair deployments whose alerts are all acknowledged are in somebody's hands.
    """
    if deployment.unacknowledged is not None:
        return True
    if deployment.state is DeploymentState.UNFAIR:
        return deployment.open_alerts == 0
    return deployment.cause in STEPS


def describe_need(deployment: DeploymentOverview, now: datetime) -> str:
    worst = deployment.worst
    evidence = deployment.evidence
    if deployment.state is DeploymentState.UNFAIR and (worst is None or worst.verdict != "unfair"):
        since = None if evidence is None else evidence.unfair_since
        sentence = "Unfair by all hours together."
        if evidence is not None and since is not None:
            sentence = (
                f"Unfair since {say_start(since, None, None, DAY, is_first=evidence.is_from_first_hour)}."
            )
    elif deployment.state is DeploymentState.UNFAIR and worst is not None:
        group = _name_group(deployment, worst.group)
        side = worst.disadvantaged_group
        unfair_to = "Unfair" if side is None else f"Unfair to {_name_group(deployment, side)}"
        number = 0.0 if worst.value is None else worst.value
        digits = count_digits(number, (worst.lower_limit, worst.upper_limit), 2)
        # The line is read at a glance: a group is named once.
        figure_of = "" if side == worst.group else f" of {group}"
        sentence = (
            f"{unfair_to}: {worst.metric.replace('_', ' ')}{figure_of} "
            f"{write_minus(f'{number:.{digits}f}')}{_DATA_SUFFIX.get(worst.data, '')}."
        )
    elif deployment.state is DeploymentState.FAILING:
        sentence = f"The last check failed. {deployment.reason or ''}"
    elif deployment.state is DeploymentState.NO_MONITOR:
        sentence = "No monitor is set, so nothing is checked."
    else:
        sentence = deployment.reason or ""
    waiting = deployment.unacknowledged
    if waiting is not None:
        age = format_duration(now - waiting.since)
        sentence += f" {_say_waiting(waiting, age)}"
    elif deployment.state is DeploymentState.UNFAIR:
        sentence += " No alert is open on it."
    return sentence.strip()


def _name_group(deployment: DeploymentOverview, group: str) -> str:
    attribute = "" if deployment.worst is None else deployment.worst.attribute
    label = deployment.words.label(attribute, group)
    return label if deployment.words.is_named(attribute, group) else f"{label} ({attribute})"


def _say_waiting(waiting: UnacknowledgedAlerts, age: str) -> str:
    if waiting.unassigned == waiting.alerts:
        return (
            f"Nobody is assigned for {age}."
            if waiting.alerts == 1
            else f"Nobody is assigned to {waiting.alerts} alerts, the oldest for {age}."
        )
    if waiting.alerts == 1:
        return f"1 assigned alert is not acknowledged for {age}."
    unassigned = f", {waiting.unassigned} of them assigned to nobody" if waiting.unassigned else ""
    return f"{waiting.alerts} alerts are not acknowledged{unassigned}, the oldest for {age}."


def format_duration(passed: timedelta) -> str:
    if passed < timedelta(minutes=1):
        return "less than a minute"
    if passed < HOUR:
        return f"{passed // timedelta(minutes=1)} min"
    return f"{passed // HOUR} h" if passed < timedelta(days=2) else f"{passed.days} days"
