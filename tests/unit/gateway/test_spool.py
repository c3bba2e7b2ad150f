"""Entries on disk survive the process that wrote them, and leave when they are stored."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.intake.gateway import spool as module
from app.intake.gateway.spool import Spool

MANY = 2**30


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = Spool(tmp_path, max_bytes=MANY)
    yield spool
    spool.close()


def files(root: Path) -> list[Path]:
    return sorted(root.glob("*/*.spool"))


def test_entries_are_taken_in_the_order_of_writing_and_only_once(spool: Spool) -> None:
    for number in range(5):
        assert spool.append(b"%d" % number)

    assert spool.take(20) == [b"0", b"1", b"2"]
    assert spool.take(MANY) == [b"3", b"4"]
    assert spool.take(MANY) == []


def test_what_is_settled_is_deleted(spool: Spool, tmp_path: Path) -> None:
    spool.append(b"a")
    spool.take(MANY)
    spool.sync()
    assert len(files(tmp_path)) == 1, "it is not stored yet"

    spool.settle()
    spool.sync()

    assert (files(tmp_path), spool.waiting_bytes) == ([], 0)


def test_what_came_after_the_settled_entries_stays(spool: Spool, tmp_path: Path) -> None:
    spool.append(b"a")
    spool.take(MANY)
    spool.settle()
    spool.append(b"b")
    spool.sync()

    assert len(files(tmp_path)) == 1
    assert spool.take(MANY) == [b"b"]


def test_a_long_queue_is_many_files_and_each_leaves_when_it_is_settled(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SEGMENT_BYTES", 100)
    for _ in range(30):
        spool.append(b"x" * 20)
    before = len(files(tmp_path))
    spool.take(300)
    spool.settle()

    assert before > len(files(tmp_path)) > 1
    assert len(spool.take(MANY)) == 19


def test_a_full_spool_takes_nothing_until_there_is_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path, max_bytes=100)
    assert spool.append(b"x" * 80)
    assert not spool.append(b"x" * 80)
    spool.take(MANY)
    spool.settle()
    spool.sync()

    assert spool.append(b"x" * 80)
    spool.close()


def test_a_folder_that_cannot_be_written_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert not Spool(tmp_path / "file", max_bytes=MANY).append(b"a")


def test_the_living_keep_their_entries_and_the_dead_leave_theirs(spool: Spool, tmp_path: Path) -> None:
    spool.append(b"own")
    other = Spool(tmp_path, max_bytes=MANY)
    assert other.adopt() == []

    program = "import sys, os; from pathlib import Path; from app.intake.gateway.spool import Spool\n"
    program += "s = Spool(Path(sys.argv[1]), max_bytes=10**9); s.append(b'left'); s.append(b'behind'); os.kill(os.getpid(), 9)"
    died = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, cwd=Path(__file__).parents[3])
    assert died.returncode == -9

    assert len(spool.adopt()) == 1
    assert spool.take(MANY) == [b"left", b"behind", b"own"]
    spool.settle()
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1, "the folder of the dead process is gone"


def test_nobody_but_the_owner_reads_what_waits(spool: Spool, tmp_path: Path) -> None:
    spool.append(b"personal data")

    assert spool.folder.stat().st_mode & 0o077 == 0
    assert files(tmp_path)[0].stat().st_mode & 0o077 == 0


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(st.binary(max_size=40), min_size=1, max_size=6), data=st.data())
@pytest.mark.thorough
def test_a_file_that_was_cut_short_gives_its_complete_entries(
    entries: list[bytes], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("spool")
    spool = Spool(root, max_bytes=MANY)
    for entry in entries:
        spool.append(entry)
    spool.close()
    (file,) = files(root)
    length = data.draw(st.integers(0, file.stat().st_size))
    os.truncate(file, length)

    after = Spool(root, max_bytes=MANY)
    after.adopt()
    found = after.take(MANY)
    after.close()

    ends = [sum(len(entry) + 8 for entry in entries[: number + 1]) for number in range(len(entries))]
    assert found == entries[: sum(end <= length for end in ends)]
