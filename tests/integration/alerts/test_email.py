"""E-mail to a real SMTP server on loopback, with and without TLS and authentication."""

import base64
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword
from cryptography import x509
from syrupy.assertion import SnapshotAssertion

from app.alerts.channels import email
from app.alerts.channels.channel import ChannelContent, ChannelKind
from app.alerts.channels.email import read_mail_server, send_mail, write_alert_mail
from app.alerts.channels.notification import Delivered, NotificationState, Undelivered, build_alert_message
from app.base.settings import Settings
from app.database.binary_rows import plain_json
from app.database.engine import Database
from app.domain.alert import Event
from tests.builders.alerts import alert_of
from tests.builders.mail_servers import Inbox, mail_server
from tests.builders.page_words import says
from tests.integration.alerts.telling import add_alert, add_channels, notifying, sender, sent_to, tell
from tests.models.certificates import write_certificate
from tests.progress import wait_until

SENDER = "evenhand@example.com"
TO = ("risk@example.com", "audit@example.com")
USER, PASSWORD = "alerts", "hush-hush-42"
PAIR = "AGFsZXJ0cwBodXNoLWh1c2gtNDI="
"""User and password as they go on the wire."""


def checked(_server: object, _session: object, _envelope: Envelope, _mechanism: str, sent: object) -> AuthResult:
    return AuthResult(success=isinstance(sent, LoginPassword) and sent == LoginPassword(USER.encode(), PASSWORD.encode()), handled=False)


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """The server's side of TLS, with a certificate that the client has been told to trust."""
    path = write_certificate(tmp_path / "mail.pem", "mail", x509.IPAddress(ip_address("127.0.0.1")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    email.tls_context.cache_clear()
    yield context
    email.tls_context.cache_clear()


def delivered(url: str) -> Delivered | Undelivered:
    server = read_mail_server(Settings(smtp_url=url, smtp_sender=SENDER))  # type: ignore[arg-type]
    assert server is not None
    body = plain_json(build_alert_message(Event.OPENED, [alert_of()], now=datetime.now(UTC)))
    return send_mail(write_alert_mail(body, sender=SENDER, to=TO), server)


def test_an_alert_arrives_at_every_address(database: Database, snapshot: SnapshotAssertion) -> None:
    inbox = Inbox()
    with mail_server(inbox) as place:
        (channel,) = add_channels(database, ChannelContent(name="Risk", kind=ChannelKind.EMAIL, to=TO))
        tell(database, add_alert(database), Event.OPENED, Event.RESOLVED)
        with notifying(database, sender(smtp_url=f"smtp://{place}", smtp_sender=SENDER).send):
            wait_until(lambda: {sent.state for sent in sent_to(database, channel)} == {NotificationState.SENT})

    texts = [mail["Subject"] for mail in inbox.mails]
    assert says(texts[0], "Alert", "female")
    assert says(texts[1], "Resolved", "female")
    assert texts == snapshot
    assert [mail["Message-ID"] for mail in inbox.mails] == [f"<{sent.id}@example.com>" for sent in sent_to(database, channel)]
    assert {tuple(envelope.rcpt_tos) for envelope in inbox.envelopes} == {TO}


def test_a_worker_without_a_mail_server_says_so_and_keeps_the_notification(database: Database) -> None:
    (channel,) = add_channels(database, ChannelContent(name="Risk", kind=ChannelKind.EMAIL, to=TO))
    tell(database, add_alert(database), Event.OPENED)
    with notifying(database):
        wait_until(lambda: sent_to(database, channel)[0].last_error is not None)

    (kept,) = sent_to(database, channel)
    assert kept.state is NotificationState.WAITING
    assert "EVENHAND_SMTP_URL" in str(kept.last_error)


def test_starttls_is_used_where_it_is_offered_and_the_password_goes_only_under_it(tls: ssl.SSLContext) -> None:
    inbox = Inbox()
    with mail_server(inbox, tls_context=tls, require_starttls=True, authenticator=checked, auth_required=True) as place:
        outcome = delivered(f"smtp://{USER}:{PASSWORD}@{place}")

    assert outcome == Delivered()
    assert len(inbox.mails) == 1


def test_smtps_is_under_tls_from_the_first_byte(tls: ssl.SSLContext) -> None:
    inbox = Inbox()
    with mail_server(inbox, ssl_context=tls, auth_require_tls=False, authenticator=checked) as place:
        outcome = delivered(f"smtps://{USER}:{PASSWORD}@{place}")

    assert outcome == Delivered()
    assert len(inbox.mails) == 1


def test_a_refused_password_is_told_without_being_repeated(tls: ssl.SSLContext, snapshot: SnapshotAssertion) -> None:
    def echoing(*_arguments: object) -> AuthResult:
        return AuthResult(success=False, handled=False, message=f"535 no: wrong-one {PAIR}")

    inbox = Inbox()
    with mail_server(inbox, tls_context=tls, authenticator=echoing, auth_required=True) as place:
        outcome = delivered(f"smtp://{USER}:wrong-one@{place}")

    assert isinstance(outcome, Undelivered)
    assert says(outcome.reason, "535")
    assert outcome.reason == snapshot
    assert "wrong-one" not in outcome.reason
    assert not outcome.is_refused
    assert inbox.mails == []


def test_a_password_is_not_sent_to_a_server_without_tls() -> None:
    inbox = Inbox()
    with mail_server(inbox, auth_require_tls=False, authenticator=checked) as place:
        outcome = delivered(f"smtp://{USER}:{PASSWORD}@{place}")

    assert isinstance(outcome, Undelivered)
    assert "offers no TLS" in outcome.reason
    assert inbox.mails == []


def test_an_untrusted_certificate_ends_the_attempt(tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    email.tls_context.cache_clear()
    inbox = Inbox()
    with mail_server(inbox, tls_context=tls) as place:
        outcome = delivered(f"smtp://{place}")

    assert isinstance(outcome, Undelivered)
    assert "certificate that is not trusted" in outcome.reason
    assert inbox.mails == []


def test_one_refused_address_does_not_keep_the_mail_from_the_others() -> None:
    inbox = Inbox()
    inbox.refused = {TO[0]: "550 no such person"}
    with mail_server(inbox) as place:
        outcome = delivered(f"smtp://{place}")

    assert outcome == Delivered("The mail server refused 1 of the addresses: 550 no such person.")
    assert inbox.envelopes[0].rcpt_tos == [TO[1]]


def test_a_mail_that_every_address_refused_is_tried_again_in_its_place(snapshot: SnapshotAssertion) -> None:
    inbox = Inbox()
    inbox.refused = dict.fromkeys(TO, "450 mailbox busy")
    with mail_server(inbox) as place:
        outcome = delivered(f"smtp://{place}")

    assert isinstance(outcome, Undelivered)
    assert says(outcome.reason, str(place), "450")
    assert outcome.reason == snapshot
    assert not outcome.is_refused


def test_a_mail_whose_content_is_refused_for_good_lets_others_pass() -> None:
    inbox = Inbox()
    inbox.answer = "554 looks like spam"
    with mail_server(inbox) as place:
        outcome = delivered(f"smtp://{place}")

    assert isinstance(outcome, Undelivered)
    assert outcome.is_refused


def test_a_server_that_is_not_there_or_says_nothing_ends_the_attempt_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(email, "TIMEOUT_SECONDS", 0.3)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        mute = delivered(f"smtp://127.0.0.1:{port}")
    gone = delivered(f"smtp://127.0.0.1:{port}")

    assert mute == Undelivered(reason=f"The mail server 127.0.0.1:{port} did not answer within 0.3 seconds.")
    assert gone == Undelivered(reason=f"The mail server 127.0.0.1:{port} could not be reached: Connection refused.")


def test_a_server_that_goes_silent_in_the_conversation_ends_the_attempt_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(email, "TIMEOUT_SECONDS", 0.3)

    def greet(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"220 hello\r\n")
            done.wait()

    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, args=(listener,))
        thread.start()
        outcome = delivered(f"smtp://127.0.0.1:{listener.getsockname()[1]}")
        done.set()
        thread.join()

    assert isinstance(outcome, Undelivered)
    assert "did not answer within 0.3 seconds" in outcome.reason


SECONDS = 0.4
"""Time of a conversation with a server that never ends its answer."""

HELLO, OK, GO = b"220 hello\r\n", b"250 ok\r\n", b"354 go\r\n"
UNTIL_DATA = (HELLO, b"250-liar\r\n250 SIZE 1\r\n", OK, OK, OK, GO)

LIES = {
    "endless-greeting": [b"220-more\r\n" * 20_000],
    "endless-line": [HELLO, b"x" * 200_000],
    "endless-extensions": [HELLO, b"250-more\r\n" * 20_000],
    "endless-end": [*UNTIL_DATA, b"250-more\r\n" * 20_000],
    "half": [HELLO, b"250-half"],
    "nothing": [],
    "no-number": [HELLO, b"\xff\x00\r\n"],
    "no-mail": [b"HTTP/1.1 400 Bad Request\r\n\r\n"],
    "no-end": list(UNTIL_DATA),
    "no-tls": [HELLO, b"250-liar\r\n250 STARTTLS\r\n", b"220 go\r\n", b"no TLS at all\r\n"],
}
"""Answers to a client, the first before it says anything; the server then leaves."""

DRIPS = {"greeting": [], "extensions": [HELLO], "end": list(UNTIL_DATA)}
"""Answers before one that never ends, a byte at a time."""


@contextmanager
def lying(answers: list[bytes], *, drips: bool = False, context: ssl.SSLContext | None = None) -> Iterator[str]:
    left = threading.Event()

    def converse() -> None:
        with suppress(OSError), ExitStack() as open_until_here:
            connection = open_until_here.enter_context(listener.accept()[0])
            if context is not None:
                connection = open_until_here.enter_context(context.wrap_socket(connection, server_side=True))
            for no, answer in enumerate(answers):
                if no:
                    connection.recv(1 << 20)
                connection.sendall(answer)
            while drips and not left.wait(SECONDS / 10):
                connection.sendall(b"2")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=converse)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        left.set()
        thread.join()


@pytest.mark.parametrize("lie", LIES)
def test_whatever_a_mail_server_answers_the_attempt_fails_in_words(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of these ends by what the server does, however slow the machine is.
    monkeypatch.setattr(email, "TIMEOUT_SECONDS", 1e6)
    tracemalloc.start()
    try:
        with lying(LIES[lie]) as place:
            outcome = delivered(f"smtp://{place}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert isinstance(outcome, Undelivered)
    assert outcome.reason.startswith(f"The mail server {place} ")
    assert len(outcome.reason) < 300
    assert outcome.reason.isprintable()
    assert ("more than 65,536 bytes" in outcome.reason) == (lie.startswith("endless") and lie != "endless-line"), outcome.reason
    assert not outcome.is_refused
    assert peak < 5_000_000


@pytest.mark.parametrize("lie", DRIPS)
def test_an_answer_that_drips_ends_with_the_time_of_the_conversation(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(email, "TIMEOUT_SECONDS", SECONDS)
    with lying(DRIPS[lie], drips=True) as place:
        outcome = delivered(f"smtp://{place}")

    assert outcome == Undelivered(reason=f"The mail server {place} did not answer within {SECONDS:g} seconds.")


CHALLENGES = {
    "no-base64": b"334 a\r\n",
    "no-text": b"334 \xff\xff=\xff\r\n",
    "plain": b"535 no: " + base64.b64encode(f"\0{USER}\0{PASSWORD}".encode()) + b"\r\n",
    "late": b"535 " + b"x" * 190 + PASSWORD.encode() + b"\r\n",
}


@pytest.mark.parametrize("mechanism", ["CRAM-MD5", "PLAIN", "LOGIN"])
@pytest.mark.parametrize("lie", CHALLENGES)
def test_a_challenge_of_nonsense_fails_the_attempt_and_no_form_of_the_password_is_shown(
    lie: str, mechanism: str, tls: ssl.SSLContext
) -> None:
    extensions = f"250-liar\r\n250 AUTH {mechanism}\r\n".encode()
    with lying([HELLO, extensions, *[CHALLENGES[lie]] * 9], context=tls) as place:
        outcome = delivered(f"smtps://{USER}:{PASSWORD}@{place}")

    assert isinstance(outcome, Undelivered)
    assert PASSWORD[:6] not in outcome.reason
    assert base64.b64encode(f"\0{USER}\0{PASSWORD}".encode()).decode() not in outcome.reason


def test_a_refused_address_shows_no_password(tls: ssl.SSLContext) -> None:
    answers = [HELLO, b"250-liar\r\n250 AUTH PLAIN\r\n", b"235 ok\r\n", OK, b"550 " + PASSWORD.encode() + b"\r\n", OK, GO, OK, OK]
    with lying(answers, context=tls) as place:
        outcome = delivered(f"smtps://{USER}:{PASSWORD}@{place}")

    assert outcome == Delivered("The mail server refused 1 of the addresses: 550 [redacted].")
