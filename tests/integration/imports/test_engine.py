"""An import stores each record once, whatever is repeated and wherever it is stopped, and reports every row."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.base.errors import InvalidInput
from app.cli.import_service import ImportService
from app.domain.record import Receipt
from app.domain.record_times import LogKind
from app.intake.imports import run_import as engine
from app.intake.imports.flat_tables import ImportLayout, find_layout
from app.intake.imports.input_file import InputFile
from app.intake.imports.run_import import Checkpoint, CheckpointFile, ImportReport, RejectedRow, describe_subject, run_import
from tests.builders.queries import rows
from tests.builders.vendor_files import NAMES, ROWS, SCHEMA, TIME, capture_line, inference_row, input_file, json_lines, subject, truth_line
from tests.service import RunningService

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def log_file(folder: Path, number: int, name: str = "log.csv") -> InputFile:
    """Records without ids, one of which is spoiled."""
    lines = [f"{20 + no % 50},{'female' if no % 2 else 'male'},true,{'Risk' if no % 3 else 'No Risk'}" for no in range(number)]
    lines[number // 2] = "young,female,true,Risk"
    return input_file(folder, name, "\n".join(["Age,Sex,Owner,prediction", *lines]) + "\n")


def load(
    service: RunningService, files: list[InputFile], kind: LogKind = LogKind.PAYLOAD, checkpoint: Checkpoint | None = None
) -> ImportReport:
    to = ImportService(service.client, "credit-risk", kind)
    about = subject(kind, default_time=AT)
    return run_import(files, find_layout(files, None, kind), about, to, checkpoint or Checkpoint())


def stored(service: RunningService) -> int:
    ((found,),) = rows(service.database, "SELECT count(*) FROM payload_records")
    return int(found)


class Killed(BaseException):
    """As a kill: nothing after it runs."""


class Fragile:
    """A sink that dies in the given send, before or after the service has stored the records."""

    def __init__(self, inner: ImportService, dies_in: int, *, is_after: bool) -> None:
        self._inner, self._left, self._is_after = inner, dies_in, is_after

    def send(self, body: bytes) -> Receipt:
        self._left -= 1
        if self._left < 0 and not self._is_after:
            raise Killed
        receipt = self._inner.send(body)
        if self._left < 0:
            raise Killed
        return receipt

    def note_unread(self, row: RejectedRow) -> None:
        self._inner.note_unread(row)

    def put_left_out(self, sender: str, rate: float, hours: Mapping[datetime, int]) -> None:
        self._inner.put_left_out(sender, rate, hours)


def test_the_same_file_twice_under_any_name_stores_nothing_twice(service: RunningService, tmp_path: Path) -> None:
    first = load(service, [log_file(tmp_path, 60)])
    again = load(service, [log_file(tmp_path, 60, "renamed.csv")])

    assert (first.read, first.accepted, first.duplicate, first.rejected) == (60, 59, 0, 1)
    assert (again.read, again.accepted, again.duplicate, again.rejected) == (60, 0, 59, 1)
    assert stored(service) == 59
    assert first.reasons == {"features.Age: must be a whole number": 1}
    assert [(rejection.line, rejection.field, rejection.reason) for rejection in first.rejections] == [
        (32, "features.Age", "must be a whole number, found 'young'")
    ]
    assert rows(service.database, "SELECT source, kind, sum(records)::int FROM arrivals GROUP BY 1, 2") == [("import", "payload", 59)]


def test_rows_that_look_alike_are_records_of_their_own(service: RunningService, tmp_path: Path) -> None:
    file = input_file(tmp_path, "log.csv", "Age,Sex,Owner,prediction\n" + "33,female,true,Risk\n" * 5)

    assert load(service, [file]).accepted == 5


@pytest.mark.parametrize("is_after", [True, False])
def test_an_import_that_is_stopped_anywhere_continues_and_its_report_is_complete(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_after: bool
) -> None:
    monkeypatch.setattr(engine, "BATCH_ROWS", 7)
    file, about, to = log_file(tmp_path, 60), subject(default_time=AT), ImportService(service.client, "credit-risk")
    rejections = tmp_path / "rejected.jsonl"
    sends = 0
    report = None
    for dies_in in (0, 1, 2, 3, 0, 100):
        checkpoint = CheckpointFile(tmp_path / "state", {"digest": file.digest, **describe_subject(about)}, rejections=rejections)
        try:
            report = run_import([file], ImportLayout.CSV, about, Fragile(to, dies_in, is_after=is_after), checkpoint)
        except Killed:
            sends += dies_in
        finally:
            checkpoint.close()

    assert report is not None
    assert (report.read, report.accepted + report.duplicate, report.rejected) == (60, 59, 1)
    assert stored(service) == 59
    assert [json.loads(line)["line"] for line in rejections.read_text().splitlines()] == [32]
    assert sends == 6  # so the last attempt did not begin at the beginning
    assert list((tmp_path / "state").iterdir()) == []


def test_rows_that_are_done_are_not_sent_again(service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BATCH_ROWS", 10)
    file, about, to = log_file(tmp_path, 60), subject(default_time=AT), ImportService(service.client, "credit-risk")
    with pytest.raises(Killed):
        run_import([file], ImportLayout.CSV, about, Fragile(to, 4, is_after=False), CheckpointFile(tmp_path / "s", {"a": 1}))

    report = run_import([file], ImportLayout.CSV, about, to, CheckpointFile(tmp_path / "s", {"a": 1}))

    assert (report.read, report.accepted, report.duplicate) == (60, 59, 0)


def test_a_note_of_another_import_or_a_damaged_one_is_not_used(tmp_path: Path) -> None:
    one = CheckpointFile(tmp_path, {"a": 1})
    one.note(ImportReport(read=5), 5)

    assert CheckpointFile(tmp_path, {"a": 2}).resume() == (ImportReport(), 0)
    assert CheckpointFile(tmp_path, {"a": 1}).resume()[1] == 5
    for path in tmp_path.iterdir():
        path.write_text('{"key":')
    assert CheckpointFile(tmp_path, {"a": 1}).resume() == (ImportReport(), 0)


def test_captures_and_their_ground_truth_are_joined(service: RunningService, tmp_path: Path) -> None:
    captures = [capture_line('33,"female",true', "Risk", event="e1", inference="i1"), capture_line('34,"male",true', "Risk", event="e2")]
    truth = [truth_line("Risk", "i1"), truth_line("No Risk", "e2"), truth_line("Risk", "nowhere")]

    load(service, [input_file(tmp_path, "c.jsonl", json_lines(captures))])
    report = load(service, [input_file(tmp_path, "t.jsonl", json_lines(truth))], LogKind.FEEDBACK)

    assert report.accepted == 3
    joined = "SELECT r.record_id, f.label FROM feedback_records f JOIN payload_records r USING (deployment_no, record_no) ORDER BY 1"
    assert rows(service.database, joined) == [("e2", "No Risk"), ("i1", "Risk")]


def test_a_sampled_table_says_how_many_records_it_does_not_hold_once(service: RunningService, tmp_path: Path) -> None:
    lines = [inference_row(f"r{no}", ROWS[:1], ["Risk"], sampling_fraction=0.25 if no < 8 else 0.5) for no in range(10)]
    for name in ("t.jsonl", "again.jsonl"):
        load(service, [input_file(tmp_path, name, json_lines(lines))])

    found = service.client.get("/v1/deployments/credit-risk/missing-records").json()["hours"]

    assert [(rate["left_out"], rate["lowest_rate"], rate["highest_rate"]) for rate in found] == [(26, 0.25, 0.5)]


def test_a_record_that_spoils_its_whole_body_does_not_take_the_others_with_it(service: RunningService, tmp_path: Path) -> None:
    class Picky(ImportService):
        def send(self, body: bytes) -> Receipt:
            if b"spoiled" in body:
                raise InvalidInput("body", "is spoiled")
            return super().send(body)

    records = [
        {"id": f"r{no}" if no != 4 else "spoiled", "features": dict(zip(NAMES, ROWS[0], strict=True)), "prediction": 1} for no in range(9)
    ]
    file = input_file(tmp_path, "log.jsonl", json_lines(records))

    report = run_import([file], ImportLayout.JSON_LINES, subject(default_time=AT), Picky(service.client, "credit-risk"), Checkpoint())

    assert (report.accepted, report.rejected) == (8, 1)
    assert [(rejection.line, rejection.field, rejection.reason) for rejection in report.rejections] == [(5, "body", "is spoiled")]


def test_each_hour_of_the_past_gets_its_own_records(service: RunningService, tmp_path: Path) -> None:
    def line(no: int) -> dict[str, Any]:
        time = (AT + timedelta(hours=no)).isoformat()
        return {"id": str(no), "scored_at": time, "features": dict(zip(NAMES, ROWS[0], strict=True)), "prediction": 1}

    load(service, [input_file(tmp_path, "log.jsonl", json_lines([line(no) for no in range(3)]))])

    found = rows(service.database, "SELECT logged_at FROM payload_records ORDER BY 1")
    assert [logged.astimezone(UTC) for (logged,) in found] == [AT + timedelta(hours=no) for no in range(3)]


def test_the_schema_and_outputs_are_those_of_the_service(service: RunningService) -> None:
    found = ImportService(service.client, "credit-risk").read_deployment()

    assert found.schema == SCHEMA
    assert (found.outputs.label, found.problem_type) == ("predictedLabel", "binary")


def test_a_file_of_which_most_times_cannot_be_is_refused_before_anything_is_stored(service: RunningService, tmp_path: Path) -> None:
    def load_times(*times: str) -> ImportReport:
        lines = ["scored_at,Age,Sex,Owner,prediction", *(f"{time},{20 + no % 50},f,true,Risk" for no, time in enumerate(times))]
        file = input_file(tmp_path, "log.csv", "\n".join(lines) + "\n")
        return run_import([file], ImportLayout.CSV, subject(), ImportService(service.client, "credit-risk"), Checkpoint())

    with pytest.raises(InvalidInput) as refused:
        load_times(*[TIME] * 5, *["010326093000"] * 6)
    assert stored(service) == 0
    message = refused.value.problems[0].message
    assert (
        "no usable time in 6 of 11 records: 6 not a time (first '010326093000' in record 6; as YYYYMMDDHHMM it is in the year 0103)"
        in message
    )
    assert "--time-format (here perhaps '%d%m%y%H%M%S'); nothing was stored." in message

    report = load_times(*[TIME] * 6, *["2031-01-01T00:00:00Z"] * 6)
    assert (report.accepted, report.rejected, stored(service)) == (6, 6, 6)
