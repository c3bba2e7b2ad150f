"""One asynchronous connection for writing: a whole transaction as one script, its COPY data fed in between.

Uses psycopg's libpq wrapper, because several statements with a COPY among them go to the server in one message:
a write takes three round trips instead of seven, and one that is a single prepared statement takes one. Knows nothing of tables.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeAlias

import psycopg
from psycopg import pq

from ..database.engine import SESSION_OPTIONS

STATEMENT_TIMEOUT_SECONDS = 10
"""Max seconds of a statement of a write, and of a write from its start to its commit: an hour's check waits
30 seconds for writes that began in the hour."""

_OPTIONS = f"{SESSION_OPTIONS} -c statement_timeout={STATEMENT_TIMEOUT_SECONDS}s -c client_min_messages=error"
_CONNECT_SECONDS = 5

LOOK_SECONDS = 1.0
"""Max seconds that the event loop is trusted to report a broken socket."""

Rows: TypeAlias = list[tuple[bytes | None, ...]]
Veto: TypeAlias = Callable[[list[Rows]], Exception | None]


class LinkLost(Exception):
    """The connection is gone or cannot be made. Whether a commit that was under way took place is unknown."""


class StatementFailed(Exception):
    """Postgres refused a statement; the transaction was rolled back. `sqlstate` is its five-character code."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Link:
    """One connection. For one transaction at a time; not for threads."""

    def __init__(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        self._connection = connection  # owns the socket; closing happens through it
        self._pg = connection.pgconn
        self._pg.nonblocking = 1
        self._loop = asyncio.get_running_loop()
        self._socket = self._pg.socket
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._is_lost = False
        self._loop.add_reader(self._socket, self._on_readable)

    @classmethod
    async def open(cls, url: str, *, preparation: bytes = b"") -> "Link":
        """Returns a connection on which `preparation` has been run.

        Raises:
            LinkLost: Postgres cannot be reached.
            StatementFailed: the preparation was refused.
        """
        try:
            connection = await psycopg.AsyncConnection.connect(
                url, autocommit=True, options=_OPTIONS, application_name="evenhand ingest", connect_timeout=_CONNECT_SECONDS
            )
        except psycopg.OperationalError as error:
            raise LinkLost(str(error)) from error
        link = cls(connection)
        if preparation:
            await link.run(preparation)
        return link

    @property
    def is_lost(self) -> bool:
        """Returns whether it is of no more use."""
        return self._is_lost

    async def run(self, script: bytes, feeds: Sequence[bytes] = (), *, veto: Veto | None = None) -> list[Rows]:
        """Returns the rows of each query in the script; `feeds` answer its `COPY … FROM STDIN`s in order.

        `veto` is shown what came before the first COPY; an error that it returns is raised, with everything rolled back.

        Raises:
            StatementFailed: with everything rolled back, also where the script took too long to be committed.
            LinkLost: the connection broke.
        """
        async with self._whole_conversation():
            return await self._run_script(script, feeds, veto)

    async def execute(self, statement: bytes, parameters: Sequence[bytes]) -> Rows:
        """Returns the rows of a prepared statement, after the durable commit of the transaction that it is.

        Raises:
            StatementFailed: with everything rolled back.
            LinkLost: the connection broke; whether the commit took place is unknown.
        """
        async with self._whole_conversation():
            self._require_open()
            self._pg.send_query_prepared(statement, parameters)
            await self._flush()
            rows: Rows = []
            failure: StatementFailed | None = None
            # To the very end: Postgres says that the statement is done before it commits.
            while (result := await self._read_result()) is not None:
                if result.status == pq.ExecStatus.TUPLES_OK:
                    rows = _rows_of(result)
                else:
                    failure = _failure_of(result)
            if failure is not None:
                raise failure
            return rows

    @contextlib.asynccontextmanager
    async def _whole_conversation(self) -> AsyncIterator[None]:
        """Closes the connection if the conversation in the block breaks off.

        Raises:
            LinkLost: the connection broke.
        """
        try:
            yield
        except (psycopg.OperationalError, OSError) as error:
            self.close()
            raise LinkLost(str(error)) from error
        except BaseException:
            # Any exception in between (a cancelled task, say) left a conversation half finished: the server rolls back.
            if self._pg.transaction_status != pq.TransactionStatus.IDLE:
                self.close()
            raise

    async def commit(self) -> None:
        """Ends the transaction that the last `run` left open.

        Raises:
            StatementFailed: it took too long and was rolled back.
            LinkLost: the connection broke; whether the commit took place is unknown.
        """
        if self._loop.time() > self._deadline:
            await self.run(b"ROLLBACK")
            raise _too_late()
        await self.run(b"COMMIT")

    def close(self) -> None:
        """Ends the connection; the server rolls back what is open."""
        if self._is_lost:
            return
        self._is_lost = True
        self._loop.remove_reader(self._socket)
        with contextlib.suppress(OSError, ValueError):
            self._loop.remove_writer(self._socket)
        self._pg.finish()
        _resolve(self._readable)
        _resolve(self._writable)

    async def _run_script(self, script: bytes, feeds: Sequence[bytes], veto: Veto | None) -> list[Rows]:
        self._require_open()
        self._deadline = self._loop.time() + STATEMENT_TIMEOUT_SECONDS
        found: list[Rows] = []
        failure: Exception | None = None
        remaining = iter(feeds)
        self._pg.send_query(script)
        await self._flush()
        while (result := await self._read_result()) is not None:
            status = result.status
            if status == pq.ExecStatus.TUPLES_OK:
                found.append(_rows_of(result))
            elif status == pq.ExecStatus.COPY_IN:
                failure = veto(found) if veto else None
                veto = None
                failure = await self._send_lines(next(remaining)) if failure is None else await self._refuse(failure)
            elif status != pq.ExecStatus.COMMAND_OK:
                failure = failure or _failure_of(result)
        if failure is None:
            return found

        if self._pg.transaction_status != pq.TransactionStatus.IDLE:
            self._pg.send_query(b"ROLLBACK")
            await self._flush()
            while await self._read_result() is not None:
                pass
        raise failure

    def _require_open(self) -> None:
        if self._is_lost:
            raise psycopg.OperationalError("the connection is closed")

    async def _send_lines(self, lines: bytes) -> Exception | None:
        self._pg.put_copy_data(lines)
        await self._flush()
        if self._loop.time() > self._deadline:
            return await self._refuse(_too_late())
        self._pg.put_copy_end()
        await self._flush()
        return None

    async def _refuse(self, failure: Exception) -> Exception:
        """Makes the server end the COPY, and with it the transaction, in an error."""
        self._pg.put_copy_end(b"refused by the sender")
        await self._flush()
        return failure

    async def _read_result(self) -> pq.abc.PGresult | None:
        while self._pg.is_busy():
            self._readable = self._loop.create_future()
            await self._await_socket(self._readable, self._on_readable)
            if self._is_lost:
                raise psycopg.OperationalError("the server closed the connection")
        result = self._pg.get_result()
        if self._pg.status == pq.ConnStatus.BAD:
            raise psycopg.OperationalError("the server closed the connection")
        return result

    async def _flush(self) -> None:
        while self._pg.flush():
            self._writable = self._loop.create_future()
            self._loop.add_writer(self._socket, _resolve, self._writable)
            await self._await_socket(self._writable)
            if self._is_lost:
                raise psycopg.OperationalError("the server closed the connection")
            self._loop.remove_writer(self._socket)

    async def _await_socket(self, event: "asyncio.Future[None]", look: Callable[[], None] = lambda: None) -> None:
        """Waits for the socket's event, or for `LOOK_SECONDS`: then it looks for itself, and the caller waits again if there is nothing.

        A socket that breaks in the wrong moment is dropped by the event loop without a word, and the wait would have no end.
        """

        def look_and_go_on() -> None:
            look()
            _resolve(event)

        timer = self._loop.call_later(LOOK_SECONDS, look_and_go_on)
        try:
            await event
        finally:
            timer.cancel()

    def _on_readable(self) -> None:
        try:
            self._pg.consume_input()
            # Half a result: another event brings the rest.
            if self._pg.is_busy():
                return
        except psycopg.OperationalError:
            self.close()
        _resolve(self._readable)


def _rows_of(result: pq.abc.PGresult) -> Rows:
    return [tuple(result.get_value(row, column) for column in range(result.nfields)) for row in range(result.ntuples)]


def _failure_of(result: pq.abc.PGresult) -> StatementFailed:
    code = result.error_field(pq.DiagnosticField.SQLSTATE) or b"XX000"
    message = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    return StatementFailed(code.decode(), message.decode(errors="replace"))


def _resolve(future: "asyncio.Future[None] | None") -> None:
    if future is not None and not future.done():
        future.set_result(None)


def _too_late() -> StatementFailed:
    return StatementFailed("57014", f"the write took longer than {STATEMENT_TIMEOUT_SECONDS} seconds")
