import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Receive

from app.base.errors import Unavailable
from app.base.turns import Room, Turns
from app.intake.hot_routes.hot_route import Bodies


def _run(act: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await act()

    asyncio.run(run())


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_callers_take_turns_however_much_one_of_them_asks_for() -> None:
    served: list[str] = []

    async def act() -> None:
        turns = Turns(1, busy="busy")

        async def work(caller: str) -> None:
            async with turns.turn(caller):
                served.append(caller)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work(caller)) for caller in "aaaabcb"]
        await asyncio.gather(*tasks)

    _run(act)
    assert "".join(served) == "aabcaba"


def test_so_many_may_wait_of_one_caller_and_in_total() -> None:
    async def act() -> None:
        turns = Turns(1, busy="busy", waiting=3, waiting_each=2)

        async def work(caller: str) -> None:
            async with turns.turn(caller):
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(work(caller)) for caller in "aaab"]
        await _settled()
        with pytest.raises(Unavailable, match="busy"):
            await work("a")
        with pytest.raises(Unavailable, match="busy"):
            await work("c")
        for task in tasks:
            task.cancel()

    _run(act)


def test_a_turn_that_does_not_come_in_time_is_given_up() -> None:
    async def act() -> None:
        turns = Turns(1, busy="busy", wait_seconds=0)
        async with turns.turn("a"):
            with pytest.raises(Unavailable, match="busy"):
                async with turns.turn("b"):
                    pass
        async with turns.turn("b"):
            pass

    _run(act)


def test_who_goes_away_while_waiting_or_at_its_turn_takes_no_turn_along() -> None:
    async def act() -> None:
        turns = Turns(1, busy="busy")

        async def work(caller: str) -> None:
            async with turns.turn(caller):
                pass

        async with turns.turn("a"):
            waiting, called = (asyncio.create_task(work(caller)) for caller in "bc")
            await _settled()
            waiting.cancel()
            await _settled()
        called.cancel()
        await asyncio.gather(waiting, called, return_exceptions=True)
        async with turns.turn("d"):
            pass

    _run(act)


def test_room_is_bounded_in_total_and_for_each_caller_and_is_given_back() -> None:
    room = Room(2, each=1, busy="all", busy_each="yours")

    with room.place("a"), pytest.raises(Unavailable, match="yours"), room.place("a"):
        pass
    with room.place("a"), room.place("b"), pytest.raises(Unavailable, match="all"), room.place("c"):
        pass
    with room.place("c"):
        pass


def test_slow_bodies_of_one_key_leave_room_for_those_of_another() -> None:
    async def act() -> None:
        bodies = Bodies(bytes_at_once=100, bytes_of_key=50)
        never = asyncio.Event()

        async def slow() -> dict[str, object]:
            if not sent:
                await never.wait()
            return {"type": "http.request", "body": sent.pop(), "more_body": True}

        async def whole() -> dict[str, object]:
            parts.append(b"y" * 10)
            return {"type": "http.request", "body": parts[-1], "more_body": len(parts) < 4}

        sent, parts = [b"x" * 25, b"x" * 25], list[bytes]()

        async def read(receive: Receive, actor: str) -> bytes:
            async with bodies.hold(receive, b"", actor) as body:
                return body

        tasks = [asyncio.create_task(read(slow, "a")) for _ in range(2)]
        await _settled()
        sent.append(b"x")
        with pytest.raises(Unavailable, match="This key is sending"):
            await read(slow, "a")

        assert await read(whole, "b") == b"y" * 40
        for task in tasks:
            task.cancel()

    _run(act)
