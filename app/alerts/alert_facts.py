"""Facts of an alert as JSON: enough to trace it without the database."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ..checks.counting.left_out_of_check import LEFT_OUT
from ..checks.views.explain_figure import build_judged_figure, describe_measurement, list_statements
from ..domain.alert import Resolution
from ..domain.check import CheckRun, CheckState, Measurement, Scope
from ..domain.groups import GroupWords
from ..evidence.figure_state import find_hour_start
from ..evidence.present_state import ComparisonState, DeploymentEvidence, rename_state
from ..evidence.words import NO_NEW_EVIDENCE, name_figure, note_first_hour, say_comparison, say_some_group
from ..statistics.e_values.follow import SomeGroupAlarm
from ..statistics.e_values.nulls import UnfairSide
from ..statistics.sentences.left_out import list_lines
from .lateness import LabelShares

Facts = dict[str, object]
"""Members of the JSON by name."""


def build_figure_facts(
    measurement: Measurement, check: CheckRun, *, in_a_row: int, since: datetime, names: GroupWords
) -> Facts:
    """The verdict holds for `in_a_row` checks, the first of them at `since`."""
    judged = build_judged_figure(measurement)
    is_worst = measurement.worst_of is not None
    value, limit = measurement.value, measurement.upper_limit
    is_above = value is not None and limit is not None and value > limit
    renamed = names.rename(measurement)
    display: Facts = {}
    if renamed is not measurement:
        display = {
            "display_sentence": " ".join((describe_measurement(renamed), *list_statements(renamed))),
            "display_disadvantaged_group": build_judged_figure(renamed).disadvantaged_group,
        }
        if not is_worst:
            display |= _name_group(measurement.attribute, measurement.group, names)
    left_out = (
        (check.window or {}).get(LEFT_OUT, {}).get(measurement.data.value, {}).get(measurement.attribute)
    )
    figures = {
        name: getattr(measurement, name) for name in ("value", "lower", "upper", "lower_limit", "upper_limit")
    }
    return {
        "sentence": " ".join((describe_measurement(measurement), *list_statements(measurement))),
        **display,
        "at": measurement.at.isoformat(),
        **_build_row_facts(check, in_a_row, since),
        "verdict": measurement.verdict,
        "disadvantaged": None if judged.disadvantaged is None else judged.disadvantaged.value,
        "disadvantaged_group": judged.disadvantaged_group,
        **figures,
        "direction": UnfairSide.ABOVE if is_above else UnfairSide.BELOW,
        "interval_method": measurement.interval_method,
        "n": measurement.n,
        "n_monitored": measurement.details.monitored_counts.get("n"),
        "n_reference": measurement.details.reference_counts.get("n"),
        "counted": None if left_out is None else " ".join(list_lines(left_out)),
        "scope": (Scope.WORST if is_worst else measurement.scope).value,
        "details": measurement.details.to_json(),
    }


def build_evidence_facts(state: ComparisonState, evidence: DeploymentEvidence) -> Facts:
    names = GroupWords.of(evidence.monitor)
    remarks = [note_first_hour(state), NO_NEW_EVIDENCE if state.is_quiet else None]

    def write_sentence(comparison: ComparisonState) -> str:
        sentence = say_comparison(replace(comparison, is_quiet=False))
        return " ".join([sentence, *(remark for remark in remarks if remark is not None)])

    renamed = rename_state(names, state)
    display = {}
    if renamed != state:
        display = {
            "display_sentence": write_sentence(renamed),
            **_name_group(state.attribute, state.group, names),
        }
    times = {name: getattr(state, name) for name in ("since", "earliest", "latest", "alarm_at")}
    times["counted_from"] = state.counted_from if state.reaches_first_hour else None
    statement = state.statement
    lower, upper = statement.interval or (None, None)
    n_monitored, n_reference = statement.records or (None, None)
    lines = [
        line
        for records in evidence.records.get(state.data, ())
        if records.attribute == state.attribute
        for line in records.lines
    ]
    return {
        "sentence": write_sentence(state),
        **display,
        "started": state.start_text,
        "at": None if state.until is None else state.until.isoformat(),
        **{name: None if time is None else time.isoformat() for name, time in times.items()},
        "direction": state.direction.value,
        "lower_limit": state.limit if state.direction is UnfairSide.BELOW else None,
        "upper_limit": state.limit if state.direction is UnfairSide.ABOVE else None,
        "value": statement.value,
        "lower": lower,
        "upper": upper,
        "interval_kind": statement.interval_kind,
        "n_monitored": n_monitored,
        "n_reference": n_reference,
        "counted": " ".join(lines) or None,
        "log_evidence": state.log_evidence,
        "log_threshold": state.log_threshold,
        "false_alarm_hours": evidence.monitor.evidence.false_alarm_hours,
        "no_new_evidence": state.is_quiet,
        "comparison_id": state.figure_id,
        "monitor_version": evidence.monitor.version,
        "model_revision": evidence.model_revision,
    }


def build_fair_evidence_facts(sides: Sequence[ComparisonState], names: GroupWords) -> Facts:
    facts = _describe_end(sides)
    renamed = [rename_state(names, side) for side in sides]
    return (
        facts if renamed == list(sides) else facts | {"display_sentence": _describe_end(renamed)["sentence"]}
    )


def _describe_end(sides: Sequence[ComparisonState]) -> Facts:
    ended = max(
        (side for side in sides if side.resolved_at is not None),
        key=lambda side: str(side.resolved_at),
        default=None,
    )
    if ended is None or ended.resolved_at is None or ended.fair_since is None:
        sentence = (
            "Past hours have changed, and without an alarm when they are counted again: "
            f"{name_figure(sides[0])}."
        )
        return {"sentence": sentence, "at": None if sides[0].until is None else sides[0].until.isoformat()}
    since = f"{ended.fair_since:%Y-%m-%d %H:%M}"
    sentence = (
        f"Enough evidence has accumulated that this figure is back inside its limit since {since} "
        f"UTC: {name_figure(ended)}."
    )
    return {
        "sentence": sentence,
        "at": ended.resolved_at.isoformat(),
        "fair_since": ended.fair_since.isoformat(),
    }


def join_recovery(facts: Facts, recovery: Facts) -> Facts:
    """Adds the facts of the recovery, whose sentences replace those of the alert."""
    joined = {**facts, "sentence": recovery["sentence"], "recovery": recovery}
    joined.pop("display_sentence", None)
    if "display_sentence" in recovery:
        joined["display_sentence"] = recovery["display_sentence"]
    return joined


CLOSURE_FACTS: Facts = {
    "sentence": "Closed by hand. Evidence on this figure begins again with the next hour that is counted."
}


def build_some_group_facts(evidence: DeploymentEvidence, alarm: SomeGroupAlarm) -> Facts:
    opened = find_hour_start(alarm.opened)
    needed = evidence.monitor.evidence.false_alarm_hours
    strength = (
        f"The mean of their evidence reached {math.exp(min(alarm.log_evidence, 700)):,.0f} of {needed:,.0f}."
    )
    return {
        "sentence": f"{say_some_group(evidence)} {strength}",
        "at": None if evidence.era.counted_until is None else evidence.era.counted_until.isoformat(),
        "since": opened.isoformat(),
        "comparisons": alarm.comparisons,
        "log_evidence": alarm.log_evidence,
        "leading": [
            {
                "data": data,
                "attribute": attribute,
                "group": group,
                "metric": metric,
                "direction": direction,
                "log_evidence": log,
            }
            for (data, attribute, group, metric, direction), log in alarm.leading
        ],
        "false_alarm_hours": needed,
        "model_revision": evidence.model_revision,
    }


def build_some_group_end_facts(alarm: SomeGroupAlarm | None, resolution: Resolution) -> Facts:
    sentence = {
        Resolution.RECOVERED: "Enough evidence has accumulated that each of the comparisons was inside its "
        "limit at some time since.",
        Resolution.NAMED: "It is clear now which group it is.",
    }.get(resolution, "The monitor compares otherwise now, or the model revision is another one.")
    ended = None if alarm is None or alarm.ended is None else find_hour_start(alarm.ended).isoformat()
    return {"sentence": sentence, "at": ended}


def build_failure_facts(failed: Sequence[CheckRun], *, in_a_row: int, since: datetime) -> Facts:
    newest = failed[0]
    count = "The last check" if in_a_row == 1 else f"The last {in_a_row} checks"
    outcome = (
        "failed"
        if newest.state is CheckState.FAILED
        else "got no usable answers of the model, so counterfactual figures are missing"
    )
    return {
        "sentence": f"{count} {outcome}. {newest.reason or ''}".strip(),
        "at": newest.span.end.isoformat(),
        **_build_row_facts(newest, in_a_row, since),
        "failure": newest.failure,
        "reason": newest.reason,
    }


def build_success_facts(check: CheckRun) -> Facts:
    return {"sentence": "Checks go through again.", "at": check.span.end.isoformat(), "check_id": check.id}


def build_silence_facts(
    newest: datetime | None, *, since: datetime, now: datetime, usual_hours: int | None = None
) -> Facts:
    """`since` is the time of the newest record, or of the deployment's creation."""
    hours = int((now - since) / timedelta(hours=1))
    last = (
        "No record was ever logged."
        if newest is None
        else f"The last record was logged at {newest:%Y-%m-%d %H:%M} UTC."
    )
    usual = "" if usual_hours is None else f"; the usual time between records is {_count_hours(usual_hours)}"
    return {
        "sentence": f"No record was logged for {_count_hours(hours)}{usual}. {last}",
        "at": now.isoformat(),
        "since": since.isoformat(),
        "newest_record_at": None if newest is None else newest.isoformat(),
        "hours": hours,
        "usual_hours": usual_hours,
    }


def _count_hours(hours: int) -> str:
    return "1 hour" if hours == 1 else f"{hours:,} hours"


def build_late_labels_facts(labels: LabelShares, *, now: datetime) -> Facts:
    return {
        "sentence": (
            f"Labels are late: {labels.labelled:,} of the newest {labels.records:,} records that are older "
            f"than {_say_delay(labels.delay)} have a label. {labels.usual_labelled:,} of "
            f"{labels.usual_records:,} records until {labels.usual_until:%Y-%m-%d %H:%M} UTC had one within "
            "that time, in which 9 of 10 of the newest labels came."
        ),
        "at": now.isoformat(),
        "since": labels.oldest.isoformat(),
        "usual_delay_hours": labels.delay / timedelta(hours=1),
        **{
            name: getattr(labels, name) for name in ("labelled", "records", "usual_labelled", "usual_records")
        },
    }


def build_labels_again_facts(labels: LabelShares, *, now: datetime) -> Facts:
    return {
        "sentence": f"Labels arrive again: {labels.labelled:,} of the newest {labels.records:,} records that "
        f"are older than {_say_delay(labels.delay)} have one.",
        "at": now.isoformat(),
    }


def _say_delay(delay: timedelta) -> str:
    hours = delay / timedelta(hours=1)
    return f"{hours / 24:.1f} days" if delay >= timedelta(days=2) else f"{hours:.1f} hours"


def build_new_record_facts(newest: datetime, *, now: datetime) -> Facts:
    return {
        "sentence": "Records are logged again.",
        "at": now.isoformat(),
        "newest_record_at": newest.isoformat(),
    }


def _name_group(attribute: str | None, group: str | None, names: GroupWords) -> Facts:
    return {} if attribute is None or group is None else {"display_group": names.label(attribute, group)}


def _build_row_facts(check: CheckRun, in_a_row: int, since: datetime) -> Facts:
    return {
        "since": since.isoformat(),
        "checks_in_a_row": in_a_row,
        "check_id": check.id,
        "check_from": check.span.start.isoformat(),
    }
