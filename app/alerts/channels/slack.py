"""Slack, and any webhook that takes what Slack's takes."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from ..words import list_facts, write_headline, write_sentence
from .notification import Attempt, Delivered, Undelivered, post_json
from .protocol import ChannelProtocol

_FIELDS_PER_SECTION = 10
_MAX_TEXT_CHARACTERS = 2900
"""Slack takes 3,000, escapes counted."""

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LINK_START = re.compile(r"@(?=\w)|\](?=\()")

_ZERO_WIDTH_SPACE = "\u200b"


class Slack(ChannelProtocol):
    """The URL is a secret: who has it can write to the channel."""

    label = "Slack-compatible webhook"
    hint = "The URL of a Slack webhook is a secret: it is stored encrypted and not shown again."
    example: ClassVar[dict[str, Any]] = {
        "name": "Risk officers",
        "kind": "slack",
        "url": "https://hooks.example.com/services/of-your-own",
    }

    def send(self, attempt: Attempt) -> Delivered | Undelivered:
        return post_json(attempt.secret, write_slack_body(attempt.body), [], attempt.egress())


def write_slack_body(body: Mapping[str, Any]) -> bytes:
    texts = [f"*{_escape(write_headline(body))}*", _escape(write_sentence(body))]
    lines = [(name, _escape(value)) for name, value in list_facts(body)]
    fields = [_build_markdown(f"*{name}*\n{value}") for name, value in lines]
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": _build_markdown(text)} for text in texts if text
    ]
    blocks += [
        {"type": "section", "fields": fields[start : start + _FIELDS_PER_SECTION]}
        for start in range(0, len(fields), _FIELDS_PER_SECTION)
    ]
    text = "\n".join([*texts, *(f"{name}: {value}" for name, value in lines)])
    return msgspec.json.encode({"text": text, "blocks": blocks})


def _build_markdown(text: str) -> dict[str, Any]:
    # Verbatim: an address or person in a group's name stays text.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _escape(text: str) -> str:
    escaped = _LINK_START.sub(lambda match: match.group() + _ZERO_WIDTH_SPACE, text).translate(_ESCAPES)
    # A cut escape would show as text.
    return (
        escaped
        if len(escaped) <= _MAX_TEXT_CHARACTERS
        else re.sub(r"&\w*$", "", escaped[:_MAX_TEXT_CHARACTERS]) + "…"
    )
