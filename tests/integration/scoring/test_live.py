"""The live model: kept connections, one deadline over everything, and models that replace each other."""

import asyncio
import time
from typing import Any

import pytest

from app.base.errors import EndpointRefused, ScoringFailed
from app.calls.egress_policy import EgressPolicy
from app.calls.scoring import live_model
from app.calls.scoring.ask_page import ModelKey
from app.calls.scoring.live_model import LiveModel, LiveModels
from app.domain.deployment import Endpoint
from app.payloads.read_predictions import Answer
from tests.builders.fake_time import FakeTime
from tests.builders.scoring_clients import MAN, OUTPUTS, POOR_WOMAN
from tests.models.faulty import Fault, closed_url, faulty
from tests.models.rules import COLUMNS, RuleScorer
from tests.models.serving import serve

OPEN = EgressPolicy.of([])
LONG = 600.0
"""Seconds; the product wants a deadline, and these tests do not come to it."""


def key(url: str, **settings: Any) -> ModelKey:  # noqa: ANN401 - any of Endpoint's fields
    return ModelKey(Endpoint(url=url, **settings), OUTPUTS, COLUMNS)


async def scored(model: LiveModel, *requests: int, seconds: float = LONG) -> list[Answer]:
    """The answers to requests of so many rows, one after the other."""
    try:
        return [await model.score([MAN, POOR_WOMAN] * (rows // 2), deadline=time.monotonic() + seconds) for rows in requests]
    finally:
        await model.close()


def test_the_answer_has_the_models_columns_and_the_predictions() -> None:
    with serve(RuleScorer()) as server:
        (answer,) = asyncio.run(scored(LiveModel(key(server.url), OPEN), 2))

    assert (answer.fields, answer.rows) == (["prediction", "probability"], [[1, 0.9], [0, 0.1]])
    assert [prediction.prediction for prediction in answer.predictions] == [1, 0]


def test_pages_go_side_by_side_over_connections_that_are_kept() -> None:
    with serve(RuleScorer()) as server:
        answers = asyncio.run(scored(LiveModel(key(server.url, page_size=4, concurrency=2), OPEN), 18, 18))

    assert [[prediction.prediction for prediction in answer.predictions] for answer in answers] == [[1, 0] * 9] * 2
    assert server.counts.requests == 10
    assert server.counts.connections == 2


def test_a_model_that_is_late_is_given_up_at_the_deadline_and_may_be_asked_again() -> None:
    async def late_then_soon(server: Any, model: LiveModel) -> Answer:  # noqa: ANN401 - a test server
        with pytest.raises(ScoringFailed, match="did not answer within"):
            await model.score([MAN], deadline=time.monotonic() + 0.2)
        server.fault = Fault.NONE
        try:
            return await model.score([MAN], deadline=time.monotonic() + LONG)
        finally:
            await model.close()

    with faulty(Fault.SLOW, delay_seconds=30) as server:
        answer = asyncio.run(late_then_soon(server, LiveModel(key(server.url), OPEN)))

    assert [prediction.prediction for prediction in answer.predictions] == [1]


def test_a_passing_failure_is_retried_where_that_fits_into_the_time() -> None:
    async def ask(seconds: float, url: str, clock: FakeTime) -> Answer:
        model = LiveModel(key(url), OPEN, timing=clock.timing)
        try:
            return await model.score([MAN], deadline=clock.seconds + seconds)
        finally:
            await model.close()

    with faulty(Fault.STATUS_503, left=1) as server:
        answer = asyncio.run(ask(10, server.url, FakeTime()))
        server.left = 1
        with pytest.raises(ScoringFailed, match=r"answered 503 Service Unavailable \(1 attempt\)"):
            asyncio.run(ask(0.2, server.url, FakeTime()))
        server.left = None
        with pytest.raises(ScoringFailed, match=r"answered 503 Service Unavailable \(3 attempts\)"):
            asyncio.run(ask(60, server.url, FakeTime()))

    assert [prediction.prediction for prediction in answer.predictions] == [1]


def test_a_turn_that_would_come_too_late_is_not_waited_for_and_not_taken() -> None:
    clock = FakeTime()

    async def ask_twice(model: LiveModel) -> None:
        await model.score([MAN], deadline=clock.seconds + 1)
        for _ in range(5):
            with pytest.raises(ScoringFailed, match="its turn would have come too late"):
                await model.score([MAN], deadline=clock.seconds + 1)
        await model.score([MAN], deadline=clock.seconds + 11)
        await model.close()

    with serve(RuleScorer()) as server:
        asyncio.run(ask_twice(LiveModel(key(server.url, requests_per_second=0.1), OPEN, timing=clock.timing)))

    assert server.counts.requests == 2
    assert clock.slept == [10.0]


def test_a_page_with_other_columns_than_the_first_is_refused() -> None:
    class Moody:
        def predict(self, columns: Any, rows: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - whatever it is sent
            del columns
            return [(1, 0.5) for _ in rows]

    with serve(Moody()) as server:
        answer_of = server.answer

        def moody(path: str, body: bytes) -> Any:  # noqa: ANN401 - a reply
            reply = answer_of(path, body)
            if b'"female"' in body:
                reply.body = reply.body.replace(b'"fields":["prediction","probability"]', b'"fields":["probability","prediction"]')
            return reply

        server.answer = moody  # type: ignore[method-assign]
        model = LiveModel(key(server.url, page_size=1), OPEN)
        with pytest.raises(ScoringFailed, match="gave other columns on page 2 than on page 1"):
            asyncio.run(scored(model, 2))


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "ftp://127.0.0.1/"])
def test_an_address_that_may_not_be_called_is_refused(url: str) -> None:
    async def ask() -> None:
        model = LiveModel(key(url), OPEN)
        await scored(model, 2)

    with pytest.raises(EndpointRefused):
        asyncio.run(ask())


@pytest.mark.nightly
def test_nothing_listening_is_said_within_the_time() -> None:
    with pytest.raises(ScoringFailed, match="could not be reached: Connection refused"):
        asyncio.run(scored(LiveModel(key(closed_url()), OPEN), 2))


def test_a_model_asked_with_another_key_is_closed_once_nobody_uses_it() -> None:
    async def replace(first: str, second: str) -> list[Any]:
        models, seen = LiveModels(OPEN), []
        async with models.using(1, key(first)) as old:
            async with models.using(1, key(second)) as new:
                seen.append(new is old)
                await new.score([MAN], deadline=time.monotonic() + LONG)
            answer = await old.score([MAN], deadline=time.monotonic() + LONG)
            seen.append(len(answer.rows))
        async with models.using(1, key(second)) as again:
            seen.append(again is new)
        await models.close()
        return seen

    with serve(RuleScorer()) as one, serve(RuleScorer()) as other:
        assert asyncio.run(replace(one.url, other.url)) == [False, 1, True]


def test_only_so_many_models_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_model, "MAX_MODELS", 2)

    async def use(url: str) -> list[bool]:
        models = LiveModels(OPEN)
        found = {}
        for number in (1, 2, 1, 3):
            async with models.using(number, key(url)) as found[number]:
                pass
        kept = []
        for number in (1, 2):
            async with models.using(number, key(url)) as model:
                kept.append(model is found[number])
        await models.close()
        return kept

    assert asyncio.run(use("http://127.0.0.1:9/score")) == [True, False]
