"""Counts of records that were answered and not kept, while calls and the housekeeping touch them at once."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from app.gateway import losses
from app.gateway.losses import FILE, Losses
from tests.scenes import NOON


def test_what_is_lost_while_the_counts_are_stored_is_sent_next_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Losses("a-process")
    stored: list[list[int]] = []

    def store(_database: object, _sender: str, totals: Mapping[Any, int]) -> None:
        stored.append(sorted(totals.values()))
        if len(stored) == 1:
            counted.add(1, NOON, 2)

    monkeypatch.setattr(losses, "_store", store)
    counted.add(1, NOON, 1)
    counted.write(tmp_path)
    counted.send(Mock(), tmp_path, now=NOON)

    assert counted.has_unsent
    counted.write(tmp_path)
    assert (tmp_path / FILE).read_text() == f'[[1, "{datetime.isoformat(NOON)}", 3]]'
    counted.send(Mock(), tmp_path, now=NOON)
    assert stored == [[1], [3]]
    assert not counted.has_unsent
    assert not (tmp_path / FILE).exists()


def test_counts_that_the_disk_refused_are_written_next_time(tmp_path: Path) -> None:
    counted = Losses("a-process")
    counted.add(1, NOON, 1)
    (tmp_path / f"{FILE}.new").mkdir()
    with pytest.raises(IsADirectoryError):
        counted.write(tmp_path)

    (tmp_path / f"{FILE}.new").rmdir()
    counted.write(tmp_path)
    assert (tmp_path / FILE).exists()
