"""Databases that SQLAlchemy has a dialect for, if its driver is installed. URLs have passwords, so no text of an error holds one."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from ..errors import InvalidInput, SetupError
from ..telemetry.secrets import MASK, without_secrets

POSTGRES = ("postgresql://", "postgres://")

SYSTEM_SCHEMAS = frozenset(
    {"information_schema", "mysql", "nullid", "performance_schema", "sqlj", "sys", "syscat", "syscs_diag", "syscs_util", "sysfun", "sysibm"}
    | {"sysproc", "sysstat", "system"}
)
"""Schemas of databases themselves, in lower case."""

_IN_UTC = {"mysql": "SET time_zone = '+00:00'", "mariadb": "SET time_zone = '+00:00'"}
"""Statements after which a database gives times with a zone in UTC, where its driver would drop the zone."""


def dialect_problem(url: str) -> str | None:
    """Returns why this Python cannot read a database with that URL; None if it can."""
    try:
        parsed = make_url(url)
        dialect = parsed.get_dialect()
        dialect.import_dbapi()
    except NoSuchModuleError:
        kind = url.partition("://")[0]
        return (
            f"is in a database of the kind {kind}, for which SQLAlchemy has no dialect here: install its package for the service,"
            " its workers and executors of Spark"
        )
    except ImportError as error:
        kind = url.partition("://")[0]
        return (
            f"is in a database of the kind {kind}, whose Python driver is not installed ({error}): install it for the service, its"
            " workers and executors of Spark, or name another driver in EVENHAND_TABLE_DATABASES, as in mysql+pymysql://"
        )
    except (ArgumentError, ValueError):
        return "is in a database whose URL in EVENHAND_TABLE_DATABASES cannot be read"
    if dialect.is_async:
        return f"is in a database with the driver {parsed.drivername}, which cannot be used here: name one that is not asynchronous"
    return None


@contextmanager
def reading(url: str, location: str, field: str) -> Iterator[Connection]:
    """Gives a connection whose results stream.

    Raises:
        InvalidInput: the database refuses what it is asked.
        SetupError: it does not answer, or its driver is not installed.
    """
    name = location.partition("/")[0]
    problem = dialect_problem(url)
    if problem:
        raise SetupError(f"{location} {problem}.")
    parsed = make_url(url)
    engine = _open(parsed, name)
    try:
        connection = engine.connect()
    except (SQLAlchemyError, OSError) as error:
        text = hide_password(first_line(error), parsed)
        message = f"The database {name} of EVENHAND_TABLE_DATABASES does not answer: {text}. Look at its URL and its server."
        # Without the cause, whose text may have the URL.
        raise SetupError(message) from None
    with connection:
        try:
            yield connection
        except SQLAlchemyError as error:
            text = hide_password(first_line(error), parsed)
            if isinstance(error, DBAPIError) and error.connection_invalidated:
                raise SetupError(f"The database {name} of EVENHAND_TABLE_DATABASES went away: {text}.") from None
            raise InvalidInput.of(f"{field}.location", f"{location} cannot be read: {text}") from None


def first_line(error: BaseException) -> str:
    """Returns the first line of what the driver said."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[0] if lines else type(cause).__name__


def hide_password(text: str, url: URL) -> str:
    """Returns the text without the password of the URL, also one among its parameters."""
    secrets = [str(url.password or ""), *(str(value) for key, value in url.query.items() if "pass" in key.lower() or "pwd" in key.lower())]
    for secret in sorted({form for one in secrets if one for form in (one, quote(one), quote(one, safe=""))}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return without_secrets(text)


def _open(url: URL, name: str) -> Engine:
    if url.get_backend_name() == "sqlite":
        file = Path(url.database or "")
        if not file.is_file():
            raise SetupError(f"The database {name} of EVENHAND_TABLE_DATABASES is no file here: mount it, or change its URL.")
        address = f"file:{quote(str(file.resolve()))}?mode=ro"
        return create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool, hide_parameters=True)
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
    statement = _IN_UTC.get(url.get_backend_name())
    if statement is not None:

        @event.listens_for(engine, "connect")
        def use_utc(connection: sqlite3.Connection, _record: object) -> None:  # any driver's connection
            cursor = connection.cursor()
            cursor.execute(statement)
            cursor.close()

    return engine
