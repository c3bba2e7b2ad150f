"""Words of a notification, independent of the channel's form."""

import re
from collections.abc import Mapping
from typing import Any

from ..base.values import isolate
from ..checks.views.headlines import VERDICT_WORDS
from ..statistics.sentences.rounding import write_minus

_HAPPENED = {
    "opened": "Alert",
    "explained": "Why it changed",
    "reminded": "Reminder",
    "acknowledged": "Acknowledged",
    "resolved": "Resolved",
}
_MOST_HEADLINE = 150
_MOST_VALUE = 300
_MOST_SENTENCE = 1000
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Control characters, also those that reverse the direction of text: a name could change the meaning of a
sentence.
"""


def headline(body: Mapping[str, Any]) -> str:
    about = body["alert"]
    if about is None:
        report = body.get("report")
        if report is None:
            return "Test of an alert channel"
        happened = "Report" if report["state"] == "ready" else "Report failed"
        return _line(f"{happened}: {report['deployment_name']}: {report['schedule_name']}", _MOST_HEADLINE)
    # Messages queued by an earlier version have no names.
    named = " / ".join(
        str(name)
        for name in (about["attribute"], about.get("group_name") or about["group"])
        if name is not None
    )
    what = f"{_HAPPENED[body['event']]}: {about['deployment_name']}: {about['rule_name']}"
    return _line(f"{what}: {named}" if named else what, _MOST_HEADLINE)


def sentence(body: Mapping[str, Any]) -> str:
    return _line(body.get("display_sentence") or body["sentence"], _MOST_SENTENCE)


def facts(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    about = body["alert"]
    if about is None:
        return _report_facts(body.get("report"))
    # Of a resolved alert, the figures that show that it has passed.
    figures = {**about["facts"], **(about["facts"].get("recovery") or {})}
    value, lower, upper = (_number(figures.get(name)) for name in ("value", "lower", "upper"))
    if value is not None and (lower is not None or upper is not None):
        value = f"{value}, interval {lower or 'open'} to {upper or 'open'}"
    least = _number(figures.get("lower_limit"))
    highest = _number(figures.get("upper_limit"))
    limits = None if least is None and highest is None else f"{least} to {highest}"
    if (least is None) != (highest is None):
        limits = f"at most {highest}" if least is None else f"at least {least}"
    side = figures.get("disadvantaged")
    group = figures.get("display_disadvantaged_group") or figures.get("disadvantaged_group")
    if group is not None and figures.get("scope") != "worst_pair":
        side = f"{group} ({side})"

    change = about.get("change") or {}
    reason = about.get("closing_reason")
    reason = "" if reason is None else f" ({str(reason).replace('_', ' ')})"
    label = about["group"]
    name = about.get("group_name")
    named = [
        ("Deployment", f"{about['deployment_name']} ({about['deployment_id']})"),
        ("Rule", f"{about['rule_name']} ({about['rule_id']})"),
        ("Attribute", about["attribute"]),
        ("Group", label if name in {None, label} else f"{name} ({label})"),
        ("Metric", about["metric"] and f"{about['metric']}, {about['data'].replace('_', ' ')}"),
        ("Value", value),
        ("Limits", limits),
        ("Records", figures.get("n")),
        ("Counted", figures.get("counted")),
        ("Verdict", VERDICT_WORDS.get(figures.get("verdict")) if figures.get("verdict") else None),
        ("At a disadvantage", side),
        ("Check", figures.get("check_id")),
        ("Checks in a row", figures.get("checks_in_a_row")),
        ("Opened", about["opened_at"]),
        ("Last seen", about["last_seen_at"]),
        (
            "Acknowledged",
            about["acknowledged_by"] and f"by {about['acknowledged_by']} at {about['acknowledged_at']}",
        ),
        ("Note", about["note"]),
        ("Assigned to", about.get("assignee")),
        (
            "Resolved",
            about["resolved_at"] and f"{about['resolved_at']}, {str(about['resolution']).replace('_', ' ')}",
        ),
        ("Closed", about.get("closed_by") and f"by {about['closed_by']}{reason}: {about['closing_note']}"),
        (
            "Why it changed",
            None
            if body["event"] == "explained"
            else change.get("display_sentence") or change.get("sentence"),
        ),
        ("Page", about["path"]),
    ]
    longer = ("Counted", "Why it changed")
    return [
        (name, _line(str(value), _MOST_SENTENCE if name in longer else _MOST_VALUE))
        for name, value in named
        if value is not None
    ]


def _report_facts(report: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if report is None:
        return []
    named = [
        ("Deployment", f"{report['deployment_name']} ({report['deployment_id']})"),
        ("Schedule", f"{report['schedule_name']} ({report['schedule_id']})"),
        ("Start", report["start"]),
        ("End", report["end"]),
        ("Report", report["id"]),
        ("Seal", report["seal"]),
        ("Chain", report["chain_head"]),
        ("Page", report["path"]),
    ]
    return [(name, _line(str(value), _MOST_VALUE)) for name, value in named if value is not None]


def _number(value: object) -> str | None:
    # With fewer digits, a value just outside a limit would read as the limit.
    return write_minus(f"{value:.6g}") if isinstance(value, int | float) else None


def _line(text: str, limit: int) -> str:
    line = _UNPRINTABLE.sub(" ", text).strip()
    # After the cut, so that no isolate is left open.
    return isolate(line if len(line) <= limit else f"{line[: limit - 1]}…")
