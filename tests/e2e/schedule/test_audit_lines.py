"""Workers print each sealed audit event as the line of an export; what a kill leaves out shows by position, and can be filled."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from app.access.audit.activity_queries import record_activity
from app.database.engine import Database
from tests.progress import wait_until

pytestmark = pytest.mark.thorough


def add_events(database: Database, count: int) -> None:
    with database.transaction() as session:
        for no in range(count):
            record_activity(session, "Zoë", "deployment.changed", subject="two\nlines", details={"no": no, "deployment": "credit"})


def count_sealed(database: Database) -> int:
    with database.transaction() as session:
        return int(session.scalar(text("SELECT count(position) FROM audit_events")) or 0)


def environment(database: Database, folder: Path) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": database.url, "EVENHAND_DATA_DIR": str(folder)}


@contextmanager
def worker(database: Database, folder: Path, output: int) -> Iterator[None]:
    """A worker with that descriptor as standard output, which is killed when the block ends."""
    command = (sys.executable, "-m", "app.cli", "worker")
    with subprocess.Popen(command, env=environment(database, folder), stdout=output, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def print_events(database: Database, folder: Path, printed: Path, count: int) -> None:
    """Adds events, and returns when a worker has printed the last one; it is killed then."""
    last = count_sealed(database) + count
    add_events(database, count)
    with printed.open("ab") as output, worker(database, folder, output.fileno()):
        wait_until(lambda: f'{{"position": {last},' in printed.read_text() and printed.read_text().endswith("\n"))


def seal_without_printing(database: Database, folder: Path, count: int) -> None:
    """Adds events, and kills a worker that has sealed them while it waits for somebody to read its output."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writer, True)
    sealed = count_sealed(database) + count
    add_events(database, count)
    with worker(database, folder, writer):
        wait_until(lambda: count_sealed(database) == sealed)
    os.close(reader)
    os.close(writer)


def audit(database: Database, folder: Path, *arguments: str) -> str:
    command = (sys.executable, "-m", "app.cli", "audit", *arguments)
    return subprocess.run(command, env=environment(database, folder), capture_output=True, text=True, check=False).stdout


def test_what_workers_print_is_the_export_also_where_one_was_killed(database: Database, tmp_path: Path) -> None:
    printed, export = tmp_path / "printed.jsonl", tmp_path / "export.jsonl"
    print_events(database, tmp_path, printed, 3)
    print_events(database, tmp_path, printed, 2)
    audit(database, tmp_path, "export", str(export))

    assert [json.loads(line)["position"] for line in printed.read_text().splitlines()] == [1, 2, 3, 4, 5]
    assert printed.read_text() == export.read_text()
    assert audit(database, tmp_path, "verify", "--file", str(printed)).startswith("5 events are intact.")


@pytest.mark.nightly
def test_a_kill_between_sealing_and_printing_leaves_a_gap_that_an_export_fills(database: Database, tmp_path: Path) -> None:
    printed, gap = tmp_path / "printed.jsonl", tmp_path / "gap.jsonl"
    print_events(database, tmp_path, printed, 2)
    seal_without_printing(database, tmp_path, 3)
    print_events(database, tmp_path, printed, 1)
    lines = printed.read_text().splitlines(keepends=True)
    with_gap = audit(database, tmp_path, "verify", "--file", str(printed))
    audit(database, tmp_path, "export", str(gap), "--from", "3")
    printed.write_text("".join([*lines[:2], *gap.read_text().splitlines(keepends=True)[:3], *lines[2:]]))

    assert [json.loads(line)["position"] for line in lines] == [1, 2, 6]
    assert "The event of position 3 is missing; the next one found has position 6." in with_gap
    assert audit(database, tmp_path, "verify", "--file", str(printed)).startswith("6 events are intact.")
