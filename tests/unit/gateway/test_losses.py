"""Counts of records that were answered and not kept: on disk before the answer, also where the disk is full."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from app.intake.gateway import service as losses
from app.intake.gateway.service import LOSSES_FILE, SLOT_BYTES, Losses
from tests.builders.disks import fill_disk, mounted_disk
from tests.scenes import NOON


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is sent to the database: the senders and their totals."""
    sent: list[Any] = []
    monkeypatch.setattr(losses, "_store_totals", lambda _database, written: sent.append(written))
    return sent


def count(folder: Path, stored: list[Any], now: datetime = NOON) -> int:
    """What the next process of the folder sends."""
    Losses(folder).send(Mock(), now=now)
    return sum(stored[-1].totals.values()) if stored else 0


def test_what_is_lost_while_the_counts_are_stored_is_sent_next_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Losses(tmp_path)
    sent: list[list[int]] = []

    def store(_database: object, written: Any) -> None:  # noqa: ANN401 - of the module
        sent.append(sorted(written.totals.values()))
        if len(sent) == 1:
            counted.add(1, NOON, 2)

    monkeypatch.setattr(losses, "_store_totals", store)
    counted.add(1, NOON, 1)
    for _ in range(4):
        counted.send(Mock(), now=NOON)

    assert sent == [[1], [3]]


def test_what_is_written_survives_the_process_and_ends_once_it_is_sent(tmp_path: Path, stored: list[Any]) -> None:
    counted = Losses(tmp_path)
    counted.add(1, NOON, 2)
    counted.write()

    assert count(tmp_path, stored) == 2
    counted.add(1, NOON, 1)
    counted.write()
    assert count(tmp_path, stored) == 3, "totals of an hour grow"
    assert stored[0].sender == stored[1].sender
    count(tmp_path, stored, NOON + timedelta(hours=3))
    assert count(tmp_path, stored) == 0, "the hour is over"
    counted.add(1, NOON, 5)
    counted.write()
    assert count(tmp_path, stored) == 5
    assert stored[-1].sender != stored[0].sender, "a copy of the folder must not count under its name"


def test_threads_and_processes_of_a_folder_count_together(tmp_path: Path, stored: list[Any]) -> None:
    processes = [Losses(tmp_path) for _ in range(3)]

    def lose(number: int) -> None:
        mine = processes[number % 3]
        mine.add(number % 7, NOON, 1)
        mine.write()

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lose, range(600)))

    assert count(tmp_path, stored) == 600
    assert Counter(place.deployment_no for place in stored[-1].totals) == Counter(range(7))


@pytest.mark.parametrize("cut", ["head", "data"])
def test_a_write_that_was_cut_short_leaves_the_one_before(tmp_path: Path, stored: list[Any], cut: str) -> None:
    counted = Losses(tmp_path)
    for _ in range(2):
        counted.add(1, NOON, 1)
        counted.write()
    assert (tmp_path / LOSSES_FILE).stat().st_size == 2 * SLOT_BYTES
    with (tmp_path / LOSSES_FILE).open("r+b") as file:
        file.seek(0 if cut == "head" else 60)  # the second write is in the first slot
        file.write(b"\xff" * 12)

    assert count(tmp_path, stored) == 1


def test_what_the_disk_refuses_is_written_next_time(tmp_path: Path, stored: list[Any]) -> None:
    counted = Losses(tmp_path / "folder")
    (tmp_path / "folder").write_text("no folder")
    counted.add(1, NOON, 1)
    with pytest.raises(OSError, match="exists"):
        counted.write()

    (tmp_path / "folder").unlink()
    counted.write()
    assert count(tmp_path / "folder", stored) == 1


def test_more_counts_than_a_slot_holds_are_refused_and_those_before_stay(tmp_path: Path, stored: list[Any]) -> None:
    counted = Losses(tmp_path)
    counted.add(1, NOON, 1)
    counted.write()
    for number in range(20_000):
        counted.add(number, NOON, 1)
    with pytest.raises(OSError, match="large"):
        counted.write()

    assert count(tmp_path, stored) == 1


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    with mounted_disk(tmp_path / "image", tmp_path / "disk", 8 * 2**20):
        yield tmp_path / "disk"


@pytest.mark.thorough
def test_a_full_disk_takes_every_count(disk: Path, stored: list[Any]) -> None:
    counted = Losses(disk)
    counted.write()
    fill_disk(disk)

    for number in range(2000):
        counted.add(number % 50, NOON, 1)
        counted.write()

    with pytest.raises(OSError, match="space"):
        (disk / "more").write_bytes(b"x" * 100_000)
    assert count(disk, stored) == 2000


def test_an_hour_that_a_corrected_clock_shows_again_counts_in_full(tmp_path: Path, stored: list[Any]) -> None:
    counted, ahead = Losses(tmp_path), NOON + timedelta(hours=3)
    for at, records in ((NOON, 5), (ahead, 1), (NOON, 2)):
        counted.add(1, at, records)
        counted.send(Mock(), now=at)
    of_noon: Counter[str] = Counter()
    for written in stored:
        totals = {place.hour: records for place, records in written.totals.items()}
        of_noon |= Counter({written.sender: totals.get(NOON, 0)})

    assert of_noon.total() == 7
