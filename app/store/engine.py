"""Connections to Postgres: one way to spell its address, one way to open a session."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoFreeConnection
from sqlalchemy.orm import Session, sessionmaker

from app.errors import SetupError, Unavailable

SESSION_OPTIONS = "-c timezone=UTC -c jit=off -c idle_in_transaction_session_timeout=60s"
"""JIT off: these statements are short, and a peer lost a factor of 50 to it."""


def parse_url(url: str) -> URL:
    """The address as SQLAlchemy's psycopg dialect wants it; accepts `postgres://` and `postgresql://`.

    Raises:
        SetupError: it is not the address of a Postgres.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise SetupError("DATABASE_URL cannot be read: write it as postgresql://user:password@host:5432/database.") from error
    if parsed.get_backend_name() not in {"postgres", "postgresql"}:
        raise SetupError(f"DATABASE_URL names a {parsed.get_backend_name()} database; only Postgres is supported.")
    return parsed.set(drivername="postgresql+psycopg")


def libpq_url(url: str) -> str:
    """The same address for libpq itself (psycopg's own connections, ADBC)."""
    return parse_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


class Database:
    """The process's pool of connections. Safe to share between threads; `close()` it at the end."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = libpq_url(url)
        self.engine: Engine = create_engine(
            parse_url(url),
            pool_size=pool_size,
            max_overflow=10,
            pool_pre_ping=True,
            connect_args={"options": SESSION_OPTIONS, "application_name": "evenhand", "connect_timeout": 5},
        )
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session whose work is committed when the block ends, or rolled back when it raises.

        Raises:
            Unavailable: Postgres does not answer, or went away meanwhile.
        """
        try:
            with self._sessions.begin() as session:
                yield session
        except (OperationalError, NoFreeConnection) as error:
            raise Unavailable("The database does not answer. Nothing was changed; try again in a moment.") from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise Unavailable("The database went away. Nothing was changed; try again in a moment.") from error
            raise

    def close(self) -> None:
        """Gives every pooled connection back."""
        self.engine.dispose()
