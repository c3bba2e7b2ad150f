"""Where alerts are told, and what a channel may be."""

import base64
import binascii
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from app.domain.texts import character_problem, name_problem
from app.errors import FieldProblem

SECRET_PREFIX = "whsec_"  # noqa: S105 - the form of a signing secret, none itself
"""What a signing secret begins with, by Standard Webhooks; base64 of its bytes follows."""

MIN_SECRET_BYTES = 24
MAX_SECRET_BYTES = 64
MAX_URL = 2000
MAX_RECIPIENTS = 20
MAX_ADDRESS = 254

# The form that browsers check. It has no room for line breaks, so an address cannot become a second header.
_MAIL_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


class ChannelKind(StrEnum):
    """How a channel is spoken to."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    EMAIL = "email"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelContent:
    """What a person says of a channel. `secret` signs what a webhook is sent; a Slack-compatible webhook's `url` is a secret, too."""

    name: str
    kind: ChannelKind
    url: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A stored channel. `url` is a webhook's, `host` a webhook's or Slack's, `to` of e-mail.

    `sealed` is encrypted: what a webhook is signed with, or the whole URL of Slack.
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
    """What is wrong with a channel, but for the host of its URL; a channel that is there already may leave its secrets out."""
    found = [("name", name_problem(content.name))]
    if content.kind is ChannelKind.EMAIL:
        found += [("url", _unused(content.url, "e-mail")), ("secret", _unused(content.secret, "e-mail")), *_recipient_problems(content.to)]
    else:
        found += [("url", _url_problem(content, is_new=is_new)), ("to", "is for e-mail only" if content.to else None)]
    if content.kind is ChannelKind.SLACK:
        found.append(("secret", _unused(content.secret, "slack, whose URL is the secret")))
    if content.kind is ChannelKind.WEBHOOK and content.secret is not None:
        found.append(("secret", _secret_problem(content.secret)))
    return [FieldProblem(name, message) for name, message in found if message is not None]


def secret_bytes(secret: str) -> bytes:
    """The key that a well-formed signing secret stands for."""
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX))


def is_mail_address(text: str) -> bool:
    """Whether the text is an e-mail address and nothing besides: no display name, no line break."""
    return len(text) <= MAX_ADDRESS and _MAIL_ADDRESS.fullmatch(text) is not None


def _unused(value: str | None, kind: str) -> str | None:
    return f"is not used by {kind}" if value is not None else None


def _url_problem(content: ChannelContent, *, is_new: bool) -> str | None:
    if content.url is None:
        # The URL of a Slack channel cannot be read back, so a change of its name must not need it.
        return "is required" if is_new or content.kind is ChannelKind.WEBHOOK else None
    if len(content.url) > MAX_URL:
        return f"must have at most {MAX_URL} characters"
    return character_problem(content.url)


def _secret_problem(secret: str) -> str | None:
    expected = (
        f"must be {SECRET_PREFIX} and the base64 of {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} random bytes, or left out to have one made"
    )
    if not secret.startswith(SECRET_PREFIX):
        return expected
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return expected
    return None if MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES else expected


def _recipient_problems(to: tuple[str, ...]) -> list[tuple[str, str | None]]:
    if not to:
        return [("to", "must name at least one address")]
    if len(to) > MAX_RECIPIENTS:
        return [("to", f"must name at most {MAX_RECIPIENTS} addresses, found {len(to)}; use a mailing list")]
    if len({address.lower() for address in to}) < len(to):
        return [("to", "names an address twice")]
    return [(f"to[{no}]", _address_problem(address)) for no, address in enumerate(to)]


def _address_problem(address: str) -> str | None:
    if not is_mail_address(address):
        return "must be an e-mail address such as risk@example.com, in ASCII and without a display name"
    return None
