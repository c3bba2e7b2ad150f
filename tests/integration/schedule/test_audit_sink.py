"""The audit at a sink: every sealed event, in order, whatever is killed or away; verifiable by what arrived."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from typer.testing import CliRunner

from app.cli.audit import command
from app.domain.audit import event_document
from app.errors import SetupError
from app.outbound.audit_sink import AuditSink, SinkAway, audit_sink_of
from app.schedule.audit_sink import send_audit
from app.settings import Settings
from app.store.checks.checks import current_time
from app.store.database.engine import Database
from app.store.overviews.vitals import vitals
from app.store.people.activities import record_activity
from app.store.people.audit_events import seal_events, sealed_events
from app.store.people.audit_sinks import SENT_AT_ONCE, events_after, take_sink
from tests.builders.collectors import AuditReceiver, log_collector, syslog_server


def add_events(database: Database, count: int, *, subject: str = "credit") -> None:
    with database.transaction() as session:
        for no in range(count):
            record_activity(session, "command line", "deployment.changed", subject=subject, details={"no": no, "deployment": subject})
    with database.transaction() as session:
        seal_events(session)


def stored(database: Database) -> list[tuple[int | None, str]]:
    with database.transaction() as session:
        return [(event.position, event.hash.hex() if event.hash else "") for event in sealed_events(session)]


def lines_of(receiver: AuditReceiver) -> list[str]:
    """The lines of an export that arrived, in order."""
    found = []
    for body in receiver.received:
        if body.startswith(b"{"):
            (scope,) = json.loads(body)["resourceLogs"][0]["scopeLogs"]
            found += [record["body"]["stringValue"] for record in scope["logRecords"]]
        else:
            found += [message.decode().split(" ", 7)[7] for message in frames(body)]
    return found


def frames(stream: bytes) -> list[bytes]:
    found = []
    while stream:
        size, _, rest = stream.partition(b" ")
        found.append(rest[: int(size)])
        stream = rest[int(size) :]
    return found


def arrived(receiver: AuditReceiver) -> list[tuple[int, str]]:
    return [(line["position"], line["hash"]) for line in map(json.loads, lines_of(receiver))]


@pytest.mark.nightly
def test_a_collector_has_every_event_once_in_order_and_can_verify_them(database: Database, tmp_path: Path) -> None:
    add_events(database, SENT_AT_ONCE + 3)
    with log_collector() as receiver:
        sink = AuditSink(address=receiver.address, token="t-1")  # noqa: S106 - of a test
        send_audit(database, sink)
        add_events(database, 2)
        send_audit(database, sink)
        send_audit(database, sink)

    assert arrived(receiver) == stored(database)
    assert set(receiver.authorizations) == {"Bearer t-1"}
    assert len(receiver.received) == 3
    file = tmp_path / "arrived.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines_of(receiver)))
    assert CliRunner().invoke(command, ["verify", "--file", str(file)]).output.startswith(f"{SENT_AT_ONCE + 5} events are intact.")


@pytest.mark.thorough
def test_a_syslog_server_has_messages_of_rfc_5424(database: Database) -> None:
    add_events(database, 3, subject="two\nlines, Größe")
    with syslog_server() as receiver:
        send_audit(database, AuditSink(address=receiver.address))

    assert arrived(receiver) == stored(database)
    (stream,) = receiver.received
    assert all(
        re.match(rb"<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ evenhand - deployment\.changed - \{", one) for one in frames(stream)
    )


@pytest.mark.parametrize("server", [log_collector, syslog_server])
@pytest.mark.thorough
def test_what_a_sink_did_not_take_is_sent_later_and_shown_until_then(database: Database, server: type) -> None:
    add_events(database, 2)
    with server() as receiver:
        receiver.refuses = True
        send_audit(database, AuditSink(address=receiver.address))
        with database.transaction() as session:
            session.execute(text("SET LOCAL session_replication_role = replica"))
            session.execute(text("UPDATE audit_events SET at = at - interval '20 minutes'"))
            late = vitals(session, current_time(session)).audit_delay_seconds
            session.rollback()
        receiver.refuses = False
        send_audit(database, AuditSink(address=receiver.address))

    assert late >= 1200
    assert arrived(receiver) == stored(database)
    with database.transaction() as session:
        assert vitals(session, current_time(session)).audit_delay_seconds == 0


@pytest.mark.thorough
def test_a_sender_that_died_is_followed_by_another_and_two_do_not_send_at_once(database: Database) -> None:
    add_events(database, 2)
    with log_collector() as receiver:
        with database.transaction() as session:
            assert take_sink(session, receiver.address) == 0
        send_audit(database, AuditSink(address=receiver.address))
        assert receiver.received == []
        with database.transaction() as session:
            session.execute(text("UPDATE audit_sinks SET taken_until = now() - interval '1 second'"))
        send_audit(database, AuditSink(address=receiver.address))

    assert arrived(receiver) == stored(database)


def test_a_sink_that_nobody_uses_any_more_is_not_late(database: Database) -> None:
    add_events(database, 1)
    with database.transaction() as session:
        take_sink(session, "https://old.example.com/v1/logs")
        session.execute(text("UPDATE audit_sinks SET looked_at = now() - interval '11 minutes'"))
    with database.transaction() as session:
        assert vitals(session, current_time(session) + timedelta(hours=1)).audit_delay_seconds == 0


@pytest.mark.thorough
def test_an_export_and_a_sink_have_the_same_lines(database: Database) -> None:
    add_events(database, 2)
    with database.transaction() as session:
        (first, _) = events_after(session, 0)
    with log_collector() as receiver:
        send_audit(database, AuditSink(address=receiver.address))

    assert json.loads(lines_of(receiver)[0]) == {**event_document(first), "hash": first.hash.hex() if first.hash else None}


@pytest.mark.parametrize("address", ["syslog+tls://logs.example.com", "syslog+tcp://10.0.0.1:601", "https://c.example.com:4318/v1/logs"])
def test_addresses_that_can_be_used(address: str) -> None:
    sink = audit_sink_of(Settings(audit_sink=address, audit_sink_token=SecretStr("t")))

    assert sink == AuditSink(address=address, token="t")  # noqa: S106 - of a test
    assert "'t'" not in repr(sink)


@pytest.mark.parametrize(
    "address",
    [
        "logs.example.com",
        "syslog://h:514",
        "syslog+tcp://h/path",
        "https://h",
        "https://u:p@h/v1/logs",
        "http://h:x/v1/logs",
        "syslog+tls://",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_the_start_without_quoting_it(address: str) -> None:
    with pytest.raises(SetupError, match="EVENHAND_AUDIT_SINK cannot be used") as refused:
        audit_sink_of(Settings(audit_sink=address))
    assert "u:p" not in str(refused.value)


def test_no_address_is_no_sink() -> None:
    assert audit_sink_of(Settings()) is None


def test_a_sink_that_is_not_there_is_named(database: Database) -> None:
    add_events(database, 1)
    with database.transaction() as session, pytest.raises(SinkAway, match=r"syslog\+tcp://127.0.0.1:9"):
        AuditSink(address="syslog+tcp://127.0.0.1:9").send(events_after(session, 0))
