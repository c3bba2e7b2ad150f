"""Plain-text e-mail, through the operator's mail server."""

import re
import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import field
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP as MAIL_POLICY
from email.utils import format_datetime
from functools import lru_cache
from io import BufferedReader, RawIOBase
from math import inf
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import httpx

from ...base.clock import monotonic_seconds
from ...base.errors import FieldProblem, SetupError
from ...base.settings import Settings
from ...base.values import frozen_by_name
from ...calls.credentials import redact
from ...domain.deployment import Credentials, CredentialsKind
from ..words import list_facts, write_headline, write_sentence
from .notification import Attempt, Delivered, Undelivered
from .protocol import ChannelFields, ChannelProtocol

TIMEOUT_SECONDS = 20.0

_MAX_TIMEOUT_PARTS = 5
"""Each address of the server gets at least a fifth of `TIMEOUT_SECONDS`."""

_MAX_ANSWER_BYTES = 1 << 16
_MIN_PERMANENT_CODE = 500
_MAX_REASON_CHARACTERS = 250
MAX_ATTACHED_BYTES = 10 * 2**20
"""Max bytes of a report in a mail; a larger one is on its page only."""

MAX_RECIPIENTS = 20
MAX_ADDRESS_CHARACTERS = 254

# The form that browsers check. Without line breaks, an address cannot become a second header.
_MAIL_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)

_PORTS = {"smtp": 587, "smtps": 465}


class Email(ChannelProtocol):
    label = "e-mail"
    example: ClassVar[dict[str, Any]] = {
        "name": "Risk officers by e-mail",
        "kind": "email",
        "to": ["risk@example.com"],
    }
    address_field = "to"
    sealed_field = None

    def find_problems(
        self,
        fields: ChannelFields,
        *,
        is_new: bool,  # noqa: ARG002 - of kinds with a URL
    ) -> Iterator[FieldProblem]:
        if fields.url is not None:
            yield FieldProblem("url", "is not used by e-mail")
        if fields.secret is not None:
            yield FieldProblem("secret", "is not used by e-mail")
        if not fields.to:
            yield FieldProblem("to", "must name at least one address")
        elif len(fields.to) > MAX_RECIPIENTS:
            yield FieldProblem(
                "to",
                f"must name at most {MAX_RECIPIENTS} addresses, found {len(fields.to)}; use a mailing list",
            )
        elif len({address.lower() for address in fields.to}) < len(fields.to):
            yield FieldProblem("to", "names an address twice")
        else:
            form = "must be an e-mail address such as risk@example.com, in ASCII and without a display name"
            for no, address in enumerate(fields.to):
                if not is_mail_address(address):
                    yield FieldProblem(f"to[{no}]", form)

    def find_setup_problem(self, settings: Settings) -> str | None:
        if read_mail_server(settings) is not None:
            return None
        return (
            "e-mail is not set up here: EVENHAND_SMTP_URL and EVENHAND_SMTP_SENDER, for service and workers"
        )

    def send(self, attempt: Attempt) -> Delivered | Undelivered:
        server = read_mail_server(attempt.settings)
        if server is None:
            return _NO_MAIL_SERVER
        mail = write_alert_mail(attempt.body, sender=server.sender, to=attempt.to)
        if attempt.attachment is not None and len(attempt.attachment) <= MAX_ATTACHED_BYTES:
            mail.add_attachment(
                attempt.attachment, maintype="application", subtype="pdf", filename="report.pdf"
            )
        return send_mail(mail, server)


_NO_MAIL_SERVER = Undelivered(
    reason="This worker has no mail server: set EVENHAND_SMTP_URL and EVENHAND_SMTP_SENDER where it runs."
)


def is_mail_address(text: str) -> bool:
    return len(text) <= MAX_ADDRESS_CHARACTERS and _MAIL_ADDRESS.fullmatch(text) is not None


@frozen_by_name
class MailServer:
    """The server that takes e-mail. `is_tls`: TLS from the first byte; otherwise STARTTLS where it is
    offered.
    """

    host: str
    port: int
    is_tls: bool
    user: str | None
    password: str | None = field(repr=False)
    sender: str


def read_mail_server(settings: Settings) -> MailServer | None:
    if settings.smtp_url is None or not settings.smtp_url.get_secret_value():
        return None
    try:
        url = urlsplit(settings.smtp_url.get_secret_value())
        host = url.hostname
        port = url.port
    except ValueError as error:
        raise _build_url_error() from error
    if url.scheme not in _PORTS or not host or url.path.strip("/") or url.query or url.fragment:
        raise _build_url_error()
    user, password = (unquote(text) if text else None for text in (url.username, url.password))
    if (user is None) != (password is None) or not f"{user}{password}".isascii():
        raise SetupError("EVENHAND_SMTP_URL must hold both a user and a password or neither, in ASCII.")
    if not is_mail_address(settings.smtp_sender):
        raise SetupError(
            "EVENHAND_SMTP_SENDER must be the e-mail address that alerts come from, such as "
            "evenhand@example.com."
        )
    return MailServer(
        host=host,
        port=port or _PORTS[url.scheme],
        is_tls=url.scheme == "smtps",
        user=user,
        password=password,
        sender=settings.smtp_sender,
    )


def write_alert_mail(body: Mapping[str, Any], *, sender: str, to: Sequence[str]) -> EmailMessage:
    """The Message-ID is the notification's; all e-mails of one alert are in one thread."""
    domain = sender.rpartition("@")[2]
    mail = EmailMessage(policy=MAIL_POLICY)
    mail["Subject"] = f"[Evenhand] {write_headline(body)}"
    mail["From"] = sender
    mail["To"] = ", ".join(to)
    mail["Date"] = format_datetime(datetime.fromisoformat(body["timestamp"]))
    mail["Message-ID"] = f"<{body['id']}@{domain}>"
    if body["count"] == 1:
        mail["References"] = f"<alert-{body['alerts'][0]['id']}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = [
        write_sentence(body),
        "",
        *(f"{name}: {value}" for name, value in list_facts(body)),
        "",
        f"Evenhand, notification {body['id']}",
        "",
    ]
    mail.set_content("\n".join(lines))
    return mail


def send_mail(mail: EmailMessage, server: MailServer) -> Delivered | Undelivered:
    try:
        # smtplib would ask name servers for this machine's name.
        name = server.sender.rpartition("@")[2]
        addresses = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
        seconds = seconds_to_connect(len(addresses))
        connection: _BoundedSmtp
        if server.is_tls:
            connection = _BoundedSmtps(server.host, server.port, name, timeout=seconds, context=tls_context())
        else:
            connection = _BoundedSmtp(server.host, server.port, name, timeout=seconds)
        with closing(connection):
            connection.ehlo_or_helo_if_needed()
            if not server.is_tls and connection.has_extn("starttls"):
                connection.starttls(context=tls_context())
            elif not server.is_tls and server.password is not None:
                raise smtplib.SMTPNotSupportedError("it offers no TLS, and the password is not sent in clear")
            if server.user is not None and server.password is not None:
                connection.login(server.user, server.password)
            refused = connection.send_message(mail)
            with suppress(OSError):  # the server has the mail
                connection.quit()
    except (OSError, ValueError) as error:  # a challenge may be no base64
        reason = _shorten(_describe_error(error), server)
        is_refused = isinstance(error, smtplib.SMTPDataError) and error.smtp_code >= _MIN_PERMANENT_CODE
        return Undelivered(
            reason=f"The mail server {server.host}:{server.port} {reason}.", is_refused=is_refused
        )
    if refused:
        code, reply = next(iter(refused.values()))
        reason = _shorten(_clean_reply(reply), server)
        return Delivered(f"The mail server refused {len(refused)} of the addresses: {code} {reason}.")
    return Delivered()


def seconds_to_connect(addresses: int) -> float:
    """For each address: smtplib tries one after the other."""
    return TIMEOUT_SECONDS / max(1, min(addresses, _MAX_TIMEOUT_PARTS))


class _BoundedReader(RawIOBase):
    """Raises OSError beyond `_MAX_ANSWER_BYTES`, TimeoutError at the end of the conversation."""

    def __init__(self, connection: "_BoundedSmtp") -> None:
        self._connection = connection
        self._bytes_left = _MAX_ANSWER_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer
        seconds = self._connection.ends_at - monotonic_seconds()
        if seconds <= 0:
            raise TimeoutError
        sock = self._connection.sock
        assert sock is not None  # noqa: S101 - smtplib reads only while it is connected
        sock.settimeout(seconds)
        size = sock.recv_into(buffer)
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise OSError(f"it answers more than {_MAX_ANSWER_BYTES:,} bytes")
        return size


class _BoundedSmtp(smtplib.SMTP):
    """From its first answer on, the server has `TIMEOUT_SECONDS` for the whole conversation: one that drips
    cannot hold it.
    """

    ends_at = inf

    def getreply(self) -> tuple[int, bytes]:
        self.ends_at = min(self.ends_at, monotonic_seconds() + TIMEOUT_SECONDS)
        if self.file is None:
            self.file = BufferedReader(_BoundedReader(self))
        return super().getreply()


class _BoundedSmtps(_BoundedSmtp, smtplib.SMTP_SSL):
    pass


def _describe_error(error: OSError | ValueError) -> str:
    match error:
        case smtplib.SMTPAuthenticationError():
            reason = f"refused the user or the password: {error.smtp_code} {_clean_reply(error.smtp_error)}"
        case smtplib.SMTPRecipientsRefused():
            code, reply = next(iter(error.recipients.values()))
            reason = f"refused every address: {code} {_clean_reply(reply)}"
        case smtplib.SMTPResponseException():
            reason = f"answered {error.smtp_code} {_clean_reply(error.smtp_error)}"
        case smtplib.SMTPServerDisconnected() if isinstance(error.__context__, TimeoutError):
            reason = f"did not answer within {TIMEOUT_SECONDS:g} seconds"
        case ssl.SSLCertVerificationError():
            reason = f"has a certificate that is not trusted: {error.verify_message}"
        case smtplib.SMTPException() | ValueError():
            reason = f"cannot be used: {_clean_reply(str(error))}"
        case TimeoutError():
            reason = f"did not answer within {TIMEOUT_SECONDS:g} seconds"
        case _:
            reason = f"could not be reached: {error.strerror or error}"
    return reason


def _clean_reply(reply: bytes | str) -> str:
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else reply
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _shorten(text: str, server: MailServer) -> str:
    # First the password is removed: a cut through it would leave half of it, which nobody recognises.
    credentials = Credentials(
        kind=CredentialsKind.BASIC, name=server.user or "", secret=server.password or ""
    )
    return redact(text, credentials)[:_MAX_REASON_CHARACTERS].rstrip(".")


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    # The same authorities as for model endpoints, SSL_CERT_FILE included.
    return httpx.create_ssl_context(trust_env=True)


def _build_url_error() -> SetupError:
    # Without the address: it holds a password.
    return SetupError(
        "EVENHAND_SMTP_URL cannot be read: write it as smtp://user:password@host:587 or "
        "smtps://user:password@host:465; special characters of the password must be percent-encoded."
    )
