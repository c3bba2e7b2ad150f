"""Counts the SQL statements of a block, those included that go past SQLAlchemy."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that psycopg's cursors are given until the block ends."""
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def recorded(cursor: psycopg.Cursor[Any], query: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as it is called
        sent.append(str(query))
        return execute(cursor, query, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Cursor, "execute", recorded)
        yield sent
