"""The client for event loops."""

import asyncio

import pytest
from evenhand_client import AsyncEvenhand, Report

from tests.progress import wait_until

from .collector import Collector, Reply, receipt

ROW = {"sex": "female"}


def test_records_of_many_tasks_arrive_once(collector: Collector) -> None:
    async def program() -> list[str]:
        async with AsyncEvenhand(collector.url, "key", "loans") as client:
            ids = await asyncio.gather(*(client.log(ROW, 1) for _ in range(500)))
            await client.log_label(ids[0], 1)
            assert await client.flush() == Report(sent=501)
            assert client.stats().sent == 501
            return ids

    ids = asyncio.run(program())
    assert sorted(collector.ids) == sorted([*ids, ids[0]])


def test_the_loop_goes_on_while_a_record_waits_for_room(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_TIMEOUT", "3600")
    collector.respond = lambda _: Reply(503)

    async def program() -> int:
        client = AsyncEvenhand(collector.url, "key", "loans", max_queue=1, flush_at=1, on_full="block")
        await client.log(ROW, 1)
        await asyncio.to_thread(wait_until, lambda: collector.requests)
        await client.log(ROW, 1)
        waiting = asyncio.create_task(client.log(ROW, 1))
        turns = 0
        while not waiting.done():
            turns += 1
            if turns == 20:
                collector.respond = receipt
                client.client._outbox._hurry.set()  # noqa: SLF001 - the pause between attempts would be long
            await asyncio.sleep(0.01)
        await client.close()
        return turns

    assert asyncio.run(program()) >= 20
    assert len(collector.ids) == 3
