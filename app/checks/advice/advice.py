"""Sentences that say why a deployment or a check is in its state, and the next step."""

from datetime import UTC, datetime

from ...base.values import frozen_by_name
from ...domain.check import CheckRun, CheckState
from ..schedule.worker_queries import choose_notice, describe_silence
from .causes import Cause, CauseFacts, Outlook, explain_check
from .deployment_facts import ComparedGroups


@frozen_by_name
class Advice:
    cause: Cause
    reason: str | None
    next_step: str | None


_TEMPLATES = {
    Cause.NO_MONITOR: (
        "",
        "Set a fairness monitor: which outcomes are favourable, and which groups are compared.",
    ),
    Cause.NO_RECORDS: (
        "No check has ended yet: no payload record was ever logged.",
        "Log payload records: what the model is asked and what it answers. Configure has code for it.",
    ),
    Cause.NOT_SCHEDULED: (
        "{background} The monitor's schedule is off, so no check runs automatically.",
        "Ask for a check, or switch the monitor's schedule on. {silence}",
    ),
    Cause.CHECK_DUE: (
        "{background} {follows}",
        "Nothing has to be done. To see figures now, ask for a check.",
    ),
    Cause.CHECK_QUEUED: ("{background} {queued}", "Nothing has to be done."),
    Cause.CHECK_RUNNING: ("{background} A check is running.", "Nothing has to be done."),
    Cause.WORKER_SILENT: ("{background} {silence}", "{start}"),
    Cause.WORKER_NEVER_SEEN: ("{background} {silence}", "{start}"),
    Cause.TOO_FEW_RECORDS: (
        "The last check found {have} with the present columns; a check needs {needed}.",
        "Log {lacking}, or lower the minimum of records in the monitor. {follows}",
    ),
    Cause.RECORDS_STOPPED: (
        "No payload record has been logged since {since}; the figures are of {measured_at}.",
        (
            "Check whether the client that logs still runs, and read the answers that it gets; or whether files "
            "with records still come."
        ),
    ),
    Cause.SCORING_FAILED: (
        "{stated}",
        "Test the model's endpoint on Configure and fix what the reason names. {again}",
    ),
    Cause.INVALID_INPUT: (
        "{stated}",
        "The monitor cannot be measured on these records: change on Configure what the reason names. {again}",
    ),
    Cause.INTERRUPTED: ("{stated}", "The workers' log says why they stopped. {again}"),
    Cause.TIMED_OUT: (
        "{stated}",
        (
            "Let the model's endpoint answer faster, let the monitor read fewer records, or let the operator "
            "allow checks more time. {again}"
        ),
    ),
    Cause.CHECK_FAILED: ("{stated}", "Look for {check} in the workers' log. {again}"),
    Cause.CANCELLED: ("{stated}", "It stored no figures. Check again if you need them."),
    Cause.ALL_UNCLASSIFIED: (
        (
            "None of the {have} has a prediction that is in the monitor's outcome lists, so no group can be "
            "compared."
        ),
        (
            "Write the outcomes in the monitor exactly as the model answers them; if records have a label, "
            "as the labels are written. {follows}"
        ),
    ),
    Cause.GROUP_WITHOUT_RECORDS: (
        (
            "{smaller} of {attribute} has no record with an outcome, so {group} cannot be compared with "
            "{reference}."
        ),
        (
            "Check that the monitor spells the group as the records do, and that the predictions of its records "
            "are in the outcome lists."
        ),
    ),
    Cause.GROUP_MISSPELLED: ("", "{stated} List the group in the monitor as the records spell it. {follows}"),
    Cause.GROUP_TOO_SMALL: (
        "{smaller} of {attribute} has {have_of_group} with an outcome; {needed} are needed to judge a group.",
        (
            "Log more records of {smaller}, or raise the minimum of records in the monitor, so that more "
            "earlier ones are included. {follows}"
        ),
    ),
    Cause.REFERENCE_NEVER_FAVOURABLE: (
        (
            "No record of the reference group {reference} ({attribute}) got the favourable outcome, in "
            "{reference_records}, so no ratio to it can be computed for {group}."
        ),
        (
            "More records do not help as long as that is so. Check that the monitor's favourable outcomes "
            "are what the model answers, and that {reference} is the group to compare with."
        ),
    ),
    Cause.NOT_COMPUTABLE: (
        "{attribute}, {group}: {stated}.",
        "Open the last check: it shows the counts that each figure is computed from.",
    ),
    Cause.NO_LIMITS: (
        "The last check measured no figure of a group that has limits, so no group can be judged.",
        "Let the monitor measure disparate impact, or another metric that has limits.",
    ),
    Cause.MONITOR_CHANGED: (
        "The monitor was changed after the last check, which used the version before.",
        "To see figures of the monitor as it is now, ask for a check. {follows}",
    ),
    Cause.SIDE_UNWATCHED: (
        (
            "Only one side is watched, and the figure lies as far out on the other side, where the reference "
            "group is at a disadvantage."
        ),
        "Set the other limit as well; Configure has a button for it.",
    ),
    Cause.INTERVAL_OUTSIDE: (
        (
            "No figure is outside its limits, but the 95 % interval of {group} ({attribute}) reaches "
            "outside: so few records do not rule out a gap beyond a limit."
        ),
        (
            "Raise the minimum of records in the monitor, so that each check includes more, or go by the "
            "evidence, which counts all hours."
        ),
    ),
    Cause.MEASURED: ("", ""),
}
"""Reason and next step of each cause; phrases of `_list_phrases` and `_list_group_phrases` in braces."""


def write_advice(facts: CauseFacts) -> Advice:
    templates = _TEMPLATES[facts.cause]
    # A fair state needs no words: the usual case of hundreds of deployments.
    if not any(templates):
        return Advice(cause=facts.cause, reason=None, next_step=None)
    phrases = _list_phrases(facts)
    if facts.compared:
        phrases |= _list_group_phrases(facts, facts.compared)
    # An empty phrase leaves two spaces: joining the words again removes them.
    reason, next_step = (" ".join(template.format_map(phrases).split()) or None for template in templates)
    return Advice(cause=facts.cause, reason=reason, next_step=next_step)


def advise_on_check(check: CheckRun, outlook: Outlook) -> Advice:
    return write_advice(explain_check(check, outlook))


def _list_phrases(facts: CauseFacts) -> dict[str, str]:
    measured_at = _format_moment(facts.measured_at)
    newest_at = _format_moment(facts.newest_record_at)
    next_check = _describe_next_check(facts.outlook)
    notice = choose_notice(facts.outlook.workers)
    silence = describe_silence(facts.outlook.workers) or ""

    if facts.is_of_check:
        # The page of a check shows its times itself.
        background = ""
        begins = "as soon as a worker is free"
        if facts.outlook.under_way is CheckState.RUNNING:
            begins = "when the check of this deployment that is running has ended"
        queued = f"It begins {begins}."
    else:
        background = "No check has ended yet."
        if facts.measured_at is not None:
            background = (
                f"Records are logged, the newest at {newest_at}, but no check has measured anything "
                f"since {measured_at}."
            )
        queued = "A check waits for a free worker."

    if facts.retry_at is None:
        again = f"Then check again. {silence if facts.is_of_check else next_check}"
    else:
        again = f"It is tried again automatically from {_format_moment(facts.retry_at)} on"
        again += f", when a worker answers. {silence}" if silence else "."

    # The reason of a figure continues a sentence.
    no_reason = "no reason is known" if facts.cause is Cause.NOT_COMPUTABLE else "No reason is known."
    missing = "more records"
    if facts.records is not None and facts.needed_records is not None:
        missing = count_records(max(1, facts.needed_records - facts.records), "more record")
    return {
        "background": background,
        "check": facts.check_id or "the check's id",
        "follows": next_check,
        "again": again,
        "queued": queued,
        "silence": silence,
        "start": "" if notice is None else notice.next_step,
        "since": newest_at,
        "measured_at": measured_at,
        "stated": facts.stated_reason or no_reason,
        "have": count_records(facts.records),
        "needed": "more" if facts.needed_records is None else f"{facts.needed_records:,}",
        "lacking": missing,
    }


def _list_group_phrases(facts: CauseFacts, compared: ComparedGroups) -> dict[str, str]:
    group = facts.group or ""
    reference = compared.reference or "the reference group"
    group_records = compared.monitored_records or 0
    reference_records = compared.reference_records or 0
    return {
        "attribute": facts.attribute or "",
        "group": group,
        "reference": reference,
        # The side with the fewer records, which may have none.
        "smaller": group if group_records <= reference_records else reference,
        "have_of_group": count_records(min(group_records, reference_records)),
        "reference_records": count_records(reference_records),
    }


def _describe_next_check(outlook: Outlook) -> str:
    silence = describe_silence(outlook.workers)
    if silence:
        return f"{silence} No check runs before one does."
    if outlook.under_way:
        return "A check is under way."
    if outlook.follows_files:
        return "The next check is when a file of a batch comes or changes."
    if outlook.due_at is None:
        return "No check runs automatically: the schedule is off."
    return f"The next check is at {outlook.due_at:%H:%M} UTC."


def count_records(number: int | None, noun: str = "record") -> str:
    """Says `1,200 records`; of an unknown number `too few records`."""
    return f"too few {noun}s" if number is None else f"{number:,} {noun}{'' if number == 1 else 's'}"


def _format_moment(at: datetime | None) -> str:
    return "a time that is not known" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
