"""The address at which a worker answers with its counters."""

import socket
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from app.base.errors import SetupError
from app.base.telemetry.metrics_endpoint import counters_served
from app.base.telemetry.prometheus import checks


def test_a_worker_answers_with_its_own_counters_and_nothing_else() -> None:
    checks.labels("succeeded").inc()
    with counters_served("127.0.0.1", _free_port()) as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
        with pytest.raises(HTTPError) as refused:
            urlopen(f"http://127.0.0.1:{port}/other")
        refused.value.close()

    assert 'evenhand_checks_total{state="succeeded"}' in text
    assert refused.value.code == 404


def test_without_a_port_it_does_not_listen() -> None:
    with counters_served("127.0.0.1", 0) as port:
        assert port == 0


@pytest.mark.thorough
def test_an_address_that_is_taken_is_named() -> None:
    taken = _free_port()
    with counters_served("127.0.0.1", taken), pytest.raises(SetupError, match=f"127.0.0.1:{taken}.*EVENHAND_METRICS_PORT"):  # noqa: SIM117
        with counters_served("127.0.0.1", taken):
            pass


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
