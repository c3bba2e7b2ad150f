"""Databases of tests: one test after another is lent the same one, emptied in between, because a new one takes thirty times as long."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

from tests.connections import KEEPER, connect
from tests.progress import wait_until

UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For a server whose data nobody needs after a power cut. Tests of crashes run servers of their own, with the product's settings."""

TRUNCATED_BYTES = 1_000_000
"""From this size on a table is truncated, so that dead rows do not pile up. Below it, deleting its rows takes a tenth of the time."""

_SCHEMA = """
    SELECT oid, relname, relkind::text, relispartition FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT attrelid, attname, atttypid::text, attnotnull FROM pg_attribute
        WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
    UNION ALL SELECT oid, conname, contype::text, convalidated FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT oid, proname, prokind::text, true FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT oid, tgname, 'trigger', tgenabled = 'O' FROM pg_trigger
    UNION ALL SELECT oid, nspname, 'schema', true FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'
"""
"""Everything that a test may create, change or drop, by number: what was dropped and created again is another one."""

_OWN_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema'"

_TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"

_VERSIONS = """
    SELECT count(*), max(xmin::text::bigint) FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_attribute WHERE attrelid >= 16384
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_constraint WHERE oid >= 16384
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_trigger WHERE oid >= 16384
    UNION ALL SELECT count(*), max(xmin::text::bigint) FROM pg_namespace
"""
"""The number of rows of each catalogue and the last transaction that wrote one: while they are the same, so is the schema.

Postgres itself has the numbers below 16384.
"""

_OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL (%s)"
"""Connections to this database but ours and idle ones that are kept."""

_PARENTS = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
"""Tables, of which a partitioned one has the rows of its partitions."""

_SEQUENCES = """
    SELECT seqrelid::regclass::text, pg_sequence_last_value(seqrelid) FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""

_RESTART = """
    SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""


class Databases:
    """Copies of one template. Tests see no trace of each other: no rows or tables, no connections in use, and numbers start at 1 again."""

    def __init__(self, postgres_url: str, template: str) -> None:
        self._postgres_url = postgres_url
        self._template = template
        self._free: list[_Copy] = []

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The address of an empty copy, nobody else's until the block ends."""
        copy = self._free.pop() if self._free else self._made()
        yield copy.url
        if copy.is_emptied():
            self._free.append(copy)
        else:
            self._drop(copy)

    def drop(self) -> None:
        """Drops the copies that nobody uses."""
        while self._free:
            self._drop(self._free.pop())

    def _made(self) -> "_Copy":
        name = f"test_{uuid4().hex}"
        execute(self._postgres_url, f"CREATE DATABASE {name} TEMPLATE {self._template}")
        KEEPER.watch(name)
        return _Copy(name, address_of(self._postgres_url, name))

    def _drop(self, copy: "_Copy") -> None:
        copy.close()
        KEEPER.forget(copy.name)
        execute(self._postgres_url, f"DROP DATABASE {copy.name} WITH (FORCE)")


class _Copy:
    """One database, with a connection of its own that empties it."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url
        # Foreign keys need not be followed from row to row: everything goes. A later SET would make Postgres plan all statements again.
        self._connection = psycopg.connect(libpq(url), autocommit=True, options="-c session_replication_role=replica")
        self._schema = self._schema_now()
        self._versions = self._versions_now()
        tables = self._tables_now()
        self._look = _look(tables)
        self._tables = tables
        self._schemas = self._schemas_now()
        self._seeded = {table: self._rows(table) for table, size in self._sizes().items() if size is not None}

    def is_emptied(self) -> bool:
        """Takes the rows, tables and schemas of a test away. False if it changed something else, so that the database is of no more use."""
        try:
            self._end_connections()
            is_as_before = self._versions_now() == self._versions
            with self._connection.transaction():
                if not is_as_before:
                    self._drop_new_schemas()
                    self._drop_new_tables()
                is_truncated = self._empty()
            # A truncated table has another version.
            has_its_schema = (is_as_before and not is_truncated) or self._has_its_schema()
            return has_its_schema and all(self._rows(table) == rows for table, rows in self._seeded.items())
        except psycopg.Error:
            return False

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def _end_connections(self) -> None:
        parameters = [KEEPER.pids(self.name)]
        if self._connection.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}", parameters).fetchall():
            # Postgres itself would look only every 100 ms whether they have ended.
            wait_until(
                lambda: self._connection.execute(f"SELECT NOT EXISTS (SELECT {_OTHERS})", parameters).fetchone() == (True,),
                "connections end",
            )

    def _drop_new_schemas(self) -> None:
        for schema in self._schemas_now() - self._schemas:
            self._connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))

    def _drop_new_tables(self) -> None:
        for table in self._tables_now() - self._tables:
            self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(table)))

    def _empty(self) -> bool:
        """Deletes all rows but the seeded ones. Returns whether it truncated a table."""
        filled = {table: size for table, size in self._sizes().items() if size is not None and table not in self._seeded}
        for table in filled:
            self._connection.execute(f'DELETE FROM "{table}"')  # noqa: S608 - a table of ours
        large = [sql.Identifier(table) for table, size in filled.items() if size > TRUNCATED_BYTES]
        if large:
            self._connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(large)))
        self._connection.execute(_RESTART)
        return bool(large)

    def _tables_now(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._connection.execute(_TABLES))

    def _schemas_now(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._connection.execute(_OWN_SCHEMAS))

    def _sizes(self) -> dict[str, int | None]:
        """The bytes of each table; None if it has no rows."""
        return dict(zip(sorted(self._tables), self._connection.execute(self._look).fetchone() or (), strict=True))

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608 - a table of ours

    def _has_its_schema(self) -> bool:
        if self._schema_now() != self._schema:
            return False
        self._versions = self._versions_now()
        return True

    def _schema_now(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(self._connection.execute(_SCHEMA))

    def _versions_now(self) -> list[tuple[int, ...]]:
        return self._connection.execute(_VERSIONS).fetchall()


def _look(tables: Iterable[str]) -> str:
    """The statement that looks for rows in every table."""
    sizes = (f'CASE WHEN EXISTS (SELECT FROM "{table}") THEN pg_relation_size(\'"{table}"\'::regclass) END' for table in sorted(tables))
    return f"SELECT {', '.join(sizes)}"


class Snapshot:
    """Rows and sequences of a database. Tables that are filled now must be there when they are restored."""

    def __init__(self, url: str) -> None:
        with connect(libpq(url)) as connection:
            tables = [table for (table,) in connection.execute(_PARENTS)]
            self._rows = {table: rows for table in tables for rows in [_copy_out(connection, table)] if rows}
            self._sequences = connection.execute(_SEQUENCES).fetchall()

    def restore(self, url: str) -> None:
        """Puts the rows into that database, which has none."""
        with connect(libpq(url)) as connection, connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            for table, rows in self._rows.items():
                cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))  # what the migrations put there
                with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy:
                    copy.write(rows)
            cursor.executemany("SELECT setval(%s::regclass, %s)", self._sequences)


def _copy_out(connection: psycopg.Connection[Any], table: str) -> bytes:
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(sql.Identifier(table))) as copy:
        return b"".join(bytes(part) for part in copy)


def address_of(url: str, database: str) -> str:
    """The same server's address with another database."""
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def libpq(url: str) -> str:
    """The address for psycopg itself."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def execute(url: str, statement: str) -> None:
    """Runs one statement outside any transaction."""
    with psycopg.connect(libpq(url), autocommit=True) as connection:
        connection.execute(statement.encode())
