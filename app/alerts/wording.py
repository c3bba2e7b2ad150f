"""A notification's body as people read it: one headline, one sentence, and facts. Knows no channel's form."""

import re
from collections.abc import Mapping
from typing import Any

from app.views.headlines import VERDICT_WORDS

_HAPPENED = {
    "opened": "Alert",
    "reminded": "Reminder",
    "acknowledged": "Acknowledged",
    "resolved": "Resolved",
}
_MOST_HEADLINE = 150
_MOST_VALUE = 300
_MOST_SENTENCE = 1000
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Also what turns the direction of the text behind it around: a name could make another sentence of ours."""


def headline(body: Mapping[str, Any]) -> str:
    """What has happened to what, in one line."""
    about = body["alert"]
    if about is None:
        return "Test of an alert channel"
    named = " / ".join(str(about[part]) for part in ("attribute", "group") if about[part] is not None)
    what = f"{_HAPPENED[body['event']]}: {about['deployment_name']}: {about['rule_name']}"
    return _line(f"{what}: {named}" if named else what, _MOST_HEADLINE)


def sentence(body: Mapping[str, Any]) -> str:
    """What is the matter."""
    return _line(body["sentence"], _MOST_SENTENCE)


def facts(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What it can be traced by, as names and values; what is not known of it is left out."""
    about = body["alert"]
    if about is None:
        return []
    # Of a resolved alert, the figures that belong to the sentence are those that show that it has passed.
    found: Mapping[str, Any] = {**about["facts"], **(about["facts"].get("recovery") or {})}
    named = [
        ("Deployment", f"{about['deployment_name']} ({about['deployment_id']})"),
        ("Rule", f"{about['rule_name']} ({about['rule_id']})"),
        ("Attribute", about["attribute"]),
        ("Group", about["group"]),
        ("Metric", about["metric"] and f"{about['metric']} on {about['data']} data"),
        ("Value", _value(found)),
        ("Limits", _limits(found)),
        ("Records", found.get("n")),
        ("Verdict", VERDICT_WORDS.get(found.get("verdict")) if found.get("verdict") else None),
        ("At a disadvantage", _disadvantaged(found)),
        ("Check", found.get("check_id")),
        ("Checks in a row", found.get("checks_in_a_row")),
        ("Opened", about["opened_at"]),
        ("Last seen", about["last_seen_at"]),
        ("Acknowledged", about["acknowledged_by"] and f"by {about['acknowledged_by']} at {about['acknowledged_at']}"),
        ("Note", about["note"]),
        ("Resolved", about["resolved_at"] and f"{about['resolved_at']}, {str(about['resolution']).replace('_', ' ')}"),
        ("Page", about["path"]),
    ]
    return [(name, _line(str(value), _MOST_VALUE)) for name, value in named if value is not None]


def _value(found: Mapping[str, Any]) -> str | None:
    value = _number(found.get("value"))
    lower, upper = _number(found.get("lower")), _number(found.get("upper"))
    if value is None or (lower is None and upper is None):
        return value
    return f"{value}, interval {lower or 'open'} to {upper or 'open'}"


def _disadvantaged(found: Mapping[str, Any]) -> str | None:
    role, group = found.get("disadvantaged"), found.get("disadvantaged_group")
    return role if group is None or found.get("scope") == "worst_pair" else f"{group} ({role})"


def _limits(found: Mapping[str, Any]) -> str | None:
    lower, upper = _number(found.get("lower_limit")), _number(found.get("upper_limit"))
    if lower is None and upper is None:
        return None
    if lower is None or upper is None:
        return f"at most {upper}" if lower is None else f"at least {lower}"
    return f"{lower} to {upper}"


def _number(value: object) -> str | None:
    # With fewer digits, a value just outside a limit would be told as the limit itself.
    return f"{value:.6g}" if isinstance(value, int | float) else None


def _line(text: str, most: int) -> str:
    """The text on one line and not longer than that: names and groups come from people and from data."""
    line = _UNPRINTABLE.sub(" ", text).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"
