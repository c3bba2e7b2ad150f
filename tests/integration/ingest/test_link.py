import asyncio

import psycopg
import pytest

from app.store.database.engine import Database
from app.store.writing.link import Link, LinkLost


@pytest.mark.nightly
def test_a_broken_connection_is_noticed_even_if_the_event_loop_never_tells(database: Database) -> None:
    """An event loop may drop the watch on a socket that breaks (uvloop does): the wait must end all the same."""

    async def story() -> None:
        link = await Link.open(database.url)
        pid = int((await link.run(b"SELECT pg_backend_pid()"))[0][0][0] or 0)
        waiting = asyncio.create_task(link.run(b"SELECT pg_sleep(60)"))
        with psycopg.connect(database.url, autocommit=True) as connection:
            sleeping = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
            while connection.execute(sleeping, [pid]).fetchall() == [(0,)]:  # noqa: ASYNC110 - no event says it
                await asyncio.sleep(0.01)
            asyncio.get_running_loop().remove_reader(link._socket)  # noqa: SLF001 - what the event loop does behind our back
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])

        with pytest.raises(LinkLost):
            await waiting
        assert link.is_lost

    asyncio.run(story())
