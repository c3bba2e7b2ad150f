"""Connections of ADBC that are used again: opening one is slow."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adbc_driver_manager import Error as AdbcError

if TYPE_CHECKING:
    from adbc_driver_postgresql import dbapi

BEGINNING = ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL jit = off", "SET LOCAL TimeZone = 'UTC'")
"""All queries of a transaction see the same moment."""

MAX_IDLE = 2


class ArrowPool:
    """Connections to one database. Safe for threads; after `close()` it opens new ones."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._root: dbapi.Connection | None = None
        self._idle: list[dbapi.Connection] = []
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator["dbapi.Connection"]:
        """Yields a connection in a new transaction, and ends it without a commit. Raises adbc_driver_manager.Error."""
        root, connection = self._begin()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        try:
            connection.rollback()
            # An idle one must not be in a transaction.
            connection.adbc_connection.set_autocommit(True)
        except AdbcError:
            connection.close()
            return
        with self._lock:
            is_kept = root is self._root and len(self._idle) < MAX_IDLE
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def close(self) -> None:
        """Closes every connection: those in use when they are given back."""
        with self._lock:
            closing = [*self._idle, *([] if self._root is None else [self._root])]
            self._idle, self._root = [], None
        for connection in closing:
            connection.close()

    def _begin(self) -> tuple["dbapi.Connection", "dbapi.Connection"]:
        while True:
            with self._lock:
                root, idle = self._open_root(), self._idle.pop() if self._idle else None
                connection = root.adbc_clone() if idle is None else idle
            try:
                connection.adbc_connection.set_autocommit(False)
                with connection.cursor() as cursor:
                    for statement in BEGINNING:
                        cursor.execute(statement)
            except AdbcError:
                connection.close()
                if idle is None:
                    raise
                # It ended while idle.
            else:
                return root, connection

    def _open_root(self) -> "dbapi.Connection":
        """ADBC first reads the catalogue of types, ten times as long as connecting. Clones share it."""
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - 0.4 s with pyarrow, and few processes read tables

        if self._root is None:
            # It stays open, so it must never be in a transaction.
            self._root = dbapi.connect(self._url, autocommit=True)
        return self._root
