"""Counts the SQL statements of a block, those included that go past SQLAlchemy."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
import pytest

from app.access.authenticator import Authenticator

PING = ";"
"""Statement that tries a connection which was idle before it is used again."""

_sent: ContextVar[list[str] | None] = ContextVar("sent", default=None)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yields the statements that the block causes, in this thread and in the application that it asks.

    A context variable follows a request into the application's threads, so that what the application does by itself meanwhile (a sweep
    every ten seconds) is not counted. Neither is the look-up of a key or session, which comes again once its answer is five seconds old,
    nor what a new connection sets.
    """
    execute = psycopg.Cursor.execute

    def recorded(cursor: psycopg.Cursor[Any], query: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as it is called
        sent = _sent.get()
        if sent is not None and str(query) != PING and not str(query).startswith("SET client_encoding"):
            sent.append(str(query))
        return execute(cursor, query, *arguments, **options)

    def uncounted(look_up: Any) -> Any:  # noqa: ANN401 - any method
        def looked_up(*arguments: Any) -> Any:  # noqa: ANN401 - as it is called
            with not_counting():
                return look_up(*arguments)

        return looked_up

    statements: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Cursor, "execute", recorded)
        for name in ("_look_up_key", "_look_up_session"):
            patched.setattr(Authenticator, name, uncounted(getattr(Authenticator, name)))
        token = _sent.set(statements)
        try:
            yield statements
        finally:
            _sent.reset(token)


@contextmanager
def not_counting() -> Iterator[None]:
    """Leaves out the statements of a block."""
    token = _sent.set(None)
    try:
        yield
    finally:
        _sent.reset(token)
