"""Connections to the databases of tests, used again by later tests: Postgres takes 6 ms to begin one and to read its catalogue."""

import os
import select
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from adbc_driver_manager import Error as AdbcError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn

from app.database.engine import ArrowPool

OPTIONS_OF_PSYCOPG = frozenset({"autocommit", "prepare_threshold", "context", "row_factory", "cursor_factory"})
"""Arguments of `connect()` that are no property of the server's side."""


class Keeper:
    """Idle connections of this process to databases that tests borrow. Others, and those of a process forked from it, really end."""

    def __init__(self) -> None:
        self._idle: dict[object, list[PGconn]] = defaultdict(list)
        self._databases: set[str] = set()
        self._readers: dict[str, dict[str, KeptReaders]] = defaultdict(dict)
        self._is_on = True
        # The server would take what two processes send on one connection for the words of one.
        os.register_at_fork(after_in_child=self._disown)

    def watch(self, database: str) -> None:
        """Keeps connections to that database from now on."""
        self._databases.add(database)

    def forget(self, database: str) -> None:
        """Ends those to that database."""
        self._databases.discard(database)
        self._end({database})

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Ends all connections, and keeps none while the block runs."""
        self._end(self._databases)
        self._is_on = False
        yield
        self._is_on = True

    def keeps(self, database: str) -> bool:
        """Whether connections to it are kept now."""
        return self._is_on and database in self._databases

    def take(self, key: object) -> PGconn | None:
        """A connection made with these parameters; None if there is none."""
        idle = self._idle[key]
        while idle:
            try:
                connection = idle.pop()
            except IndexError:  # another thread was faster
                return None
            # An idle one has something to say only if the server has ended it.
            if connection.status == ConnStatus.OK and not select.select([connection.socket], [], [], 0)[0]:
                return connection
            connection.finish()
        return None

    def give(self, key: object, connection: PGconn) -> bool:
        """Takes it back without what its last user set, locked, listened to and prepared. False if it is of no more use."""
        try:
            for command in (b"ROLLBACK", b"DISCARD ALL"):
                if connection.exec_(command).status != ExecStatus.COMMAND_OK:
                    return False
        except psycopg.Error:
            return False
        self._idle[key].append(connection)
        return True

    def pids(self, database: str) -> list[int]:
        """The server processes of the idle ones."""
        idle = [
            connection.backend_pid
            for connections in list(self._idle.values())
            for connection in list(connections)
            if connection.db.decode() == database
        ]
        return idle + [pid for readers in self._readers[database].values() for pid in readers.pids()]

    def open_readers(self, url: str) -> ArrowPool:
        """The pool of readers of a database, which all share who open it by the same address: another one may be another role's."""
        try:
            database = str(conninfo_to_dict(url).get("dbname"))
        except psycopg.ProgrammingError:  # a test of an address that cannot be one
            return ArrowPool(url)
        if not self.keeps(database):
            return ArrowPool(url)
        return self._readers[database].setdefault(url, KeptReaders(url))

    def _end(self, databases: set[str]) -> None:
        for database in databases & self._readers.keys():
            for readers in self._readers.pop(database).values():
                readers.end()
        for key, connections in list(self._idle.items()):
            if any(connection.db.decode() in databases for connection in connections):
                del self._idle[key]
                for connection in connections:
                    connection.finish()

    def _disown(self) -> None:
        self._is_on = False


class KeptReaders(ArrowPool):
    """Readers that stay open when a test closes its database. They begin each transaction anew, and hold nothing between two."""

    def close(self) -> None:
        """Does nothing."""

    def end(self) -> None:
        """Closes every connection."""
        super().close()

    def pids(self) -> list[int]:
        """The server processes of those that nobody uses. One that Postgres has ended has none, and is replaced by the product."""
        with self._lock:
            connections = [*self._idle, *([] if self._root is None else [self._root])]
        numbers = []
        for connection in connections:
            try:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_backend_pid()")
                    numbers += [pid for (pid,) in cursor.fetchall()]
            except AdbcError:
                continue
        return numbers


KEEPER = Keeper()


class KeptConnection(psycopg.Connection[Any]):
    """A connection whose server process goes to the next caller when it is closed. For its user it is closed then as any other."""

    _key: object = None

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Self:  # noqa: ANN401 - those of psycopg
        """As psycopg does, or with a server process that is idle."""
        parameters = {name: value for name, value in options.items() if name not in OPTIONS_OF_PSYCOPG}
        if not KEEPER.keeps(str(parameters.get("dbname") or conninfo_to_dict(conninfo).get("dbname"))):
            return super().connect(conninfo, **options)
        key = (conninfo, tuple(sorted(parameters.items())))
        idle = KEEPER.take(key)
        if idle is None:
            made = super().connect(conninfo, **options)
        else:
            made = cls(idle)
            made._autocommit = bool(options.get("autocommit"))
            made.prepare_threshold = options.get("prepare_threshold", 5)
            made.row_factory = options.get("row_factory") or made.row_factory
            made.cursor_factory = options.get("cursor_factory") or made.cursor_factory
            if options.get("context"):
                made._adapters = psycopg.adapt.AdaptersMap(options["context"].adapters)
        made._key = key
        return made

    def close(self) -> None:
        """Gives the server process back, if it can be used again."""
        held = self.pgconn
        if self.closed or self._key is None or not KEEPER.keeps(held.db.decode()) or self._pipeline is not None:
            super().close()
            return
        held.notice_handler = held.notify_handler = None
        if not KEEPER.give(self._key, held):
            super().close()
            return
        self._closed = True
        self.pgconn = _ended()


def connect(url: str, **options: Any) -> KeptConnection:  # noqa: ANN401 - those of psycopg
    """A connection for the statements of a test itself."""
    return KeptConnection.connect(url, **options)


def _ended() -> PGconn:
    """A connection that has ended."""
    global _ENDED  # noqa: PLW0603 - made on first use
    if _ENDED is None:
        _ENDED = psycopg.pq.PGconn.connect_start(b"host=/nowhere")
        _ENDED.finish()
    return _ENDED


_ENDED: PGconn | None = None
