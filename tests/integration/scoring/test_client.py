"""The scoring client against a model that works."""

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from prometheus_client import REGISTRY

from app.base.errors import CheckCancelled, LeaseLost, ScoringFailed
from app.base.values import Scalar
from app.domain.deployment import Credentials, CredentialsKind
from tests.builders.fake_time import FakeTime
from tests.builders.scoring_clients import MAN, POOR_WOMAN, RICH_WOMAN, client_of
from tests.models.faulty import Fault, faulty
from tests.models.rules import RuleScorer
from tests.models.serving import serve


class Echo:
    """Predicts each row's income, the last pages first, so that order cannot come about by chance."""

    def __init__(self) -> None:
        self.started = 0
        self.lock = threading.Lock()

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        with self.lock:
            self.started += 1
            wait = 0.03 if self.started % 2 else 0.0
        threading.Event().wait(wait)
        at = list(columns).index("income")
        return [(row[at], 0.5) for row in rows]


class Gate:
    """Holds every request until `together` of them are in work, or a moment has passed."""

    def __init__(self, together: int) -> None:
        self.barrier = threading.Barrier(together)

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        del columns
        with suppress(threading.BrokenBarrierError):
            self.barrier.wait(timeout=0.2)
        return [(1, 0.5) for _ in rows]


@pytest.mark.parametrize("path", ["url", "mlflow_url"])
def test_rows_go_out_in_pages_and_predictions_come_back(path: str) -> None:
    with serve(RuleScorer()) as server:
        found = client_of(getattr(server, path), page_size=2).score([MAN, POOR_WOMAN, RICH_WOMAN])

    assert [(answer.prediction, answer.probability, answer.label) for answer in found] == [(1, 0.9, None), (0, 0.1, None), (1, 0.9, None)]
    assert (server.counts.requests, server.counts.rows) == (2, 3)


def test_predictions_stand_in_the_order_of_the_rows_whichever_page_is_answered_first() -> None:
    rows: list[list[Scalar | None]] = [["male", number, 30] for number in range(205)]

    with serve(Echo()) as server:
        found = client_of(server.url, page_size=10, concurrency=4).score(rows)

    assert [answer.prediction for answer in found] == list(range(205))


def test_equal_rows_are_each_asked_for() -> None:
    with serve(RuleScorer()) as server:
        found = client_of(server.url).score([MAN] * 5)

    assert len(found) == 5
    assert server.counts.rows == 5


def test_no_rows_ask_nobody() -> None:
    with serve(RuleScorer()) as server:
        found = client_of(server.url).score([])

    assert found == []
    assert server.counts.requests == 0


def test_connections_are_kept_alive_and_never_more_than_the_concurrency() -> None:
    with serve(RuleScorer()) as server:
        client_of(server.url, page_size=1, concurrency=3).score([MAN] * 60)

    assert server.counts.requests == 60
    assert 1 <= server.counts.connections <= 3


@pytest.mark.parametrize("concurrency", [1, 3])
def test_as_many_pages_as_configured_are_under_way_at_once(concurrency: int) -> None:
    with serve(Gate(concurrency)) as server:
        client_of(server.url, page_size=1, concurrency=concurrency).score([MAN] * concurrency * 3)

    assert server.counts.most_at_once == concurrency


def test_the_rate_limit_spaces_requests_over_all_connections() -> None:
    time = FakeTime()

    with serve(RuleScorer()) as server:
        client_of(server.url, time=time, page_size=1, requests_per_second=2.0).score([MAN] * 9)

    assert time.seconds - 100.0 >= 8 * 0.5
    assert server.counts.requests == 9


def test_progress_is_told_after_every_page() -> None:
    told: list[tuple[int, int]] = []

    with serve(RuleScorer()) as server:
        client_of(server.url, page_size=2, concurrency=1).score([MAN] * 5, on_page=lambda done, total: told.append((done, total)))

    assert told == [(2, 5), (4, 5), (5, 5)]


def test_a_wish_to_stop_ends_the_scoring_between_pages() -> None:
    with serve(RuleScorer()) as server, pytest.raises(CheckCancelled):
        client_of(server.url, page_size=1, concurrency=1).score([MAN] * 50, should_stop=lambda: server.counts.requests >= 3)

    assert server.counts.requests == 3


@pytest.mark.nightly
def test_a_wish_to_stop_is_heard_while_the_model_keeps_everybody_waiting() -> None:
    with faulty(Fault.SLOW, delay_seconds=60) as server, pytest.raises(CheckCancelled):
        client_of(server.url, timeout_seconds=60.0).score([MAN], should_stop=lambda: server.counts.requests > 0)

    assert server.counts.requests == 1


def test_an_error_of_a_callback_ends_the_scoring_and_is_raised() -> None:
    def lost(done: int, total: int) -> None:
        raise LeaseLost(f"lost after {done} of {total}")

    with serve(RuleScorer()) as server, pytest.raises(LeaseLost, match="lost after 1 of 50"):
        client_of(server.url, page_size=1, concurrency=1).score([MAN] * 50, on_page=lost)

    assert server.counts.requests == 1


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (None, None),
        (Credentials(kind=CredentialsKind.BASIC, name="user", secret="pass"), "Basic dXNlcjpwYXNz"),  # noqa: S106 - made up
        (Credentials(kind=CredentialsKind.BEARER, secret="token"), "Bearer token"),  # noqa: S106 - made up
        (Credentials(kind=CredentialsKind.HEADER, name="Authorization", secret="Key 1"), "Key 1"),  # noqa: S106 - made up
    ],
)
def test_credentials_are_sent_with_every_page(credentials: Credentials | None, header: str | None) -> None:
    with serve(RuleScorer()) as server:
        client_of(server.url, credentials=credentials, page_size=1).score([MAN] * 2)

    assert server.counts.authorizations == [header, header]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    with serve(RuleScorer()) as server:
        found = client_of(server.url).score([MAN])

    assert len(found) == 1


def test_one_client_scores_again_and_again() -> None:
    with serve(RuleScorer()) as server:
        client = client_of(server.url)
        first, second = client.score([MAN]), client.score([POOR_WOMAN])

    assert (first[0].prediction, second[0].prediction) == (1, 0)


def test_pages_name_the_columns_in_the_order_of_the_rows() -> None:
    with serve(RuleScorer()) as server:
        client_of(server.url).score([MAN])

    assert json.loads(server.counts.bodies[0]) == {"fields": ["sex", "income", "age"], "values": [MAN]}


def test_calls_and_rows_are_counted_for_operators() -> None:
    def counted(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, labels) or 0.0

    def counts() -> list[float]:
        outcomes = ("answered", "retried", "failed")
        return [*(counted("evenhand_model_calls_total", outcome=outcome) for outcome in outcomes), counted("evenhand_model_rows_total")]

    before = counts()
    with faulty(Fault.STATUS_500, left=1) as server:
        client_of(server.url, page_size=2, concurrency=1).score([MAN, POOR_WOMAN, RICH_WOMAN])
    with faulty(Fault.STATUS_422) as server, suppress(ScoringFailed):
        client_of(server.url).score([MAN])

    assert [now - then for now, then in zip(counts(), before, strict=True)] == [2, 1, 1, 4]
