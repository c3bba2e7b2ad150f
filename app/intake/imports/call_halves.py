"""Joins the halves of calls; they wait on the disk."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple
from tempfile import TemporaryDirectory

from ...base.values import frozen
from .input_file import ImportRow


@frozen
class Half:
    call: str
    is_request: bool
    body: bytes
    file: str
    line: int
    time: str | None


class Halves:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE halves (call TEXT, is_request INTEGER, body BLOB, file TEXT, line INTEGER, time "
            "TEXT, no INTEGER PRIMARY KEY AUTOINCREMENT, UNIQUE (call, is_request))"
        )

    def match(self, half: Half) -> Half | None:
        """None if this half has to wait. A repeated half is dropped."""
        key = (half.call, not half.is_request)
        row = self._database.execute(
            "SELECT call, is_request, body, file, line, time FROM halves WHERE call = ? AND is_request = ?",
            key,
        ).fetchone()
        if row is not None:
            self._database.execute("DELETE FROM halves WHERE call = ? AND is_request = ?", key)
            return Half(*row)
        self._database.execute(
            "INSERT OR IGNORE INTO halves (call, is_request, body, file, line, time) VALUES (?, ?, ?, ?, ?, "
            "?)",
            astuple(half),
        )
        return None

    def orphans(self) -> Iterator[ImportRow]:
        for is_request, file, line in self._database.execute(
            "SELECT is_request, file, line FROM halves ORDER BY no"
        ):
            present, missing = ("request", "answer") if is_request else ("answer", "request")
            yield ImportRow(
                file=file,
                line=line,
                field="id",
                reason=f"is of a {present} whose {missing} is in none of the files",
            )


@contextmanager
def open_halves() -> Iterator[Halves]:
    with (
        TemporaryDirectory(prefix="evenhand-import-") as folder,
        closing(sqlite3.connect(f"{folder}/halves", isolation_level=None)) as connection,
    ):
        yield Halves(connection)
