"""The address at which a worker answers with its counters."""

import socket
from urllib.request import urlopen

import pytest

from app.base.errors import SetupError
from app.base.telemetry.prometheus import checks, serve_counters


def test_a_worker_answers_with_its_own_counters() -> None:
    checks.labels("succeeded").inc()
    with serve_counters("127.0.0.1", _free_port()) as port, urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()

    assert 'evenhand_checks_total{state="succeeded"}' in text


def test_without_a_port_it_does_not_listen() -> None:
    with serve_counters("127.0.0.1", 0) as port:
        assert port == 0


@pytest.mark.thorough
def test_an_address_that_is_taken_is_named() -> None:
    taken = _free_port()
    with serve_counters("127.0.0.1", taken), pytest.raises(SetupError, match=f"127.0.0.1:{taken}.*EVENHAND_METRICS_PORT"):  # noqa: SIM117
        with serve_counters("127.0.0.1", taken):
            pass


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
