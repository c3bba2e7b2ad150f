"""The client by itself: what it sends, when it sends again, and what it counts."""

import logging
import random
import re
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from evenhand_client import Evenhand, Report
from evenhand_client.delivery import Pauses, retry_after
from evenhand_client.identifiers import is_in_sample
from evenhand_client.transport import Answer
from syrupy.assertion import SnapshotAssertion

from tests.builders.page_words import says
from tests.progress import wait_until

from .collector import Collector, Reply, receipt

Make = Callable[..., Evenhand]

ROW = {"sex": "female", "income": 42_000}


def test_a_record_arrives_as_the_service_takes_it(make: Make, collector: Collector) -> None:
    client = make()
    before = datetime.now(UTC)
    record_id = client.log(ROW, 1, probability=0.9, meta={"region": "north"}, label="approved")

    assert client.flush() == Report(sent=1)
    (sent,) = collector.requests
    assert (sent.method, sent.path, sent.key) == ("POST", "/v1/deployments/loans/payload-records", "Bearer evk_secret")
    (record,) = sent.records
    scored_at = datetime.fromisoformat(record.pop("scored_at"))
    assert before - timedelta(milliseconds=1) <= scored_at <= datetime.now(UTC)
    assert record == {
        "id": record_id,
        "features": ROW,
        "prediction": 1,
        "probability": 0.9,
        "meta": {"region": "north"},
        "label": "approved",
    }
    assert uuid.UUID(record_id).version == 7


def test_a_record_is_as_it_was_when_it_was_logged(make: Make, collector: Collector) -> None:
    client, row = make(), dict(ROW)
    client.log(row, 1)
    row["income"] = 0
    client.flush()

    assert collector.records[0]["features"] == ROW


def test_labels_go_to_feedback(make: Make, collector: Collector) -> None:
    client = make()
    record_id = client.log(ROW, 1)
    client.log_label(record_id, 0)
    client.flush()

    assert [(sent.path.rpartition("/")[2], sent.records) for sent in collector.requests][1] == (
        "feedback-records",
        [{"id": record_id, "label": 0}],
    )


def test_values_of_other_libraries_are_plain_and_a_missing_one_is_null(make: Make, collector: Collector) -> None:
    client = make()
    client.log(
        {"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True), "d": float("nan"), "e": pd.NA, "f": np.float64("nan")}, np.str_("yes")
    )
    client.log({"a": pd.NaT, "b": datetime(2026, 1, 2, tzinfo=UTC)}, 1, probability=np.array([0.25, 0.75]))
    client.flush()

    first, second = collector.records
    assert first["features"] == {"a": 3, "b": 0.5, "c": True, "d": None, "e": None, "f": None}
    assert first["prediction"] == "yes"
    assert second["features"] == {"a": None, "b": "2026-01-02T00:00:00+00:00"}
    assert second["probability"] == [0.25, 0.75]


def test_a_frame_is_a_record_a_row(make: Make, collector: Collector) -> None:
    client = make()
    frame = pd.DataFrame({"sex": ["f", "m"], "age": [31, None], "region": ["n", "s"], "answer": [1, 0], "key": ["a", "b"]})
    ids = client.log_frame(frame, prediction="answer", id="key", meta=["region"], probability=[0.9, 0.2])
    client.flush()

    assert ids == ["a", "b"]
    assert [{**record, "scored_at": None} for record in collector.records] == [
        {"id": "a", "scored_at": None, "features": {"sex": "f", "age": 31.0}, "prediction": 1, "probability": 0.9, "meta": {"region": "n"}},
        {"id": "b", "scored_at": None, "features": {"sex": "m", "age": None}, "prediction": 0, "probability": 0.2, "meta": {"region": "s"}},
    ]


def test_what_cannot_be_logged_is_counted_and_does_not_raise(make: Make, collector: Collector) -> None:
    refused: list[tuple[Any, str]] = []
    client = make(on_error=lambda record, reason: refused.append((record["id"], reason)))
    bad = client.log({"sex": object()}, 1)
    client.log(None, 1)  # type: ignore[arg-type] - that is the point
    assert client.log_frame(pd.DataFrame({"a": [1]}), prediction="absent") == []
    good = client.log(ROW, 1)

    assert client.flush() == Report(sent=1, rejected=3)
    assert collector.ids == [good]
    reason = "features.sex: a value of type object cannot be logged; log its text or its number"
    assert refused == [(bad, f"it cannot be written as JSON: {reason}")]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
@pytest.mark.nightly
def test_a_passing_fault_is_retried_with_the_same_ids_and_times(make: Make, collector: Collector, status: int) -> None:
    collector.respond = lambda sent: receipt(sent) if len(collector.requests) > 2 else Reply(status, {"detail": "later"})
    client = make(flush_interval=0.02)
    client.log(ROW, 1)
    collector.wait_for_records(1)

    first, second, third = (sent.body for sent in collector.requests)
    assert first == second == third
    assert client.flush() == Report(sent=1)


def test_a_closed_connection_is_opened_again(make: Make, collector: Collector) -> None:
    client = make()
    client.log(ROW, 1)
    client.flush()
    collector.respond = lambda sent: Reply(200, receipt(sent).body, {"Connection": "close"})
    for _ in range(2):
        client.log(ROW, 1)
        assert client.flush().sent == 1


def test_the_service_says_how_long_to_wait() -> None:
    in_a_minute = datetime.now(UTC) + timedelta(seconds=60)
    asked = {"7": 7.0, "": None, "soon": None, format_datetime(in_a_minute, usegmt=True): 60.0}

    for text, seconds in asked.items():
        found = retry_after(Answer(503, {"retry-after": text}, b""))
        assert found == (seconds if seconds is None else pytest.approx(seconds, abs=2))


def test_pauses_grow_and_are_spread() -> None:
    random.seed(1)
    pauses = Pauses()
    found = [pauses.next(None) for _ in range(12)]

    assert max(found) <= 30
    assert all(pause <= 0.5 * 2**number for number, pause in enumerate(found))
    assert 5 <= pauses.next(5) <= 35
    assert pauses.next(10_000) <= 630


def test_a_refused_record_does_not_cost_the_others(make: Make, collector: Collector) -> None:
    refused = []
    collector.respond = lambda sent: receipt(
        sent,
        accepted=1,
        rejected=2,
        rejections=[{"index": 0, "field": "features.age", "reason": "is missing"}],
        conflicts=[{"index": 2, "id": "c", "reason": "is stored already"}],
    )
    client = make(on_error=lambda record, reason: refused.append((record["id"], reason)))
    for name in "abc":
        client.log(ROW, 1, id=name)

    assert client.flush() == Report(sent=1, rejected=2)
    assert refused == [("a", "features.age: is missing"), ("c", "id: is stored already")]


def test_a_flood_of_refused_records_is_one_line_of_the_log(
    make: Make, collector: Collector, caplog: pytest.LogCaptureFixture, snapshot: SnapshotAssertion
) -> None:
    client = make()
    for _ in range(100):
        client.log({"a": object()}, 1)

    assert client.flush() == Report(rejected=100)
    assert collector.records == []
    (message,) = collector.missing.values()
    assert message["hours"][0]["not_received"] == 100
    texts = caplog.messages
    assert says(texts[0], "1", "JSON")
    assert texts == snapshot


def test_a_wholly_refused_batch_is_settled_by_its_receipt(make: Make, collector: Collector) -> None:
    members = {"accepted": 0, "rejected": 1, "rejections": [{"index": 0, "field": "prediction", "reason": "is missing"}]}
    collector.respond = lambda _: Reply(422, {"detail": "None was stored.", **members})
    client = make()
    client.log(ROW, None)

    assert client.flush() == Report(rejected=1)
    assert len(collector.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_batch_is_halved_until_the_one_that_is_at_fault_is_alone(make: Make, collector: Collector, status: int) -> None:
    collector.respond = lambda sent: (
        Reply(status, {"detail": "no"}) if any(record["id"] == "bad" for record in sent.records) else receipt(sent)
    )
    client = make()
    for number in range(8):
        client.log(ROW, 1, id="bad" if number == 3 else f"good-{number}")

    assert client.flush() == Report(sent=7, rejected=1)
    assert sorted(collector.ids) == sorted(f"good-{number}" for number in range(8) if number != 3)


@pytest.mark.parametrize("status", [301, 401, 403, 404])
def test_a_wrong_key_or_address_keeps_the_records(
    make: Make, collector: Collector, status: int, caplog: pytest.LogCaptureFixture, snapshot: SnapshotAssertion
) -> None:
    collector.respond = lambda _: Reply(status, {"detail": "no"})
    client = make()
    client.log(ROW, 1)
    assert client.flush(0.3) == Report(waiting=1)
    assert caplog.messages[0] == snapshot
    assert "evk_secret" not in caplog.text

    collector.respond = receipt
    assert client.flush().sent == 1


def test_a_page_of_a_proxy_is_no_receipt(make: Make, collector: Collector) -> None:
    collector.respond = lambda _: Reply(200, "<html>log in</html>")
    client = make()
    client.log(ROW, 1)

    assert client.flush(0.3) == Report(waiting=1)


def test_a_full_queue_drops_the_newest_and_the_service_is_told(make: Make, collector: Collector) -> None:
    collector.respond = lambda _: Reply(503)
    client = make(max_queue=10, flush_at=4)
    ids = [client.log(ROW, 1) for _ in range(4)]
    wait_until(lambda: collector.requests)  # the first four are on their way
    ids += [client.log(ROW, 1) for _ in range(30)]
    assert client.stats().dropped == 20

    collector.respond = receipt
    assert client.flush() == Report(sent=14, dropped=20)
    assert collector.ids == ids[:14]
    (message,) = collector.missing.values()
    assert message["sample_rate"] == 1.0
    assert sum(hour["not_received"] for hour in message["hours"]) == 20
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:00:00\+00:00", message["hours"][0]["hour"])


def test_a_program_may_wait_for_room(make: Make, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_TIMEOUT", "3600")
    collector.respond = lambda _: Reply(503)
    client = make(max_queue=2, flush_at=2, on_full="block")
    for _ in range(2):
        client.log(ROW, 1)
    wait_until(lambda: collector.requests)
    threading.Thread(target=lambda: [client.log(ROW, 1) for _ in range(6)]).start()
    collector.respond = receipt
    client.flush()
    collector.wait_for_records(8)

    assert client.stats().dropped == 0


def test_a_sample_is_chosen_by_the_id_and_said_to_be_one(make: Make, collector: Collector) -> None:
    client = make(sample_rate=0.25)
    ids = [client.log(ROW, 1) for _ in range(400)]
    for record_id in ids:
        client.log_label(record_id, 1)
    report = client.flush()

    chosen = [id_ for id_ in ids if is_in_sample(id_, 0.25)]
    assert 60 <= len(chosen) <= 140
    assert report.sent == 2 * len(chosen)
    assert Counter(collector.ids) == dict.fromkeys(chosen, 2)
    (message,) = collector.missing.values()
    assert message["sample_rate"] == 0.25
    assert sum(hour["left_out"] for hour in message["hours"]) == 400 - len(chosen)


def test_a_missing_key_disables_with_one_warning(caplog: pytest.LogCaptureFixture, snapshot: SnapshotAssertion) -> None:
    threads = threading.active_count()
    client = Evenhand("http://127.0.0.1:1", deployment="loans")

    assert client.log(ROW, 1)
    client.log_label("a", 1)
    assert client.flush() == client.close() == Report()
    assert not client.is_enabled
    assert threading.active_count() == threads
    texts = caplog.messages
    assert says(texts[0], "EVENHAND_KEY")
    assert texts == snapshot


def test_every_option_has_a_variable(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_ENABLED", "no")
    assert not make().is_enabled
    assert make(enabled=True).is_enabled

    monkeypatch.setenv("EVENHAND_FLUSH_AT", "many")
    with pytest.raises(ValueError, match="EVENHAND_FLUSH_AT: expected a int, found 'many'"):
        make()


@pytest.mark.parametrize(
    "options",
    [{"flush_at": 0}, {"flush_at": 20_000}, {"on_full": "explode"}, {"on_full": "spool"}, {"sample_rate": 1.5}, {"url": "example.org"}],
)
def test_an_option_that_cannot_be_used_is_refused_at_the_start(make: Make, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        make(**options)


def test_there_is_no_thread_before_the_first_record(make: Make) -> None:
    threads = threading.active_count()
    client = make()
    assert threading.active_count() == threads

    client.log(ROW, 1)
    assert "evenhand-send" in {thread.name for thread in threading.enumerate()}


def test_records_go_out_by_themselves_by_number_and_by_time(make: Make, collector: Collector) -> None:
    by_number = make(flush_at=5, flush_interval=3600)
    for _ in range(5):
        by_number.log(ROW, 1)
    collector.wait_for_records(5)

    make(flush_interval=0.05).log(ROW, 1)
    collector.wait_for_records(6)


def test_many_threads_lose_nothing(make: Make, collector: Collector) -> None:
    client = make(flush_at=100, flush_interval=0.01)
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.extend(client.log(ROW, 1) for _ in range(500))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.flush()

    assert len(ids) == len(set(ids)) == 4000
    assert sorted(collector.ids) == sorted(ids)


def test_closing_without_a_service_gives_the_number_that_is_lost(caplog: pytest.LogCaptureFixture, snapshot: SnapshotAssertion) -> None:
    client = Evenhand("http://127.0.0.1:9", "key", "loans")
    for _ in range(3):
        client.log(ROW, 1)

    assert client.close(0.1).dropped == 3
    assert says(caplog.messages[-1], "3")
    assert caplog.messages[-1] == snapshot
    assert client.log(ROW, 1)
    assert client.stats().dropped == 4


def test_what_on_error_raises_stays_in_the_background(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_record: dict[str, Any], _reason: str) -> None:
        raise LookupError("of the program")

    client = make(on_error=fail)
    client.log({"a": object()}, 1)
    client.log(ROW, 1)

    assert client.flush() == Report(sent=1, rejected=1)
    assert "on_error raised" in caplog.text


def test_an_httpx_client_may_carry_the_requests(make: Make, collector: Collector) -> None:
    with httpx.Client(trust_env=False) as http:
        client = make(http=http)
        record_id = client.log(ROW, 1)
        assert client.flush() == Report(sent=1)

    assert collector.ids == [record_id]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "evenhand_client")


def test_a_wrong_answer_is_named_in_the_stats(make: Make, collector: Collector, snapshot: SnapshotAssertion) -> None:
    collector.respond = lambda _: Reply(503, {"detail": "The database does not answer."})
    client = make()
    client.log(ROW, 1)
    client.flush(0.2)
    assert says(said := client.stats().last_problem, "503")
    assert said == snapshot

    collector.respond = receipt
    client.flush()
    assert client.stats().last_problem is None


def test_a_request_holds_no_more_than_one_may(make: Make, collector: Collector) -> None:
    client = make(flush_at=3)
    for _ in range(10):
        client.log(ROW, 1)
    client.flush()

    assert max(len(sent.records) for sent in collector.requests) == 3
    assert len(collector.ids) == 10
