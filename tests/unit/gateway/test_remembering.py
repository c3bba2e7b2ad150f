"""Answers of the database are used again while it is away, and only then."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.base.errors import NotFound, Unavailable
from app.intake.gateway import forward as remembering
from app.intake.gateway.forward import MAX_AGE_SECONDS, QUIET_SECONDS, LastAnswers
from tests.builders.fake_time import FakeTime


def answering(*outcomes: str | Exception) -> Callable[[], Awaitable[str]]:
    """Gives these outcomes one after the other, the last one from then on."""
    left = list(outcomes)

    async def look_up() -> str:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return look_up


def test_the_last_answer_stands_in_while_the_database_is_away() -> None:
    async def story() -> list[str]:
        time = FakeTime()
        answers: LastAnswers[str, str] = LastAnswers(lambda: time.seconds)
        look_up = answering("first", Unavailable("away"), "second")
        found = [await answers.ask("key", look_up), await answers.ask("key", look_up), await answers.ask("key", look_up)]
        time.seconds += QUIET_SECONDS
        return [*found, await answers.ask("key", look_up)]

    assert asyncio.run(story()) == ["first", "first", "first", "second"]


def test_a_question_without_an_earlier_answer_fails_with_the_database() -> None:
    with pytest.raises(Unavailable):
        asyncio.run(LastAnswers[str, str]().ask("key", answering(Unavailable("away"))))


def test_an_answer_grows_too_old() -> None:
    async def story() -> None:
        time = FakeTime()
        answers: LastAnswers[str, str] = LastAnswers(lambda: time.seconds)
        await answers.ask("key", answering("first"))
        time.seconds += MAX_AGE_SECONDS + 1
        await answers.ask("key", answering(Unavailable("away")))

    with pytest.raises(Unavailable):
        asyncio.run(story())


def test_a_refusal_of_the_database_ends_what_was_known() -> None:
    async def story() -> None:
        answers: LastAnswers[str, str] = LastAnswers()
        await answers.ask("key", answering("first"))
        with pytest.raises(NotFound):
            await answers.ask("key", answering(NotFound("deployment", "d")))
        await answers.ask("key", answering(Unavailable("away")))

    with pytest.raises(Unavailable):
        asyncio.run(story())


def test_nobody_waits_for_a_database_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "PATIENCE_SECONDS", 0.001)

    async def hang() -> str:
        await asyncio.Event().wait()
        return "never"

    async def story() -> str:
        answers: LastAnswers[str, str] = LastAnswers()
        await answers.ask("key", answering("first"))
        return await answers.ask("key", hang)

    assert asyncio.run(story()) == "first"


def test_a_look_up_is_shared_and_a_fresh_answer_asks_nobody() -> None:
    asked = []

    async def look_up() -> str:
        asked.append("asked")
        await asyncio.sleep(0)
        return "answer"

    async def story() -> None:
        time = FakeTime()
        answers: LastAnswers[str, str] = LastAnswers(lambda: time.seconds, fresh_seconds=1)
        await asyncio.gather(*(answers.ask("key", look_up) for _ in range(3)))
        await answers.ask("key", look_up)
        assert len(asked) == 1
        time.seconds += 1
        await answers.ask("key", look_up)

    asyncio.run(story())
    assert len(asked) == 2


def test_an_answer_after_the_wait_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "PATIENCE_SECONDS", 0.001)

    async def answer_slowly() -> str:
        await asyncio.sleep(0.02)
        return "second"

    async def story() -> list[str]:
        time = FakeTime()
        answers: LastAnswers[str, str] = LastAnswers(lambda: time.seconds, fresh_seconds=QUIET_SECONDS)
        found = [await answers.ask("key", answering("first"))]
        time.seconds += QUIET_SECONDS
        found.append(await answers.ask("key", answer_slowly))
        await asyncio.sleep(0.05)
        return [*found, await answers.ask("key", answering(Unavailable("away")))]

    assert asyncio.run(story()) == ["first", "first", "second"]


def test_a_slow_database_is_waited_for_where_the_last_answer_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "PATIENCE_SECONDS", 0)

    async def answer_slowly() -> str:
        await asyncio.sleep(0.01)
        return "second"

    async def story() -> str:
        time = FakeTime()
        answers: LastAnswers[str, str] = LastAnswers(lambda: time.seconds)
        await answers.ask("key", answering("first"))
        time.seconds += MAX_AGE_SECONDS + 1
        return await answers.ask("key", answer_slowly)

    assert asyncio.run(story()) == "second"
