"""Advice: each cause in words, with the next step. The only place that words it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.checks import CheckState
from app.views.causes import Because, Cause
from app.views.workers import notice_of, silence_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The cause for programs, its reason in words and the next step; None where there is nothing to say."""

    cause: Cause
    reason: str | None
    next_step: str | None


_REASONS: Mapping[Cause, str] = {
    Cause.NO_MONITOR: "",
    Cause.NO_RECORDS: "No check has ended yet: no payload record was ever logged.",
    Cause.NOT_SCHEDULED: "{background} The monitor's schedule is off, so no check comes by itself.",
    Cause.CHECK_DUE: "{background} {follows}",
    Cause.CHECK_QUEUED: "{background} {queued}",
    Cause.CHECK_RUNNING: "{background} A check is running.",
    Cause.WORKER_SILENT: "{background} {silence}",
    Cause.WORKER_NEVER_SEEN: "{background} {silence}",
    Cause.TOO_FEW_RECORDS: "The last check found {have} with the present columns; a check needs {needed}.",
    Cause.RECORDS_STOPPED: "No payload record has been logged since {since}; the figures are of {measured_at}.",
    Cause.SCORING_FAILED: "{stated}",
    Cause.INVALID_INPUT: "{stated}",
    Cause.INTERRUPTED: "{stated}",
    Cause.CHECK_FAILED: "{stated}",
    Cause.CANCELLED: "{stated}",
    Cause.ALL_UNCLASSIFIED: "None of the {have} has a prediction that is in the monitor's outcome lists, so nobody can be compared.",
    Cause.GROUP_WITHOUT_RECORDS: "{missing} of {attribute} has no record with an outcome, so {group} cannot be compared with {reference}.",
    Cause.GROUP_TOO_SMALL: "{smaller} of {attribute} has {have_of_group} with an outcome; {needed} are needed to judge a group.",
    Cause.REFERENCE_NEVER_FAVOURABLE: (
        "Nobody of the reference group {reference} ({attribute}) got the favourable outcome, in {reference_records}, so no ratio to it can"
        " be computed for {group}."
    ),
    Cause.NOT_COMPUTABLE: "{attribute}, {group}: {stated}.",
    Cause.NO_LIMITS: "The last check measured no figure of a group that has limits, so no group can be judged.",
    Cause.MONITOR_CHANGED: "The monitor was changed since the last check, which went by the one before.",
    Cause.SIDE_UNWATCHED: "Only one side is watched, and the figure lies beyond the mirror image of the limit on the other side.",
    Cause.MEASURED: "",
}

_STEPS: Mapping[Cause, str] = {
    Cause.NO_MONITOR: "Set a fairness monitor: which outcomes are favourable, and which groups are compared.",
    Cause.NO_RECORDS: "Log payload records: what the model is asked and what it answers. Configure has code for it.",
    Cause.NOT_SCHEDULED: "Ask for a check, or switch the monitor's schedule on. {silence}",
    Cause.CHECK_DUE: "Nothing has to be done. To see figures now, ask for a check.",
    Cause.CHECK_QUEUED: "Nothing has to be done.",
    Cause.CHECK_RUNNING: "Nothing has to be done.",
    Cause.WORKER_SILENT: "{start}",
    Cause.WORKER_NEVER_SEEN: "{start}",
    Cause.TOO_FEW_RECORDS: "Log {lacking}, or lower the fewest records that the monitor asks for. {follows}",
    Cause.RECORDS_STOPPED: "See whether the client that logs still runs, and what its receipts say.",
    Cause.SCORING_FAILED: "Test the model's endpoint on Configure and correct what the reason says. {again}",
    Cause.INVALID_INPUT: "The monitor cannot be measured on these records: change on Configure what the reason names. {again}",
    Cause.INTERRUPTED: "Read in the workers' log why they stopped. {again}",
    Cause.CHECK_FAILED: "Look for the check's id in the workers' log. {again}",
    Cause.CANCELLED: "Nothing is stored of it. Check again if the figures are wanted after all.",
    Cause.ALL_UNCLASSIFIED: (
        "Write the outcomes in the monitor exactly as the model answers them; where records have a label, as the labels are. {follows}"
    ),
    Cause.GROUP_WITHOUT_RECORDS: (
        "See whether the monitor writes the group as the records do, and whether the predictions of its records are in the outcome lists."
    ),
    Cause.GROUP_TOO_SMALL: (
        "Log more records of {smaller}, or raise the fewest records of the monitor, so that more earlier ones count. {follows}"
    ),
    Cause.REFERENCE_NEVER_FAVOURABLE: (
        "More records do not help as long as that is so. See whether the monitor's favourable outcomes are what the model answers, and"
        " whether {reference} is the group to compare with."
    ),
    Cause.NOT_COMPUTABLE: "Open the last check: it says of each figure what it was counted from.",
    Cause.NO_LIMITS: "Let the monitor measure disparate impact, or another metric that has limits.",
    Cause.MONITOR_CHANGED: "To see figures of the monitor as it is now, ask for a check. {follows}",
    Cause.SIDE_UNWATCHED: "Set the other limit, too; Configure has a button for it.",
    Cause.MEASURED: "",
}


def advice_of(because: Because) -> Advice:
    """Returns the cause in words."""
    facts = _facts(because)
    reason, step = (_worded(texts[because.cause], facts) for texts in (_REASONS, _STEPS))
    return Advice(cause=because.cause, reason=reason, next_step=step)


def _worded(template: str, facts: Mapping[str, str]) -> str | None:
    return " ".join(template.format_map(facts).split()) or None


def _facts(because: Because) -> dict[str, str]:
    notice = notice_of(because.outlook.workers)
    have, needed = because.have, because.needed
    return {
        "background": _background(because),
        "follows": _follows(because),
        "again": _again(because),
        "queued": _queued(because),
        "silence": silence_of(because.outlook.workers) or "",
        "start": "" if notice is None else notice.next_step,
        "since": _moment(because.since),
        "measured_at": _moment(because.measured_at),
        "stated": because.stated or "no reason is known",
        "have": _records(have),
        "needed": "more" if needed is None else f"{needed:,}",
        "lacking": "more records" if have is None or needed is None else _records(max(1, needed - have), "more record"),
        **_sides(because),
    }


def _sides(because: Because) -> dict[str, str]:
    """Returns the groups that were compared: `smaller` has the fewer records, `missing` has none."""
    compared = because.compared
    if compared is None:
        return {}
    monitored, reference = because.group or "", compared.reference or "the reference group"
    of_monitored, of_reference = compared.monitored_records or 0, compared.reference_records or 0
    smaller, fewest = (monitored, of_monitored) if of_monitored <= of_reference else (reference, of_reference)
    return {
        "attribute": because.attribute or "",
        "group": monitored,
        "reference": reference,
        "smaller": smaller,
        "missing": smaller,
        "have_of_group": _records(fewest),
        "reference_records": _records(of_reference),
    }


def _background(because: Because) -> str:
    """Returns what is missing while something is waited for; nothing on the page of the check itself."""
    if because.is_of_check:
        return ""
    if because.measured_at is None:
        return "No check has ended yet."
    newest, measured = _moment(because.since), _moment(because.measured_at)
    return f"Records are logged, the newest at {newest}, but no check has measured anything since {measured}."


def _queued(because: Because) -> str:
    if not because.is_of_check:
        return "A check waits for a free worker."
    if because.outlook.under_way is CheckState.RUNNING:
        return "It begins when the check of this deployment that is running has ended."
    return "It begins as soon as a worker is free."


def _follows(because: Because) -> str:
    """Returns when the next check comes, or why none does."""
    outlook, silence = because.outlook, silence_of(because.outlook.workers)
    if silence is not None:
        return f"{silence} No check runs before one does."
    if outlook.under_way is not None:
        return "A check is under way."
    return (
        "No check comes by itself: the schedule is off." if outlook.due_at is None else f"The next check is at {outlook.due_at:%H:%M} UTC."
    )


def _again(because: Because) -> str:
    """Returns how the check is repeated: by itself, or because somebody asks."""
    silence = silence_of(because.outlook.workers)
    if because.retry_at is None:
        return f"Then check again. {(silence or '') if because.is_of_check else _follows(because)}"
    again = f"It is tried again by itself from {_moment(because.retry_at)} on"
    return f"{again}." if silence is None else f"{again}, when a worker answers. {silence}"


def _records(number: int | None, noun: str = "record") -> str:
    return f"too few {noun}s" if number is None else f"{number:,} {noun}{'' if number == 1 else 's'}"


def _moment(at: datetime | None) -> str:
    return "a time that is not known" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
