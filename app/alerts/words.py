"""Words of a notification, independent of the channel's form."""

import re
from collections.abc import Mapping
from typing import Any

from ..base.values import isolate
from ..checks.views.headlines import VERDICT_WORDS
from ..statistics.sentences.figure_sentences import write_minus

_EVENT_TITLES = {
    "opened": "Alert",
    "explained": "Why it changed",
    "reminded": "Reminder",
    "acknowledged": "Acknowledged",
    "resolved": "Resolved",
}
_MAX_HEADLINE_CHARACTERS = 150
_MAX_VALUE_CHARACTERS = 300
_MAX_SENTENCE_CHARACTERS = 1000
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Control characters, also those that reverse the direction of text: a name could change the meaning of a
sentence.
"""


def headline(body: Mapping[str, Any]) -> str:
    alerts = body["alerts"]
    if not alerts:
        report = body.get("report")
        if report is None:
            return "Test of an alert channel"
        title = "Report" if report["state"] == "ready" else "Report failed"
        return _write_line(
            ": ".join(filter(None, (title, report["deployment_name"], report["schedule_name"]))),
            _MAX_HEADLINE_CHARACTERS,
        )
    title = _EVENT_TITLES[body["event"]]
    if body["count"] > 1:
        return _write_line(
            f"{title}: {body['deployment_name']}: {body['count']:,} alerts", _MAX_HEADLINE_CHARACTERS
        )
    (alert,) = alerts
    named = " / ".join(str(name) for name in (alert["attribute"], alert["group_name"]) if name is not None)
    what = f"{title}: {body['deployment_name']}: {alert['rule_name']}"
    return _write_line(f"{what}: {named}" if named else what, _MAX_HEADLINE_CHARACTERS)


def sentence(body: Mapping[str, Any]) -> str:
    return _write_line(body.get("display_sentence") or body["sentence"], _MAX_SENTENCE_CHARACTERS)


def facts(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    alerts = body["alerts"]
    if not alerts:
        return _list_report_facts(body.get("report"))
    if body["count"] == 1:
        return _list_alert_facts(body, alerts[0])
    lines = [("Deployment", _name_deployment(body))]
    for alert in alerts:
        facts_by_name = dict(_list_alert_facts(body, alert))
        text = "; ".join(
            f"{name.lower()}: {facts_by_name[name]}" for name in _SHORT_FACTS if name in facts_by_name
        )
        named = alert["group"] is not None
        lines.append((f"{alert['group_name']} ({alert['attribute']})" if named else alert["rule_name"], text))
    lines.append(("Page", body["path"]))
    return [
        (_write_line(name, _MAX_HEADLINE_CHARACTERS), _write_line(text, _MAX_SENTENCE_CHARACTERS))
        for name, text in lines
    ]


_SHORT_FACTS = ("Metric", "Value", "Limits", "Records", "Since", "Assigned to", "Note", "Resolved", "Page")


def _name_deployment(body: Mapping[str, Any]) -> str:
    return f"{body['deployment_name']} ({body['deployment_id']})"


def _write_value(figures: Mapping[str, Any]) -> str | None:
    value, lower, upper = (_format_number(figures.get(name)) for name in ("value", "lower", "upper"))
    if lower is None and upper is None:
        return value
    interval = f"interval {lower or 'open'} to {upper or 'open'}"
    return interval if value is None else f"{value}, {interval}"


def _write_limits(figures: Mapping[str, Any]) -> str | None:
    least, highest = (_format_number(figures.get(name)) for name in ("lower_limit", "upper_limit"))
    if least is None or highest is None:
        return f"at least {least}" if least is not None else highest and f"at most {highest}"
    return f"{least} to {highest}"


def _write_records(figures: Mapping[str, Any]) -> str | None:
    monitored, reference = figures.get("n_monitored"), figures.get("n_reference")
    if monitored is None or reference is None:
        return None if figures.get("n") is None else f"{figures['n']:,} records"
    return f"{monitored:,.0f} monitored and {reference:,.0f} reference records"


def _list_alert_facts(body: Mapping[str, Any], alert: Mapping[str, Any]) -> list[tuple[str, str]]:
    # Of a resolved alert, the figures that show that it has passed.
    figures = {**alert["facts"], **(alert["facts"].get("recovery") or {})}
    side = figures.get("disadvantaged")
    group = figures.get("display_disadvantaged_group") or figures.get("disadvantaged_group")
    if group is not None and figures.get("scope") != "worst_pair":
        side = f"{group} ({side})"

    change = alert["change"] or {}
    reason = alert["closing_reason"]
    reason = "" if reason is None else f" ({str(reason).replace('_', ' ')})"
    label, name = alert["group"], alert["group_name"]
    named = [
        ("Deployment", _name_deployment(body)),
        ("Rule", f"{alert['rule_name']} ({alert['rule_id']})"),
        ("Attribute", alert["attribute"]),
        ("Group", label if name == label else f"{name} ({label})"),
        ("Metric", alert["metric"] and f"{alert['metric']}, {alert['data'].replace('_', ' ')}"),
        ("Value", _write_value(figures)),
        ("Limits", _write_limits(figures)),
        ("Records", _write_records(figures)),
        ("Since", figures.get("started") or figures.get("since")),
        ("Counted", figures.get("counted")),
        ("Verdict", VERDICT_WORDS.get(figures.get("verdict")) if figures.get("verdict") else None),
        ("At a disadvantage", side),
        ("Figures", alert["figures"] if alert["figures"] > 1 else None),
        ("Check", figures.get("check_id")),
        ("Checks in a row", figures.get("checks_in_a_row")),
        ("Opened", alert["opened_at"]),
        ("Last seen", alert["last_seen_at"]),
        (
            "Acknowledged",
            alert["acknowledged_by"] and f"by {alert['acknowledged_by']} at {alert['acknowledged_at']}",
        ),
        ("Note", alert["note"]),
        ("Assigned to", alert["assignee"] or "nobody"),
        (
            "Resolved",
            alert["resolved_at"] and f"{alert['resolved_at']}, {str(alert['resolution']).replace('_', ' ')}",
        ),
        (
            "Closed",
            alert["closed_by"] and f"by {alert['closed_by']}{reason}: {alert['closing_note']}",
        ),
        (
            "Why it changed",
            None
            if body["event"] == "explained"
            else change.get("display_sentence") or change.get("sentence"),
        ),
        ("Page", alert["path"]),
    ]
    longer = ("Counted", "Why it changed")
    return [
        (name, _write_line(str(value), _MAX_SENTENCE_CHARACTERS if name in longer else _MAX_VALUE_CHARACTERS))
        for name, value in named
        if value is not None
    ]


def _list_report_facts(report: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if report is None:
        return []
    named = [
        ("Deployment", f"{report['deployment_name']} ({report['deployment_id']})"),
        ("Schedule", report["schedule_id"] and f"{report['schedule_name']} ({report['schedule_id']})"),
        ("Sent by", report.get("sent_by")),
        ("Start", report["start"]),
        ("End", report["end"]),
        ("Report", report["id"]),
        ("Seal", report["seal"]),
        ("Chain", report["chain_head"]),
        ("Page", report["path"]),
    ]
    return [
        (name, _write_line(str(value), _MAX_VALUE_CHARACTERS)) for name, value in named if value is not None
    ]


def _format_number(value: object) -> str | None:
    # With fewer digits, a value just outside a limit would read as the limit.
    return write_minus(f"{value:.6g}") if isinstance(value, int | float) else None


def _write_line(text: str, limit: int) -> str:
    line = _UNPRINTABLE.sub(" ", text).strip()
    # After the cut, so that no isolate is left open.
    return isolate(line if len(line) <= limit else f"{line[: limit - 1]}…")
