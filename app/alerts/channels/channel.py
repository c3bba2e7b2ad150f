"""Alert channels: kinds, a row each, and their rules."""

from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from ...base.errors import FieldProblem
from ...base.values import frozen_by_name, name_problem
from .email import Email
from .protocol import ChannelFields, ChannelProtocol
from .slack import Slack
from .webhook import Webhook


class ChannelKind(StrEnum):
    """The protocol of a channel."""

    WEBHOOK = "webhook", Webhook()
    SLACK = "slack", Slack()
    EMAIL = "email", Email()

    protocol: ChannelProtocol

    def __new__(cls, name: str, protocol: ChannelProtocol) -> Self:
        row = str.__new__(cls, name)
        row._value_ = name
        row.protocol = protocol
        return row


@frozen_by_name
class ChannelContent(ChannelFields):
    """The content of a channel."""

    kind: ChannelKind


@frozen_by_name
class Channel:
    """`url` is a webhook's, `host` a webhook's or Slack's, `to` of e-mail. `sealed` is encrypted: the key
    that signs messages, or the whole URL of Slack.
    """

    no: int
    id: str
    name: str
    kind: ChannelKind
    url: str | None
    host: str | None
    to: tuple[str, ...]
    sealed: bytes | None = field(repr=False)
    created_at: datetime
    updated_at: datetime


def content_problems(content: ChannelContent, *, is_new: bool) -> list[FieldProblem]:
    """A stored channel may leave its secrets out. Does not look at its URL's host."""
    problem = name_problem(content.name)
    problems = [] if problem is None else [FieldProblem("name", problem)]
    return [*problems, *content.kind.protocol.find_problems(content, is_new=is_new)]


def with_secret(content: ChannelContent, before: Channel | None) -> ChannelContent:
    """A new signing secret if a webhook needs one.

    A secret that is left out stays, but not if the webhook moves to another host, which did not have it.
    """
    secret = content.kind.protocol.make_secret()
    if secret is None or content.secret is not None:
        return content
    if (
        before is not None
        and before.url is not None
        and content.url is not None
        and _origin(before.url) == _origin(content.url)
    ):
        return content
    return replace(content, secret=secret)


def _origin(url: str) -> tuple[str, str]:
    split_url = urlsplit(url)
    return split_url.scheme.lower(), split_url.netloc.lower()
