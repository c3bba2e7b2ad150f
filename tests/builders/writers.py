"""Connections of services that write records, as Postgres shows them."""

import asyncio

import psycopg

_WRITERS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'evenhand ingest'"

CUT_A_WRITER = f"SELECT pg_terminate_backend(pid) {_WRITERS} LIMIT 1"
"""Statement that ends a connection of this database's."""


async def held_up(blocker: psycopg.Connection) -> None:
    """Returns once a writer waits for a lock of the blocker."""
    waiting = f"SELECT count(*) {_WRITERS} AND %s = ANY (pg_blocking_pids(pid))"
    # Within the blocker's transaction Postgres would show the same moment again and again.
    with psycopg.connect(blocker.info.dsn, password=blocker.info.password, autocommit=True) as onlooker:
        while onlooker.execute(waiting, [blocker.info.backend_pid]).fetchall() == [(0,)]:  # noqa: ASYNC110 - no event says it
            await asyncio.sleep(0.01)
