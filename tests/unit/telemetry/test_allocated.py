"""Counters in files that a full disk cannot turn into SIGBUS."""

import errno
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from prometheus_client import CollectorRegistry, Counter, values
from prometheus_client.mmap_dict import MmapedDict

from app.base.telemetry import prometheus as metrics
from app.base.telemetry.prometheus import INITIAL_BYTES, SHARED_FOLDER, AllocatedDict, write_exposition


def refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_every_byte_of_a_file_has_its_space_before_it_is_written_to(tmp_path: Path) -> None:
    file = tmp_path / "counter_1.db"
    counters = AllocatedDict(str(file))
    before = file.stat()
    for number in range(2000):
        counters.write_value(f'["counter","counter",{{"label":"{number}"}},""]', float(number), 0.0)
        found = file.stat()
        assert found.st_blocks * 512 >= found.st_size

    assert before.st_size == INITIAL_BYTES
    assert file.stat().st_size > INITIAL_BYTES
    assert sum(value for _, value, _, _ in MmapedDict.read_all_values_from_file(str(file))) == sum(range(2000))  # type: ignore[no-untyped-call]
    counters.close()  # type: ignore[no-untyped-call]


def test_a_process_that_starts_on_a_full_disk_counts_in_its_memory(tmp_path: Path) -> None:
    with patch.object(os, "posix_fallocate", refuse):
        counters = AllocatedDict(str(tmp_path / "counter_1.db"))
        assert counters.read_value("a") == (0.0, 0.0)
        counters.write_value("a", 3.0, 1.0)

    assert counters.read_value("a") == (3.0, 1.0)
    assert list(counters.read_all_values()) == [("a", 3.0, 1.0)]
    counters.close()  # type: ignore[no-untyped-call]


def test_when_the_disk_fills_up_old_counters_go_on_and_new_ones_stay_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "counter_1.db"
    counters = AllocatedDict(str(file))
    counters.write_value("old", 1.0, 0.0)
    with patch.object(os, "posix_fallocate", refuse):
        for number in range(2000):
            counters.write_value(f"new{number}{'x' * 50}", 1.0, 0.0)
        counters.write_value("old", 2.0, 0.0)
        counters.write_value(f"new1999{'x' * 50}", 5.0, 0.0)

    assert counters.read_value("old") == (2.0, 0.0)
    assert counters.read_value(f"new1999{'x' * 50}") == (5.0, 0.0)
    assert len(list(counters.read_all_values())) == 2001
    assert file.stat().st_size == INITIAL_BYTES
    counters.close()  # type: ignore[no-untyped-call]


def test_another_fault_than_a_full_disk_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        AllocatedDict(str(tmp_path / "none" / "counter_1.db"))


@pytest.mark.parametrize("is_full", [True, False])
def test_counters_of_other_processes_are_read_where_a_file_has_got_no_space(tmp_path: Path, *, is_full: bool) -> None:
    counters = AllocatedDict(str(tmp_path / "counter_1.db"))
    counters.write_value('["tried","tried_total",{},"Tries."]', 3.0, 0.0)
    if is_full:
        with patch.object(os, "posix_fallocate", refuse):
            AllocatedDict(str(tmp_path / "counter_2.db"))
    else:
        (tmp_path / "counter_2.db").touch()  # as a process leaves it that was killed at that moment
    assert (tmp_path / "counter_2.db").stat().st_size == 0

    with patch.dict(os.environ, {SHARED_FOLDER: str(tmp_path)}):
        assert b"tried_total 3.0" in write_exposition()[0]
    counters.close()  # type: ignore[no-untyped-call]


def test_counters_of_the_library_live_in_such_files(tmp_path: Path) -> None:
    metrics.allocate_before_writing()
    with (
        patch.dict(os.environ, {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}),
        patch.object(values, "ValueClass", values.MultiProcessValue(lambda: 7)),
        patch("prometheus_client.metrics.values.ValueClass", values.MultiProcessValue(lambda: 7)),
    ):
        counter = Counter("tried", "Tries.", registry=CollectorRegistry())
        counter.inc(2)

    (file,) = tmp_path.iterdir()
    assert file.stat().st_blocks * 512 >= file.stat().st_size
    assert [value for _, value, _, _ in MmapedDict.read_all_values_from_file(str(file))][:1] == [2.0]  # type: ignore[no-untyped-call]
