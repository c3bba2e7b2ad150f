"""Alert channels: kinds, fields and their rules."""

import base64
import re
import secrets
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from ...base.errors import FieldProblem
from ...base.frozen import frozen_by_name
from ...base.values import character_problem, name_problem

SECRET_PREFIX = "whsec_"  # noqa: S105 - the form of a signing secret, none itself
"""Prefix of a signing secret, by Standard Webhooks; base64 of its bytes follows."""

MIN_SECRET_BYTES = 24
MAX_SECRET_BYTES = 64
MAX_URL = 2000
MAX_RECIPIENTS = 20
MAX_ADDRESS = 254

# The form that browsers check. Without line breaks, an address cannot become a second header.
_MAIL_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


class ChannelKind(StrEnum):
    """The protocol of a channel."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    EMAIL = "email"


@frozen_by_name
class ChannelContent:
    """The content of a channel. `secret` signs messages to a webhook; a Slack-compatible webhook's `url`
    is a secret, too.
    """

    name: str
    kind: ChannelKind
    url: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    to: tuple[str, ...] = ()


@frozen_by_name
class Channel:
    """A stored channel. `url` is a webhook's, `host` a webhook's or Slack's, `to` of e-mail.

    `sealed` is encrypted: the key that signs messages, or the whole URL of Slack.
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
    """Returns the problems of a channel, except for its URL's host; a stored one may leave its secrets
    out.
    """
    findings = [("name", name_problem(content.name))]
    match content.kind:
        case ChannelKind.EMAIL:
            findings += [
                ("url", _refuse_unused(content.url, "e-mail")),
                ("secret", _refuse_unused(content.secret, "e-mail")),
            ]
            if not content.to:
                findings.append(("to", "must name at least one address"))
            elif len(content.to) > MAX_RECIPIENTS:
                findings.append(
                    (
                        "to",
                        (
                            f"must name at most {MAX_RECIPIENTS} addresses, found {len(content.to)}; use a "
                            "mailing list"
                        ),
                    )
                )
            # Mail servers ignore case in practice.
            elif len({address.lower() for address in content.to}) < len(content.to):
                findings.append(("to", "names an address twice"))
            else:
                message = (
                    "must be an e-mail address such as risk@example.com, in ASCII and without a display name"
                )
                findings += [
                    (f"to[{no}]", message)
                    for no, address in enumerate(content.to)
                    if not is_mail_address(address)
                ]
        case ChannelKind.SLACK:
            # The URL cannot be read back, so a change of the name must not need it.
            findings += [
                ("url", _check_url(content.url, is_needed=is_new)),
                ("to", "is for e-mail only" if content.to else None),
            ]
            findings.append(("secret", _refuse_unused(content.secret, "slack, whose URL is the secret")))
        case ChannelKind.WEBHOOK:
            findings += [
                ("url", _check_url(content.url, is_needed=True)),
                ("to", "is for e-mail only" if content.to else None),
            ]
            if content.secret is not None:
                try:
                    key = base64.b64decode(content.secret.removeprefix(SECRET_PREFIX), validate=True)
                except ValueError:
                    key = b""
                if (
                    not content.secret.startswith(SECRET_PREFIX)
                    or not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES
                ):
                    expected = (
                        f"must be {SECRET_PREFIX} and the base64 of {MIN_SECRET_BYTES} to "
                        f"{MAX_SECRET_BYTES} random bytes"
                    )
                    findings.append(("secret", f"{expected}, or left out to have one made"))
    return [FieldProblem(name, message) for name, message in findings if message is not None]


def with_secret(content: ChannelContent, before: Channel | None) -> ChannelContent:
    """Returns the content to store, with a new signing secret if a webhook needs one.

    A secret that is left out stays, but not if the webhook moves to another host, which did not have it.
    """
    if content.kind is not ChannelKind.WEBHOOK or content.secret is not None:
        return content
    if (
        before is not None
        and before.url is not None
        and content.url is not None
        and _origin(before.url) == _origin(content.url)
    ):
        return content
    return replace(
        content, secret=SECRET_PREFIX + base64.b64encode(secrets.token_bytes(MIN_SECRET_BYTES)).decode()
    )


def secret_bytes(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX))


def is_mail_address(text: str) -> bool:
    """Returns whether the text is an e-mail address and nothing else: no display name, no line break."""
    return len(text) <= MAX_ADDRESS and _MAIL_ADDRESS.fullmatch(text) is not None


def _origin(url: str) -> tuple[str, str]:
    split_url = urlsplit(url)
    return split_url.scheme.lower(), split_url.netloc.lower()


def _refuse_unused(value: str | None, kind: str) -> str | None:
    return f"is not used by {kind}" if value is not None else None


def _check_url(url: str | None, *, is_needed: bool) -> str | None:
    if url is None:
        return "is required" if is_needed else None
    return f"must have at most {MAX_URL} characters" if len(url) > MAX_URL else character_problem(url)
