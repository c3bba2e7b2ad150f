"""One POST: which addresses it reaches, how long it takes, and how little it reads."""

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address

import pytest

from app.alerts.channels import notification as sending
from app.alerts.channels.notification import Delivered, Undelivered, post_json
from app.calls.egress_policy import Address, EgressPolicy
from tests.models.receiving import Receiver, receiving


def names(*addresses: str) -> Callable[..., object]:
    async def resolve(host: str, port: int) -> list[Address]:
        del host, port
        return [ip_address(address) for address in addresses]

    return resolve


def posted(url: str, *, addresses: tuple[str, ...] = ("127.0.0.1",)) -> Delivered | Undelivered:
    return post_json(url, b"{}", [("webhook-id", "a")], EgressPolicy(), resolver=names(*addresses))  # type: ignore[arg-type]


def test_any_2xx_is_delivered_and_nothing_else_is() -> None:
    outcomes = {}
    for status in (200, 201, 202, 204, 299, 301, 304, 400, 404, 410, 500, 599):
        with receiving(Receiver(status=status)) as receiver:
            outcomes[status] = isinstance(posted(receiver.url), Delivered)

    assert outcomes == {status: status < 300 for status in outcomes}


@pytest.mark.parametrize("status", [400, 409, 411, 413, 415, 422])
def test_fault_found_with_the_content_is_told_from_a_receiver_that_is_set_up_wrong(status: int) -> None:
    with receiving(Receiver(status=status)) as receiver:
        content = posted(receiver.url)
        receiver.status = 403
        setup = posted(receiver.url)

    assert isinstance(content, Undelivered)
    assert isinstance(setup, Undelivered)
    assert (content.is_refused, setup.is_refused) == (True, False)


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1"])
def test_a_name_that_leads_to_an_address_never_called_is_not_called(address: str) -> None:
    outcome = posted("http://alerts.internal/hook", addresses=(address,))

    assert isinstance(outcome, Undelivered)
    assert "never called" in outcome.reason


def test_a_redirect_is_not_followed() -> None:
    with receiving() as other, receiving(Receiver(status=307, headers={"Location": other.url})) as receiver:
        outcome = posted(receiver.url)

    assert isinstance(outcome, Undelivered)
    assert "307 Temporary Redirect" in outcome.reason
    assert other.requests == []


def test_little_of_an_endless_answer_is_read_and_less_is_told() -> None:
    with receiving(Receiver(status=500, answer=b"x" * 10_000_000)) as receiver:
        outcome = posted(receiver.url)

    assert isinstance(outcome, Undelivered)
    assert len(outcome.reason) < 400


def test_control_characters_of_an_answer_are_not_repeated() -> None:
    with receiving(Receiver(status=500, answer=b"\x1b[31mred\x00\xff\r\nnext")) as receiver:
        outcome = posted(receiver.url)

    assert isinstance(outcome, Undelivered)
    assert outcome.reason.isprintable()


def test_a_receiver_that_hangs_ends_the_attempt_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.2)
    with receiving(Receiver(hang=threading.Event())) as receiver:
        outcome = posted(receiver.url)

    assert outcome == Undelivered(reason=f"The receiver 127.0.0.1:{receiver.port} did not answer within 0.2 seconds.")


def test_a_receiver_that_drips_its_answer_ends_the_attempt_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.4)
    done = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while not done.wait(0.05):
                connection.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        outcome = posted(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        done.set()
        thread.join()

    assert isinstance(outcome, Undelivered)


def test_a_name_server_that_hangs_ends_the_attempt_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.2)
    is_over, answers = threading.Event(), threading.Event()

    async def resolve(host: str, port: int) -> list[Address]:
        del host, port
        await asyncio.get_running_loop().run_in_executor(None, answers.wait)  # as the system's resolver is asked
        return []

    def post() -> None:
        outcomes.append(post_json("http://alerts.example/hook", b"{}", [], EgressPolicy(), resolver=resolve))
        is_over.set()

    outcomes: list[Delivered | Undelivered] = []
    threading.Thread(target=post).start()
    is_over.wait()
    answers.set()

    assert outcomes == [Undelivered(reason="The receiver alerts.example did not answer within 0.2 seconds.")]


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"\x15\x03\x01\x00\x02\x02"]
)
def test_what_is_no_http_is_no_delivery(answer: bytes) -> None:
    def speak(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=speak, args=(listener,))
        thread.start()
        outcome = posted(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        thread.join()

    assert isinstance(outcome, Undelivered)
    assert "The receiver 127.0.0.1" in outcome.reason
