"""The tick prints the events that it seals; where it cannot, it goes on."""

import contextlib
import sys

import pytest
from structlog.testing import capture_logs

from app.access.audit.activity_queries import record_activity
from app.access.audit.event_queries import read_sealed_events, write_audit_line
from app.database.engine import Database
from app.worker.looks import tick


def add_event(database: Database, subject: str) -> None:
    with database.transaction() as session:
        record_activity(session, "Zoë", "deployment.changed", subject=subject, details={"deployment": "credit"})


def test_each_event_is_one_line_that_no_other_line_looks_like(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    add_event(database, "two\nlines\u2028and more")
    tick(database)
    printed = capsys.readouterr().out
    tick(database)
    with database.transaction() as session:
        (event,) = read_sealed_events(session)

    assert printed == write_audit_line(event) + "\n"
    assert printed.startswith('{"position": 1, ')
    assert printed.isascii()
    assert len(printed.splitlines()) == 1
    assert capsys.readouterr().out == ""


def test_a_full_disk_or_no_output_at_all_does_not_stop_the_tick(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    add_event(database, "credit")
    with contextlib.suppress(OSError), open("/dev/full", "w") as full, capture_logs() as logs:  # noqa: PTH123 - a device
        monkeypatch.setattr(sys, "stdout", full)
        tick(database)
    add_event(database, "credit")
    monkeypatch.setattr(sys, "stdout", None)
    tick(database)

    assert [(line["event"], line["position"]) for line in logs] == [("audit_not_printed", 1)]
    with database.transaction() as session:
        assert [event.position for event in read_sealed_events(session)] == [1, 2]
