"""A real SMTP server on loopback, and what arrives there."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from tests.progress import wait_until


class Inbox:
    """Takes every e-mail, but for the addresses and contents that it was told to refuse."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.refused: dict[str, str] = {}
        self.answer = "250 OK"

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: object, _session: object, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: object, _session: object, envelope: Envelope) -> str:  # noqa: N802 - as above
        if self.answer.startswith("250"):
            self.envelopes.append(envelope)
        return self.answer

    @property
    def mails(self) -> list[Message]:
        return [message_from_bytes(envelope.original_content or b"") for envelope in self.envelopes]


def assert_report_arrives(inbox: Inbox) -> None:
    """Waits for a mail, which must have one PDF."""
    wait_until(lambda: inbox.mails, "the mail arrives")
    (mail,) = inbox.mails
    (pdf,) = (part for part in mail.walk() if part.get_content_type() == "application/pdf")
    assert bytes(pdf.get_payload(decode=True)).startswith(b"%PDF")


@contextmanager
def mail_server(inbox: Inbox, **options: Any) -> Iterator[str]:  # noqa: ANN401 - aiosmtpd's
    """The inbox behind SMTP until the block ends; gives host and port."""
    controller = Controller(inbox, hostname="127.0.0.1", port=0, **options)
    # Port 0 confuses the controller's own readiness check, so a free one is chosen first.
    controller.port = _free_port()
    controller.start()
    try:
        yield f"127.0.0.1:{controller.port}"
    finally:
        controller.stop()


def _free_port() -> int:

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
