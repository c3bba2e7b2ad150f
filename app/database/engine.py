"""Connections to Postgres."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import structlog
from adbc_driver_manager import Error as AdbcError
from sqlalchemy import Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.orm import Session, sessionmaker

from ..base.clock import monotonic_seconds
from ..base.errors import SetupError, Unavailable
from .binary_rows import write_json


class Sealer(Protocol):
    """Encrypts secrets that are stored."""

    def seal(self, plain: bytes) -> bytes: ...

    def unseal(self, sealed: bytes) -> bytes:
        """Returns what was sealed; raises SetupError for another key."""


if TYPE_CHECKING:
    from adbc_driver_postgresql import dbapi
    from sqlalchemy.engine.interfaces import DBAPIConnection

BEGIN_STATEMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

SESSION_SETTINGS = (
    "SET client_encoding = 'UTF8'",
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO'",
    "SET IntervalStyle = 'postgres'",
    "SET extra_float_digits = 1",
    "SET jit = off",  # our statements are short
    "SET idle_in_transaction_session_timeout = '60s'",
)
"""Reading depends on them. Poolers refuse them at the start of a connection."""

MAX_IDLE_CONNECTIONS = 2


class ArrowPool:
    """Pool of connections that read tables as Arrow. Safe for threads; after `close()` it opens new ones."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._root: dbapi.Connection | None = None
        self._idle: list[dbapi.Connection] = []
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator["dbapi.Connection"]:
        """Reads only, and ends without a commit. Raises adbc_driver_manager.Error."""
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
            is_kept = root is self._root and len(self._idle) < MAX_IDLE_CONNECTIONS
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def close(self) -> None:
        with self._lock:
            closing = [*self._idle, *([] if self._root is None else [self._root])]
            self._idle, self._root = [], None
        for connection in closing:
            connection.close()

    def _begin(self) -> tuple["dbapi.Connection", "dbapi.Connection"]:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - 0.4 s with pyarrow, and few processes read tables

        while True:
            with self._lock:
                if self._root is None:
                    # ADBC first reads the catalogue of types, ten times as long as connecting. Clones share
                    # it.
                    # It stays open, so it must never be in a transaction.
                    self._root = dbapi.connect(self._url, autocommit=True)
                root = self._root
                idle = self._idle.pop() if self._idle else None
                connection = root.adbc_clone() if idle is None else idle
            try:
                with connection.cursor() as cursor:
                    if idle is None:
                        connection.adbc_connection.set_autocommit(True)
                        for statement in SESSION_SETTINGS:
                            cursor.execute(statement)
                    connection.adbc_connection.set_autocommit(False)
                    cursor.execute(BEGIN_STATEMENT)
            except AdbcError:
                connection.close()
                if idle is None:
                    raise
                # It ended while idle.
            else:
                return root, connection


_REFUSAL_CODES = frozenset({"42501", "25006"})


def parse_url(url: str) -> URL:
    # Otherwise a part of the password would be taken for the host, and shown.
    credentials = url.partition("://")[2].partition("?")[0].rpartition("@")[0]
    if "@" in credentials or "/" in credentials:
        raise SetupError(
            "DATABASE_URL cannot be read: its user or password contains @ or /: encode them as %40 and %2F, "
            "or set DATABASE_PASSWORD."
        )
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # a port that is not a number
        raise SetupError(
            "DATABASE_URL cannot be read: write it as postgresql://user:password@host:5432/database,"
            " and several hosts as postgresql://user:password@/database?host=first,second&port=5432,5432."
        ) from error
    if parsed.get_backend_name() not in {"postgres", "postgresql"}:
        raise SetupError(
            f"DATABASE_URL names a {parsed.get_backend_name()} database; only Postgres is supported."
        )
    return parsed.set(drivername="postgresql+psycopg")


def write_libpq_url(url: str) -> str:
    # By default the password would become `***`.
    address, mark, query = (
        parse_url(url).set(drivername="postgresql").render_as_string(hide_password=False).partition("?")
    )
    # Postgres' own library reads %20 alone as a blank.
    return address.replace(" ", "%20") + mark + query.replace("+", "%20")


def name_address(url: str) -> str:
    parsed = parse_url(url)
    # A socket's folder is a parameter, maybe several times.
    host = parsed.host or ",".join(parsed.normalized_query.get("host", ())) or "the default host"
    port = parsed.port or ",".join(parsed.normalized_query.get("port", ()))
    where = f"{host}:{port}" if port else host
    return f"{parsed.database or 'of no name'} at {where} (user {parsed.username or 'of no name'})"


def describe_cause(error: DBAPIError) -> str:
    lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
    # libpq names the address first; psycopg lists each of several on a line.
    cause = next(
        (line for line in lines if "failed: " in line), lines[0] if lines else type(error.orig).__name__
    )
    return cause.rpartition("failed: ")[2].removeprefix("FATAL:").removeprefix("ERROR:").strip().rstrip(".")


def _begin_session(connection: "DBAPIConnection", _: object) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute("; ".join(SESSION_SETTINGS))
    connection.commit()


class Database:
    """Pool of connections of the process. Safe for threads; `close()` it at the end."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = write_libpq_url(url)
        self.engine: Engine = create_engine(
            parse_url(url),
            pool_size=pool_size,
            max_overflow=10,
            pool_pre_ping=True,
            json_serializer=write_json,
            hide_parameters=True,  # errors are logged, and parameters hold names of records and people
            connect_args={"application_name": "evenhand", "connect_timeout": 5, "client_encoding": "UTF8"},
        )
        self._is_closed = False
        event.listen(self.engine, "connect", _begin_session)
        event.listen(self.engine, "checkin", self._close_late)
        # Statements write past the session's objects, which are read again.
        options = {"populate_existing": True, "synchronize_session": False}
        self._sessions = sessionmaker(self.engine, expire_on_commit=False, execution_options=options)
        self.arrow = ArrowPool(self.url)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Commits when the block ends, rolls back when it raises. Raises Unavailable."""
        try:
            with self._sessions.begin() as session:
                yield session
        except (OperationalError, NoFreeConnection) as error:
            raise Unavailable(
                "The database does not answer. Nothing was changed; try again in a moment."
            ) from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise Unavailable(
                    "The database went away. Nothing was changed; try again in a moment."
                ) from error
            raise

    @contextmanager
    def operator_connection(self) -> Iterator[Connection]:
        """Runs one transaction of an operator's command: an error names the address, without its password,
        and the cause.

        Raises Unavailable.
        """
        try:
            with self.engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._build_unavailable(error) from error

    @contextmanager
    def refusals_named(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) in _REFUSAL_CODES:
                raise self._build_unavailable(error) from error
            raise

    def _build_unavailable(self, error: DBAPIError) -> Unavailable:
        return Unavailable(
            f"The database {name_address(self.url)} cannot be used: {describe_cause(error)}. Look whether "
            "Postgres runs there, and at the host, port, user, password and name in DATABASE_URL."
        )

    def close(self) -> None:
        self._is_closed = True
        self.engine.dispose()
        self.arrow.close()

    def _close_late(self, connection: "DBAPIConnection | None", _: object) -> None:
        # Disposing closes what is in the pool; what comes back later would stay open.
        if self._is_closed and connection is not None:
            connection.close()


def current_time(session: Session) -> datetime:
    return session.execute(select(func.now())).scalar_one()


Parameter = str | int | datetime


class ArrowReader:
    """Reads tables as Arrow; all queries see the same moment. Belongs to one thread."""

    def __init__(self, connection: "dbapi.Connection") -> None:
        self._connection = connection

    def table(self, query: str, parameters: Sequence[Parameter] = ()) -> pa.Table:
        """Parameters are written `$1`, `$2`. Raises Unavailable."""
        with self._cursor() as cursor:
            cursor.execute(query, parameters=list(parameters) or None)
            return cursor.fetch_arrow_table()

    @contextmanager
    def batches(self, query: str) -> Iterator[pa.RecordBatchReader]:
        """Reads more than memory holds. Raises Unavailable, and OSError between two batches."""
        with self._cursor() as cursor:
            cursor.execute(query)
            yield cursor.fetch_record_batch()

    @contextmanager
    def _cursor(self) -> Iterator["dbapi.Cursor"]:
        try:
            with self._connection.cursor() as cursor:
                yield cursor
        except AdbcError as error:
            raise Unavailable(
                f"The database did not answer a read ({type(error).__name__}); try again in a moment."
            ) from error


@contextmanager
def arrow_reader(database: Database) -> Iterator[ArrowReader]:
    """Raises Unavailable."""
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(database.arrow.transaction())
        except AdbcError as error:
            raise Unavailable("The database does not answer; try again in a moment.") from error
        yield ArrowReader(connection)


PATIENCE_SECONDS = 0.05
"""Wait for a replica that is a little late."""

REPLICA_PAUSE_SECONDS = 5.0
"""Time without questions to a replica that was late."""

_POLL_SECONDS = 0.005
_WRITTEN_POSITION = text("SELECT pg_current_wal_flush_lsn()::text")
# A promoted replica is another database from then on.
_HAS_REPLAYED = text("SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= CAST(:position AS pg_lsn)")

log = structlog.get_logger("evenhand.database")


class Replica:
    """A streaming replica that answers readers while it has everything committed before.

    Safe for threads; `close()` it.
    """

    def __init__(self, url: str, primary: Database) -> None:
        self._database = Database(url)
        self._primary = primary
        self._is_used = True
        self._asked_again_at = 0.0

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Uses the replica if it is up to date. Raises Unavailable."""
        chosen = self._primary if monotonic_seconds() < self._asked_again_at else self._choose()
        with chosen.transaction() as session:
            yield session

    def close(self) -> None:
        self._database.close()

    def _choose(self) -> Database:
        with self._primary.transaction() as session:
            position = session.scalar(_WRITTEN_POSITION)
        try:
            reason = None if self._has_replayed(position) else "it is late, or is no replica any more"
        except (Unavailable, SQLAlchemyError) as error:
            reason = str(error)
        was_used, self._is_used = self._is_used, reason is None
        if reason is None:
            if not was_used:
                log.info("replica_used")
            return self._database
        self._asked_again_at = monotonic_seconds() + REPLICA_PAUSE_SECONDS
        if was_used:
            log.warning("replica_left", reason=reason)
        return self._primary

    def _has_replayed(self, position: str | None) -> bool:
        until = monotonic_seconds() + PATIENCE_SECONDS
        while True:
            with self._database.transaction() as session:
                if session.scalar(_HAS_REPLAYED, {"position": position}):
                    return True
            if monotonic_seconds() >= until:
                return False
            time.sleep(_POLL_SECONDS)
