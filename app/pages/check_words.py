"""Texts of the pages of checks: states, views, times and counts."""

from collections import Counter
from datetime import UTC, time, timedelta

from ..checks.advice.advice import Advice
from ..checks.advice.causes import Cause
from ..checks.views.build_views import CARRIED
from ..checks.views.view_shapes import AttributeView, Change, CheckView, GroupShare, ViewKind
from ..domain.check import CheckRun, CheckState, Measurement, Scope, Span, Trigger
from ..domain.mitigation import Mode
from ..statistics.e_values.state_words import capitalise
from ..statistics.sentences.figure_sentences import write_minus
from .words import write_count

TRIGGERS = {
    Trigger.SCHEDULE: "scheduled",
    Trigger.REQUEST: "for now",
    Trigger.RANGE: "for a time range",
    Trigger.FILES: "for new files",
    Trigger.MODEL: "as the model did not answer",
}

STATES = {
    CheckState.QUEUED: "waiting",
    CheckState.RUNNING: "running",
    CheckState.SUCCEEDED: "succeeded",
    CheckState.INSUFFICIENT_DATA: "too few records",
    CheckState.FAILED: "failed",
    CheckState.CANCELLED: "cancelled",
}

VIEWS = {
    ViewKind.OPENSCALE: (
        "OpenScale's numbers",
        (
            "They differ from all others because OpenScale counts every copy with only the attribute changed "
            "as a record; the counterfactual disparate impact counts every record once on each side: as it "
            "is, and as its copies are."
        ),
    ),
    ViewKind.AS_LOGGED: ("As logged", "How often each group got the favourable outcome."),
    ViewKind.TRAINING: (
        "Training data",
        "How often each group has the favourable label in the data that the model was trained on.",
    ),
    ViewKind.MITIGATED: (
        "Mitigated",
        (
            "The same records before and after mitigation, as they were logged and together with their copies: "
            "what people would have got."
        ),
    ),
}

MODES = {
    Mode.LIFT_ONLY: "lift only: a monitored record gets the favourable outcome where the model gives it to "
    "its reference copies",
    Mode.REFERENCE_SUBSTITUTION: "reference substitution: a monitored record gets the outcome that the "
    "model gives to its reference copies",
}

MISSING_VIEW_STEPS = {
    ViewKind.OPENSCALE: "Copies need an endpoint of the model and a counterfactual metric in the "
    "monitor; see Configure.",
    ViewKind.AS_LOGGED: "A check that succeeds has it.",
    ViewKind.TRAINING: "Upload the training data, or their distribution; Configure says how.",
    ViewKind.MITIGATED: "It needs an endpoint of the model, and metrics of mitigated data in the monitor; see "
    "Configure.",
}

_SUBJECTS = {
    Scope.POOLED: "all monitored",
    Scope.REFERENCE: "all reference",
    Scope.WORST_PAIR: "the two furthest apart",
    Scope.ATTRIBUTE: "all groups",
    Scope.OVERALL: "all records",
}

MAX_OPEN_ROWS = 8
"""Rows of a table that is not folded up."""

_MINUTE_SECONDS = 60

_HOUR_SECONDS = 3600


def say_origin(check: CheckRun, asker: str) -> str:
    """Says why a check was made; `asker` names the person or key that asked for it."""
    if check.trigger is Trigger.SCHEDULE:
        return f"{'An hourly' if check.span.is_whole_hour else 'A daily'} check of the schedule"
    if check.trigger is Trigger.FILES:
        return (
            f"Files of {'its hour' if check.span.is_whole_hour else 'its time'} came or changed"
            + _name_batch(check)
        )
    if check.trigger is Trigger.MODEL:
        return "The model had not scored the copies of its hour"
    occasion = "Asked for now" if check.trigger is Trigger.REQUEST else "Asked for this time range"
    return f"{occasion} by {asker}" + _name_batch(check)


def _name_batch(check: CheckRun) -> str:
    return "" if check.batch is None else f"; the records of batch {check.batch}"


def say_step(check: CheckRun, advice: Advice) -> str:
    """Says the step of a running check; of another what it waits for, with advice."""
    if advice.cause is not Cause.CHECK_RUNNING:
        return " ".join(text for text in (advice.reason, advice.next_step) if text)
    return "A worker has started it." if check.progress is None else f"{capitalise(check.progress.step)}."


def write_duration(check: CheckRun) -> str | None:
    """Writes how long a check ran; None unless it has started and ended."""
    if check.started_at is None or check.finished_at is None:
        return None
    seconds = (check.finished_at - check.started_at) / timedelta(seconds=1)
    # After rounding: 59.96 seconds are a minute.
    if round(seconds, 1) < _MINUTE_SECONDS:
        return f"{seconds:.1f} s"
    whole_seconds = round(seconds)
    minutes = whole_seconds // _MINUTE_SECONDS
    if whole_seconds < _HOUR_SECONDS:
        return f"{minutes} min {whole_seconds % _MINUTE_SECONDS} s"
    return f"{whole_seconds // _HOUR_SECONDS} h {minutes % 60} min"


def write_span(span: Span) -> str:
    """Writes `2026-11-22 09:00 to 10:00 UTC`; the end of a day is 24:00."""
    start = span.start.astimezone(UTC)
    end = span.end.astimezone(UTC)
    if start.date() == end.date():
        return f"{start:%Y-%m-%d %H:%M} to {end:%H:%M} UTC"
    if end.time() == time.min and start.date() == (end - timedelta(days=1)).date():
        return f"{start:%Y-%m-%d %H:%M} to 24:00 UTC"
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def is_over(check: CheckRun) -> bool:
    return check.state not in {CheckState.QUEUED, CheckState.RUNNING}


def may_be_cancelled(check: CheckRun) -> bool:
    return (not is_over(check) or check.next_attempt_at is not None) and not check.cancel_requested


def list_notes(view: CheckView) -> list[str]:
    """Notes without that of a check carried forward, which the page shows elsewhere."""
    return [note for note in view.notes if note != CARRIED.format(check_id=view.check.carried_from)]


def list_rows(view: AttributeView) -> list[GroupShare]:
    groups_of_role = Counter(group.role for group in view.groups)
    return [*view.groups, *(pooled for pooled in view.pooled if groups_of_role[pooled.role] > 1)]


def is_long(view: AttributeView) -> bool:
    return len(list_rows(view)) > MAX_OPEN_ROWS


def name_quality(change: Change) -> str:
    return change.before.metric.removesuffix("_before").replace("_", " ").capitalize()


def find_comparison(view: AttributeView) -> Measurement | None:
    return next((group.comparison for group in view.groups if group.comparison is not None), None)


def find_counterfactual_view(view: CheckView, attribute_view: AttributeView) -> AttributeView | None:
    return next(
        (
            counterfactual
            for counterfactual in view.counterfactual
            if counterfactual.attribute == attribute_view.attribute
        ),
        None,
    )


def name_scope(measurement: Measurement) -> str:
    if measurement.scope is Scope.GROUP:
        return measurement.group or "(blank)"
    return _SUBJECTS[measurement.scope]


def say_records(number: int) -> str:
    return f"{write_count(number)} record{'' if number == 1 else 's'}"


def write_amount(value: str | float) -> str:
    """Writes a count: whole numbers with groups of thousands, others with six significant digits."""
    if isinstance(value, str):
        return value
    return write_count(value) if float(value).is_integer() else write_minus(f"{value:,.6g}")
