"""Words of a notification, independent of the channel's form.

`body` is that of a webhook message, as `channels/notification.py` builds it.
"""

import re
from collections.abc import Iterable, Mapping
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
_SHORT_FACTS = ("Metric", "Value", "Limits", "Records", "Since", "Assigned to", "Note", "Resolved", "Page")
"""Facts of one alert in a message about several."""

_LONG_FACTS = ("Counted", "Why it changed")
_MAX_HEADLINE_CHARACTERS = 150
_MAX_VALUE_CHARACTERS = 300
_MAX_SENTENCE_CHARACTERS = 1000
_UNSAFE_RUN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Blanks and control characters, also those that reverse the direction of text: a name could change the
meaning of a sentence.
"""


def write_headline(body: Mapping[str, Any]) -> str:
    alerts = body["alerts"]
    if not alerts:
        return _write_report_headline(body.get("report"))
    title = f"{_EVENT_TITLES[body['event']]}: {body['deployment_name']}"
    if body["count"] > 1:
        return _write_line(f"{title}: {body['count']:,} alerts", _MAX_HEADLINE_CHARACTERS)
    (alert,) = alerts
    subject = " / ".join(str(name) for name in (alert["attribute"], alert["group_name"]) if name is not None)
    title = f"{title}: {alert['rule_name']}"
    return _write_line(f"{title}: {subject}" if subject else title, _MAX_HEADLINE_CHARACTERS)


def _write_report_headline(report: Mapping[str, Any] | None) -> str:
    if report is None:
        return "Test of an alert channel"
    title = "Report" if report["state"] == "ready" else "Report failed"
    names = (title, report["deployment_name"], report["schedule_name"])
    return _write_line(": ".join(filter(None, names)), _MAX_HEADLINE_CHARACTERS)


def write_sentence(body: Mapping[str, Any]) -> str:
    return _write_line(body.get("display_sentence") or body["sentence"], _MAX_SENTENCE_CHARACTERS)


def list_facts(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    report = body.get("report")
    if body["count"] > 1:
        facts = _list_facts_of_several(body)
    elif body["alerts"]:
        facts = list(_cut_facts(_list_alert_facts(body, body["alerts"][0])).items())
    else:
        facts = [] if report is None else list(_cut_facts(_list_report_facts(report)).items())
    return [(isolate(name), isolate(text)) for name, text in facts]


def _list_facts_of_several(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("Deployment", _name_deployment(body))]
    for alert in body["alerts"]:
        alert_facts = _cut_facts(_list_alert_facts(body, alert))
        text = "; ".join(
            f"{name.lower()}: {alert_facts[name]}" for name in _SHORT_FACTS if name in alert_facts
        )
        has_group = alert["group"] is not None
        name = f"{alert['group_name']} ({alert['attribute']})" if has_group else alert["rule_name"]
        facts.append((name, text))
    facts.append(("Page", body["path"]))
    return [
        (_cut_line(name, _MAX_HEADLINE_CHARACTERS), _cut_line(text, _MAX_SENTENCE_CHARACTERS))
        for name, text in facts
    ]


def _name_deployment(body_or_report: Mapping[str, Any]) -> str:
    return f"{body_or_report['deployment_name']} ({body_or_report['deployment_id']})"


def _list_alert_facts(body: Mapping[str, Any], alert: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Names and values of one alert; the value of an absent fact is None."""
    # The figures of a recovery replace those of the alert.
    figures = {**alert["facts"], **(alert["facts"].get("recovery") or {})}
    metric = None
    if alert["metric"] is not None:
        metric = f"{alert['metric']}, {alert['data'].replace('_', ' ')}"
    verdict = figures.get("verdict")
    label, name = alert["group"], alert["group_name"]
    change = {} if body["event"] == "explained" else alert["change"] or {}
    return [
        ("Deployment", _name_deployment(body)),
        ("Rule", f"{alert['rule_name']} ({alert['rule_id']})"),
        ("Attribute", alert["attribute"]),
        ("Group", label if name == label else f"{name} ({label})"),
        ("Metric", metric),
        ("Value", _write_value(figures)),
        ("Limits", _write_limits(figures)),
        ("Records", _write_records(figures)),
        ("Since", figures.get("started") or figures.get("since")),
        ("Counted", figures.get("counted")),
        ("Verdict", None if verdict is None else VERDICT_WORDS.get(verdict)),
        ("At a disadvantage", _write_disadvantaged(figures)),
        ("Figures", alert["figures"] if alert["figures"] > 1 else None),
        ("Check", figures.get("check_id")),
        ("Checks in a row", figures.get("checks_in_a_row")),
        ("Opened", alert["opened_at"]),
        ("Last seen", alert["last_seen_at"]),
        *_list_work_facts(alert),
        ("Why it changed", change.get("display_sentence") or change.get("sentence")),
        ("Page", alert["path"]),
    ]


def _write_value(figures: Mapping[str, Any]) -> str | None:
    value, lower, upper = (_format_number(figures.get(name)) for name in ("value", "lower", "upper"))
    if lower is None and upper is None:
        return value
    interval = f"interval {lower or 'open'} to {upper or 'open'}"
    return interval if value is None else f"{value}, {interval}"


def _write_limits(figures: Mapping[str, Any]) -> str | None:
    lower, upper = (_format_number(figures.get(name)) for name in ("lower_limit", "upper_limit"))
    if lower is not None and upper is not None:
        return f"{lower} to {upper}"
    if lower is not None:
        return f"at least {lower}"
    return None if upper is None else f"at most {upper}"


def _format_number(value: object) -> str | None:
    # With fewer digits, a value just outside a limit would read as the limit.
    return write_minus(f"{value:.6g}") if isinstance(value, int | float) else None


def _write_records(figures: Mapping[str, Any]) -> str | None:
    monitored, reference = figures.get("n_monitored"), figures.get("n_reference")
    if monitored is None or reference is None:
        return None if figures.get("n") is None else f"{figures['n']:,} records"
    return f"{monitored:,.0f} monitored and {reference:,.0f} reference records"


def _write_disadvantaged(figures: Mapping[str, Any]) -> str | None:
    side: str | None = figures.get("disadvantaged")
    group: str | None = figures.get("display_disadvantaged_group") or figures.get("disadvantaged_group")
    if group is None or figures.get("scope") == "worst_pair":
        return side
    return group if side is None else f"{group} ({side})"


def _list_work_facts(alert: Mapping[str, Any]) -> list[tuple[str, object]]:
    acknowledged = resolved = closed = None
    if alert["acknowledged_by"] is not None:
        acknowledged = f"by {alert['acknowledged_by']} at {alert['acknowledged_at']}"
    if alert["resolved_at"] is not None:
        resolved = f"{alert['resolved_at']}, {str(alert['resolution']).replace('_', ' ')}"
    if alert["closed_by"] is not None:
        reason = alert["closing_reason"]
        reason_words = "" if reason is None else f" ({str(reason).replace('_', ' ')})"
        closed = f"by {alert['closed_by']}{reason_words}: {alert['closing_note']}"
    return [
        ("Acknowledged", acknowledged),
        ("Note", alert["note"]),
        ("Assigned to", alert["assignee"] or "nobody"),
        ("Resolved", resolved),
        ("Closed", closed),
    ]


def _list_report_facts(report: Mapping[str, Any]) -> list[tuple[str, object]]:
    schedule = None
    if report["schedule_id"] is not None:
        schedule = f"{report['schedule_name']} ({report['schedule_id']})"
    return [
        ("Deployment", _name_deployment(report)),
        ("Schedule", schedule),
        ("Sent by", report.get("sent_by")),
        ("Start", report["start"]),
        ("End", report["end"]),
        ("Report", report["id"]),
        ("Seal", report["seal"]),
        ("Chain", report["chain_head"]),
        ("Page", report["path"]),
    ]


def _cut_facts(facts: Iterable[tuple[str, object]]) -> dict[str, str]:
    limits = dict.fromkeys(_LONG_FACTS, _MAX_SENTENCE_CHARACTERS)
    return {
        name: _cut_line(str(value), limits.get(name, _MAX_VALUE_CHARACTERS))
        for name, value in facts
        if value is not None
    }


def _write_line(text: str, limit: int) -> str:
    # After the cut, so that no isolate is left open; never before, as the cut removes isolates.
    return isolate(_cut_line(text, limit))


def _cut_line(text: str, limit: int) -> str:
    line = _UNSAFE_RUN.sub(" ", text).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
