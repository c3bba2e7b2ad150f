"""What the pages of checks say in words: who asked, how long it took, what became of it and what to do."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, time, timedelta

from app.dashboard.wording import count
from app.domain.checks import CheckRun, CheckState, Measurement, Scope, Span, Trigger
from app.domain.groups import Role
from app.domain.mitigation import Mode
from app.views.advice import Advice
from app.views.causes import Cause
from app.views.check_views import AttributeView, Change, CheckView, GroupShare, ViewKind
from app.views.viewing import CARRIED

TRIGGERS: Mapping[Trigger, str] = {
    Trigger.SCHEDULE: "hourly",
    Trigger.REQUEST: "for now",
    Trigger.RANGE: "for a time range",
}
STATES: Mapping[CheckState, str] = {
    CheckState.QUEUED: "waiting",
    CheckState.RUNNING: "running",
    CheckState.SUCCEEDED: "succeeded",
    CheckState.INSUFFICIENT_DATA: "too few records",
    CheckState.FAILED: "failed",
    CheckState.CANCELLED: "cancelled",
}
VIEWS: Mapping[ViewKind, tuple[str, str]] = {
    ViewKind.PAYLOAD_PERTURBED: (
        "Payload and perturbed",
        (
            "Logged records and copies with only the attribute changed, scored by the same model. Shares, perfect equality and OpenScale's"
            " fairness count every copy as a record, as OpenScale does. The balanced disparate impact counts every record once on each"
            " side: as it is, and as its copies are."
        ),
    ),
    ViewKind.PAYLOAD: (
        "Payload",
        "The records as they were logged: how often each group got the favourable outcome, whatever else its people differ in.",
    ),
    ViewKind.TRAINING: ("Training data", "How often each group has the favourable label in the data that the model was trained on."),
    ViewKind.DEBIASED: (
        "Debiased",
        "The same records before and after mitigation, as they were logged and together with their copies: what people would have got.",
    ),
}
"""Of each view its name and what it shows."""

MODES: Mapping[str, str] = {
    Mode.LIFT_ONLY: "lift only: a monitored record gets the favourable outcome where the model gives it to its reference copies",
    Mode.REFERENCE_SUBSTITUTION: "reference substitution: a monitored record gets the outcome that the model gives to its reference copies",
    Mode.PARITY: "parity: groups are held to thresholds of their own until their favourable shares come near each other",
}
MISSING: Mapping[ViewKind, str] = {
    ViewKind.PAYLOAD_PERTURBED: "Copies need an endpoint of the model and a metric of balanced data in the monitor; see Configure.",
    ViewKind.PAYLOAD: "It comes with a check that ends well.",
    ViewKind.TRAINING: "Upload the training data, or their distribution; Configure says how.",
    ViewKind.DEBIASED: "It needs an endpoint of the model, and metrics of debiased data in the monitor; see Configure.",
}
"""What to do where a view is not there."""

_WHOM: Mapping[Scope, str] = {
    Scope.WORST: "the group furthest out",
    Scope.POOLED: "all monitored",
    Scope.REFERENCE: "all reference",
    Scope.WORST_PAIR: "the two furthest apart",
    Scope.ATTRIBUTE: "all groups",
    Scope.OVERALL: "everybody",
}
_SCOPES: Mapping[Role, Scope] = {"monitored": Scope.POOLED, "reference": Scope.REFERENCE}
MOST_OPEN = 8
"""Rows of a table that is not folded up."""

_MINUTE, _HOUR = 60, 3600


def origin(check: CheckRun, asker: str) -> str:
    """Where the check comes from; `asker` is the name of who asked for it."""
    if check.trigger is Trigger.SCHEDULE:
        return "An hourly check of the schedule"
    asked = "Asked for now" if check.trigger is Trigger.REQUEST else "Asked for this time range"
    return f"{asked} by {asker}"


def step(check: CheckRun, advice: Advice) -> str:
    """Returns what is being done: of a check that a worker runs its step, else what it waits for and what to do about that."""
    if advice.cause is not Cause.CHECK_RUNNING:
        return " ".join(text for text in (advice.reason, advice.next_step) if text)
    return "A worker has begun it." if check.progress is None else f"{check.progress.step[:1].upper()}{check.progress.step[1:]}."


def duration(check: CheckRun) -> str | None:
    """How long the check ran, once it is over."""
    if check.started_at is None or check.finished_at is None:
        return None
    return _lasting((check.finished_at - check.started_at) / timedelta(seconds=1))


def span(of: Span) -> str:
    """A time range in UTC: `2026-11-22 09:00 to 10:00 UTC`. The end of a day is 24:00."""
    start, end = of.start.astimezone(UTC), of.end.astimezone(UTC)
    if start.date() == end.date():
        return f"{start:%Y-%m-%d %H:%M} to {end:%H:%M} UTC"
    is_end_of_day = end.time() == time.min and start.date() == (end - timedelta(days=1)).date()
    return f"{start:%Y-%m-%d %H:%M} to 24:00 UTC" if is_end_of_day else f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def is_over(check: CheckRun) -> bool:
    """Whether nothing more becomes of the check by itself in the next moments."""
    return check.state not in {CheckState.QUEUED, CheckState.RUNNING}


def may_be_cancelled(check: CheckRun) -> bool:
    """Whether there is something left to cancel: a check that waits, runs, or is to be tried again."""
    return (not is_over(check) or check.next_attempt_at is not None) and not check.cancel_requested


def notes(view: CheckView) -> list[str]:
    """What is said beside the figures; that they are carried forward stands at the head of the page."""
    return [note for note in view.notes if note != CARRIED.format(check_id=view.check.carried_from)]


def rows(one: AttributeView) -> list[GroupShare]:
    """The groups, and behind them each role as a whole if it has several groups."""
    of_role = Counter(group.role for group in one.groups)
    return [*one.groups, *(whole for whole in one.pooled if of_role[whole.role] > 1)]


def is_long(one: AttributeView) -> bool:
    """Whether the table of the groups is folded up: the chart above says the same."""
    return len(rows(one)) > MOST_OPEN


def changes(one: AttributeView) -> list[Change]:
    """What becomes of the accuracy: of everybody, of each group, and of a role as a whole where it has several groups."""
    of_role = Counter(group.role for group in one.groups)
    single = {_SCOPES[role] for role, many in of_role.items() if many == 1}
    return [change for change in one.accuracy if change.before.scope not in single]


def quality(change: Change) -> str:
    """What is compared before and after: `Balanced accuracy`."""
    return change.before.metric.removesuffix("_before").replace("_", " ").capitalize()


def comparison(one: AttributeView) -> Measurement | None:
    """The comparison of the first monitored group that has one; all of a view are of the same metric."""
    return next((group.comparison for group in one.groups if group.comparison is not None), None)


def with_copies(view: CheckView, one: AttributeView) -> AttributeView | None:
    """The same attribute of the debiased view with copies."""
    return next((other for other in view.balanced if other.attribute == one.attribute), None)


def whom(measurement: Measurement) -> str:
    """Whom a figure is about, in few words."""
    if measurement.scope is Scope.GROUP:
        return measurement.group or "(blank)"
    worst = measurement.details.get("worst_group", measurement.details.get("monitored"))
    is_known = measurement.scope is Scope.WORST and worst is not None
    return f"{worst}, furthest out" if is_known else _WHOM[measurement.scope]


def records(number: int) -> str:
    """So many records: `1 record`."""
    return f"{count(number)} record{'' if number == 1 else 's'}"


def counted(value: str | float) -> str:
    """One of the counts behind a figure: whole numbers with groups of thousands, others with four digits that count."""
    if isinstance(value, str):
        return value
    return count(value) if float(value).is_integer() else f"{value:,.6g}"


def _lasting(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
