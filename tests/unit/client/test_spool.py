"""The spool: what is in it survives, is sent once, and is counted where there is no room for it."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evenhand_client import Evenhand, Report
from evenhand_client.entries import PAYLOAD, Entry
from evenhand_client.spool import Spool

from tests.progress import wait_until

from .collector import Collector, Reply, receipt

Make = Callable[..., Evenhand]

CLIENT = Path(__file__).resolve().parents[3] / "client"
ROW = {"sex": "female", "income": 42_000}
AWAY = "http://127.0.0.1:9"


def entry(number: int, hour: int = 7) -> Entry:
    return Entry(PAYLOAD, f"r{number}", hour, json.dumps({"id": f"r{number}"}).encode())


def run(program: str, *arguments: object, check: bool = True) -> str:
    """What a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(CLIENT)}
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(command, env=environment, check=check, stdout=subprocess.PIPE, text=True).stdout


def test_records_wait_on_disk_while_the_service_is_away_and_arrive_once(make: Make, collector: Collector, tmp_path: Path) -> None:
    collector.respond = lambda _: Reply(503)
    client = make(spool_dir=tmp_path, max_queue=10, flush_at=5, flush_interval=0.05)
    ids = []
    for _ in range(40):
        ids.append(client.log(ROW, 1))
        client.flush(0)
    assert client.stats().spooled == 40
    assert client.stats().dropped == 0

    collector.respond = receipt
    assert client.flush() == Report(sent=40)
    assert collector.ids == ids
    assert [path.suffix for path in (tmp_path / "loans").iterdir()] == [".lock"]


def test_a_flush_of_no_seconds_writes_everything_to_disk(make: Make, tmp_path: Path) -> None:
    client = make(url=AWAY, spool_dir=tmp_path)
    ids = [client.log(ROW, 1) for _ in range(100)]
    report = client.flush(0)

    lines = [line for file in sorted(tmp_path.glob("loans/*.jsonl")) for line in file.read_text().splitlines()]
    assert [json.loads(line)["id"] for line in lines] == ids
    assert report == Report(spooled=100)


def test_the_records_of_a_killed_process_are_sent_by_the_next_one(make: Make, collector: Collector, tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        from evenhand_client import Evenhand
        client = Evenhand("http://127.0.0.1:9", "key", "loans", spool_dir=sys.argv[1])
        print("\\n".join(client.log({"age": number}, 1) for number in range(500)))
        client.flush(0)
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ids = run(program, tmp_path, check=False).split()

    make(spool_dir=tmp_path)
    collector.wait_for_records(500)
    assert collector.ids == ids
    wait_until(lambda: len(list(tmp_path.glob("loans/*"))) == 1, "only the lock of the living is left")


@pytest.mark.parametrize("other", ["cards", "a/b", "..", "Loans"])
def test_records_of_another_deployment_wait_for_a_client_of_their_own(make: Make, collector: Collector, tmp_path: Path, other: str) -> None:
    folder = tmp_path / "spool"
    left = make(url=AWAY, spool_dir=folder, deployment=other)
    ids = [left.log(ROW, 1) for _ in range(3)]
    assert left.close(0).spooled == 3

    own = make(spool_dir=folder)
    own_id = own.log(ROW, 1)
    assert own.flush() == Report(sent=1)
    assert collector.ids == [own_id]

    make(spool_dir=folder, deployment=other)
    collector.wait_for_records(4)
    assert collector.ids == [own_id, *ids]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_line_that_is_cut_short_costs_only_itself(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10**6)
    spool.append([entry(1), entry(2), entry(3)])
    spool.close()
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-9])

    after = Spool(tmp_path, 10**6)
    after.start()
    after.adopt()
    segment = after.next()
    assert segment is not None
    assert segment.entries() == [entry(1), entry(2)]
    after.close()


@pytest.mark.parametrize("text", ['x"body":', '\\"body\\":', "é\u2028\n", '","body":{"x":1}}'])
def test_an_id_may_hold_anything(text: str) -> None:
    one = Entry(PAYLOAD, text, 3, json.dumps({"id": text}).encode())

    assert one.line().count(b"\n") == 1
    assert Entry.of_line(one.line()) == one


def test_the_files_of_a_living_process_are_its_own(tmp_path: Path) -> None:
    living, other = Spool(tmp_path, 10**6), Spool(tmp_path, 10**6)
    living.append([entry(1)])
    living.rotate()
    other.start()
    other.adopt()
    assert other.next() is None

    living.close()
    other.adopt()
    segment = other.next()
    assert segment is not None
    assert segment.entries() == [entry(1)]
    other.close()


def test_what_a_process_left_that_was_killed_before_it_named_its_lock_is_deleted(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10**6)
    spool.start()
    (tmp_path / ".dead.tmp").touch()
    (tmp_path / "other.lock").touch()
    (tmp_path / "other.tmp").write_text("{")
    spool.adopt()

    assert list(tmp_path.iterdir()) == [tmp_path / f"{spool.owner}.lock"]
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_beyond_its_cap_the_oldest_are_dropped_and_counted_by_hour(make: Make, collector: Collector, tmp_path: Path) -> None:
    collector.respond = lambda _: Reply(503)
    client = make(spool_dir=tmp_path, max_spool_bytes=20_000)
    ids = []
    for _ in range(30):
        ids += [client.log(ROW, 1) for _ in range(10)]
        client.flush(0)
    stats = client.stats()
    assert 0 < stats.dropped < 300
    assert stats.spooled_bytes <= 20_000

    collector.respond = receipt
    client.flush()
    # The segment that was being sent is not dropped.
    assert set(collector.ids) < set(ids)
    assert len(collector.ids) == 300 - stats.dropped
    assert collector.ids[-1] == ids[-1]
    (message,) = collector.missing.values()
    assert sum(hour["not_received"] for hour in message["hours"]) == stats.dropped


def test_counts_of_dropped_records_survive_a_kill_too(make: Make, collector: Collector, tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        from evenhand_client import Evenhand
        client = Evenhand("http://127.0.0.1:9", "key", "loans", spool_dir=sys.argv[1], sample_rate=0.0)
        for number in range(25):
            client.log({"age": number}, 1)
        client.flush(0)
        while not any(name.endswith(".losses") for name in os.listdir(sys.argv[1] + "/loans")):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    """
    run(program, tmp_path, check=False)

    make(spool_dir=tmp_path)
    wait_until(lambda: collector.missing, "the totals arrive")
    (message,) = collector.missing.values()
    assert message["sample_rate"] == 0.0
    assert sum(hour["left_out"] for hour in message["hours"]) == 25
    wait_until(lambda: not list(tmp_path.glob("loans/*.losses")), "they are forgotten")


def test_a_disk_that_cannot_be_written_leaves_records_in_memory(make: Make, collector: Collector, tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    folder.write_text("a file where the folder should be")
    client = make(spool_dir=folder)
    ids = [client.log(ROW, 1) for _ in range(20)]

    assert client.flush().sent == 20
    assert sorted(collector.ids) == sorted(ids)


def test_where_the_queue_is_full_the_call_itself_writes(make: Make, tmp_path: Path) -> None:
    client = make(url=AWAY, spool_dir=tmp_path, max_queue=3, on_full="spool", flush_at=10_000)
    for _ in range(50):
        client.log(ROW, 1)
    client.flush(0)

    assert client.stats().dropped == 0
    assert client.stats().spooled == 50


def test_a_refused_record_of_the_spool_is_not_sent_again(make: Make, collector: Collector, tmp_path: Path) -> None:
    refused: list[Any] = []
    rejection = {"index": 0, "field": "features.age", "reason": "is missing"}
    collector.respond = lambda sent: receipt(sent, accepted=1, rejected=1, rejections=[rejection])
    client = make(spool_dir=tmp_path, on_error=lambda record, _: refused.append(record["id"]))
    first, _ = client.log(ROW, 1), client.log(ROW, 1)

    assert client.flush() == Report(sent=1, rejected=1)
    assert refused == [first]
    assert not list(tmp_path.glob("loans/*.jsonl"))


def test_the_latest_records_are_sent_from_memory_and_a_backlog_from_disk(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 10**6)
    for number in range(4):
        spool.append([entry(number)])
        spool.rotate()
    for path in tmp_path.glob("*.jsonl"):
        path.write_bytes(entry(9).line())

    sent = []
    while segment := spool.next():
        sent += segment.entries()
        spool.done()
    assert sent == [entry(0), entry(1), entry(9), entry(9)]
    spool.close()
