"""The address that is checked is the address that is connected to."""

from ipaddress import ip_address

import pytest

from app.base.errors import EndpointRefused, ScoringFailed
from app.calls.egress_policy import Address
from tests.builders.fake_time import FakeTime
from tests.builders.scoring_clients import MAN, client_of
from tests.models.faulty import Fault, faulty
from tests.models.rules import RuleScorer
from tests.models.serving import serve


class Names:
    """A resolver whose answers are set beforehand, one list per question; the last answer is repeated."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[Address]:
        del port
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ip_address(text) for text in answer]


def url_of(port: int) -> str:
    return f"http://model.internal:{port}/score"


def test_a_name_is_connected_to_at_the_address_that_was_checked() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])

    with serve(RuleScorer()) as server:
        found = client_of(url_of(server.server_port), resolver=names, page_size=1, concurrency=1).score([MAN] * 5)

    assert len(found) == 5
    assert names.asked == ["model.internal"]


def test_a_name_that_changes_to_a_metadata_address_is_refused_at_the_next_connection() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])

    with faulty(Fault.HANG_UP, left=1) as server, pytest.raises(EndpointRefused, match="cloud metadata"):
        client_of(url_of(server.server_port), resolver=names).score([MAN])

    assert server.counts.connections == 1


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1", "0.0.0.0"])  # noqa: S104 - refused
def test_a_name_of_a_refused_address_is_refused_without_another_try(address: str) -> None:
    names = Names([address])
    time = FakeTime()

    with pytest.raises(EndpointRefused, match="never called"):
        client_of(url_of(80), resolver=names, time=time).score([MAN])

    assert len(names.asked) == 1
    assert time.slept == []


def test_a_refused_address_among_others_is_passed_over() -> None:
    with serve(RuleScorer()) as server:
        found = client_of(url_of(server.server_port), resolver=Names(["fe80::1", "127.0.0.1"])).score([MAN])

    assert len(found) == 1


def test_the_next_address_is_tried_where_nobody_listens_on_the_first() -> None:
    with serve(RuleScorer()) as server:
        found = client_of(url_of(server.server_port), resolver=Names(["127.0.0.2", "127.0.0.1"])).score([MAN])

    assert len(found) == 1


def test_a_name_is_refused_whose_address_is_not_on_the_allow_list() -> None:
    with serve(RuleScorer()) as server, pytest.raises(EndpointRefused, match="allow-list"):
        client_of(url_of(server.server_port), resolver=Names(["127.0.0.1"]), allowlist=("10.0.0.0/8",)).score([MAN])

    assert server.counts.connections == 0


def test_a_listed_name_may_be_called() -> None:
    with serve(RuleScorer()) as server:
        found = client_of(url_of(server.server_port), resolver=Names(["127.0.0.1"]), allowlist=("model.internal",)).score([MAN])

    assert len(found) == 1


def test_the_model_is_told_the_host_name_and_not_the_address() -> None:
    with serve(RuleScorer()) as server:
        client_of(url_of(server.server_port), resolver=Names(["127.0.0.1"])).score([MAN])

    assert server.counts.hosts == [f"model.internal:{server.server_port}"]


def test_a_name_without_an_address_is_tried_again_and_then_named() -> None:
    time = FakeTime()

    async def nobody(host: str, port: int) -> list[Address]:
        raise OSError(f"no address for {host}:{port}")

    with pytest.raises(ScoringFailed, match=r"could not be reached: the host name model\.internal could not be resolved"):
        client_of(url_of(80), resolver=nobody, time=time).score([MAN])

    assert len(time.slept) == 3


def test_a_redirect_to_a_metadata_address_is_not_followed() -> None:
    with faulty(Fault.REDIRECT) as server, pytest.raises(ScoringFailed, match="not followed"):
        client_of(server.url).score([MAN])

    assert server.counts.requests == 1


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://0xa9fea9fe/", "http://user:secret@model.internal/"])
def test_an_address_that_may_not_be_called_is_never_connected_to(url: str) -> None:
    with pytest.raises(EndpointRefused) as caught:
        client_of(url).score([MAN])

    assert "secret" not in str(caught.value)
