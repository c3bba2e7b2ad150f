"""Mail servers that lie: whatever they answer, an attempt ends in time, holds little memory, and says why in words."""

import base64
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from app.alerts import email
from app.alerts.attempts import Delivered, Undelivered
from app.clock import monotonic_seconds
from tests.integration.alerts.test_email import PASSWORD, USER, delivered, tls

__all__ = ["tls"]

SECONDS = 0.4
"""Time of a conversation here."""

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


@pytest.fixture(autouse=True)
def _little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(email, "TIMEOUT_SECONDS", SECONDS)


@pytest.mark.parametrize("lie", LIES)
def test_whatever_a_mail_server_answers_the_attempt_fails_in_words(lie: str) -> None:
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
def test_an_answer_that_drips_ends_with_the_time_of_the_conversation(lie: str) -> None:
    with lying(DRIPS[lie], drips=True) as place:
        begins_at = monotonic_seconds()
        outcome = delivered(f"smtp://{place}")
        seconds = monotonic_seconds() - begins_at

    assert outcome == Undelivered(reason=f"The mail server {place} did not answer within {SECONDS:g} seconds.")
    assert seconds < 5 * SECONDS


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
