"""Work in a child process: results, questions and errors come back, and it dies of its memory alone."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from app.base.apart import ChildWork, SentFile, ask, limit_memory
from app.base.errors import FieldProblem, InvalidInput, NotFound, TooLarge

REPOSITORY = Path(__file__).resolve().parents[2]
MEGABYTE = 2**20


def fill(megabytes: int) -> int:
    return len(b"x" * megabytes * MEGABYTE)


def fail(error: Exception) -> None:
    raise error


def wait(seconds: float) -> None:
    time.sleep(seconds)


def die(status: int) -> None:
    os._exit(status)


def read(file: BinaryIO) -> bytes:
    return file.read()


def add(first: int, second: int) -> int:
    found: int = ask("add", first, second)
    return found


class Adder:
    """Answers questions of a child."""

    def add(self, first: int, second: int) -> int | InvalidInput:
        """Their sum."""
        return first + second if second else InvalidInput("second", "must not be 0")


def test_a_result_comes_back_from_another_process() -> None:
    assert ChildWork(os.getpid).result() != os.getpid()
    assert multiprocessing.active_children() == []


def test_what_a_call_yields_comes_back_one_by_one() -> None:
    child = ChildWork(map, abs, [-1, 2, -3])

    assert list(child.stream()) == [1, 2, 3]


def test_a_child_ends_where_nobody_reads_on() -> None:
    stream = ChildWork(map, abs, range(1000)).stream()

    assert next(stream) == 0
    stream.close()
    assert multiprocessing.active_children() == []


def test_an_open_file_is_read_from_where_it_is() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"abc")
        file.seek(1)

        assert ChildWork(read, SentFile(file)).result() == b"bc"


def test_a_child_asks_this_process() -> None:
    assert ChildWork(add, 1, 2, host=Adder()).result() == 3
    with pytest.raises(InvalidInput, match="must not be 0"):
        ChildWork(add, 1, 0, host=Adder()).result()


PROBLEMS = InvalidInput([FieldProblem("a", "b"), FieldProblem("c", "d")])


@pytest.mark.parametrize("error", [PROBLEMS, NotFound("deployment", "x"), TooLarge("y")])
def test_our_errors_come_back_as_they_are(error: Any) -> None:  # noqa: ANN401 - of several kinds
    with pytest.raises(type(error)) as raised:
        ChildWork(fail, error).result()

    assert str(raised.value) == str(error)
    assert vars(raised.value) == vars(error)


def test_other_errors_come_back_with_their_traceback() -> None:
    with pytest.raises(RuntimeError, match="ValueError: oh"):
        ChildWork(fail, ValueError("oh")).result()


def test_a_child_that_dies_is_too_large() -> None:
    with pytest.raises(TooLarge, match="EVENHAND_UPLOAD_MEMORY_BYTES"):
        ChildWork(die, 1).result()


def test_a_child_has_so_much_memory_and_not_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_UPLOAD_MEMORY_BYTES", str(64 * MEGABYTE))

    assert ChildWork(fill, 16).result() == 16 * MEGABYTE
    with pytest.raises(TooLarge, match="more memory than the 64 MiB of EVENHAND_UPLOAD_MEMORY_BYTES"):
        ChildWork(fill, 200).result()


def test_a_child_is_ended_while_it_works() -> None:
    child = ChildWork(wait, 1000)
    threading.Timer(0.2, child.end).start()

    with pytest.raises(TooLarge):
        child.result()
    assert multiprocessing.active_children() == []


def test_a_child_that_was_ended_before_it_began_does_nothing() -> None:
    child = ChildWork(wait, 1000)
    child.end()

    with pytest.raises(TooLarge):
        child.result()


def test_the_memory_of_this_process_is_limited_for_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_UPLOAD_MEMORY_BYTES", str(64 * MEGABYTE))

    with pytest.raises(TooLarge), limit_memory():
        fill(4096)
    assert fill(200) == 200 * MEGABYTE


@pytest.mark.thorough
def test_the_import_command_has_its_memory_for_records_and_not_for_the_pool_of_arrow() -> None:
    program = "import app.cli.imports, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    variables = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    ended = subprocess.run([sys.executable, "-c", program], env=variables, cwd=REPOSITORY, check=True, capture_output=True, text=True)

    assert ended.stdout == "system\n"
