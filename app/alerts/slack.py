"""Body of a Slack-compatible webhook: blocks for Slack, and text for receivers without blocks (Mattermost)."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from .wording import facts, headline, sentence

_FIELDS_PER_SECTION = 10
_MOST_TEXT = 2900
"""Max characters: Slack takes 3,000, escapes counted."""

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ACTIVE = re.compile(r"@(?=\w)|\](?=\()")
"""Mattermost turns these into mentions and links: @all, [text](address)."""

_ZERO_WIDTH_SPACE = "\u200b"


def slack_body(body: Mapping[str, Any]) -> bytes:
    said = [f"*{_escaped(headline(body))}*", _escaped(sentence(body))]
    lines = [(name, _escaped(value)) for name, value in facts(body)]
    fields = [_markdown(f"*{name}*\n{value}") for name, value in lines]
    blocks: list[dict[str, Any]] = [{"type": "section", "text": _markdown(text)} for text in said if text]
    blocks += [
        {"type": "section", "fields": fields[start : start + _FIELDS_PER_SECTION]} for start in range(0, len(fields), _FIELDS_PER_SECTION)
    ]
    text = "\n".join([*said, *(f"{name}: {value}" for name, value in lines)])
    return msgspec.json.encode({"text": text, "blocks": blocks})


def _markdown(text: str) -> dict[str, Any]:
    # Verbatim: an address or person in a group's name stays text.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _escaped(text: str) -> str:
    escaped = _ACTIVE.sub(lambda found: found.group() + _ZERO_WIDTH_SPACE, text).translate(_ESCAPES)
    # A cut escape would show as text.
    return escaped if len(escaped) <= _MOST_TEXT else re.sub(r"&\w*$", "", escaped[:_MOST_TEXT]) + "…"
