"""Forking, the end of a program, and signals."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .collector import Collector

CLIENT = Path(__file__).resolve().parents[3] / "client"

BEGIN = """
import os, signal, sys, time
from evenhand_client import Evenhand
import evenhand_client.client
evenhand_client.client.EXIT_SECONDS = 600  # a busy machine may take longer than a user would wait
options = {"spool_dir": sys.argv[2]} if len(sys.argv) > 2 else {}
client = Evenhand(sys.argv[1], "key", "loans", flush_interval=3600, **options)
def log(text):
    client.log({"text": text}, 1, id=text)
"""


def start(collector: Collector, program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BEGIN + textwrap.dedent(program), collector.url, *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(CLIENT)}, stdout=subprocess.PIPE, text=True)


def test_the_end_of_the_program_sends_what_is_left(collector: Collector) -> None:
    with start(collector, "[log(str(number)) for number in range(2500)]") as process:
        assert process.wait() == 0

    assert sorted(map(int, collector.ids)) == list(range(2500))


def test_a_client_that_nothing_refers_to_any_more_is_flushed_too(collector: Collector) -> None:
    with start(collector, "log('a'); del client"):
        pass

    assert collector.ids == ["a"]


def test_sigterm_flushes_and_ends_as_it_would_have(collector: Collector) -> None:
    with start(collector, "log('a'); print('ready', flush=True); time.sleep(3600)") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait() == -signal.SIGTERM

    assert collector.ids == ["a"]


def test_a_handler_of_the_program_is_left_alone(collector: Collector) -> None:
    program = """
        client.close()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        client = Evenhand(sys.argv[1], "key", "loans", flush_interval=3600)
        log("a")
        print("ready", flush=True)
        time.sleep(3600)
    """
    with start(collector, program) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait() == 7

    assert collector.ids == ["a"]


@pytest.mark.parametrize("with_spool", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_workers_forked_from_one_parent_each_send_their_own(collector: Collector, tmp_path: Path, *, with_spool: bool) -> None:
    """A pre-forking server: the application, and the client in it, are loaded once, and have logged already."""
    program = """
        log("parent-before")
        children = []
        for worker in range(6):
            child = os.fork()
            if child == 0:
                for number in range(300):
                    log(f"{worker}-{number}")
                sys.exit()  # as a worker that is asked to stop
            children.append(child)
        log("parent-after")
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
    """
    with start(collector, program, *([tmp_path] if with_spool else [])) as process:
        assert process.wait() == 0

    expected = [f"{worker}-{number}" for worker in range(6) for number in range(300)] + ["parent-before", "parent-after"]
    assert sorted(collector.ids) == sorted(expected)
    assert not list(tmp_path.glob("loans/*"))


def test_forked_processes_make_different_ids_even_where_random_is_seeded(collector: Collector) -> None:
    program = """
        import random
        random.seed(1)
        for worker in range(4):
            if os.fork() == 0:
                random.seed(1)
                for _ in range(500):
                    client.log({"worker": worker}, 1)
                sys.exit()
        for _ in range(4):
            os.wait()
    """
    with start(collector, program) as process:
        assert process.wait() == 0

    assert len(set(collector.ids)) == len(collector.ids) == 2000
