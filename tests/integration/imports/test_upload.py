"""The upload route imports what the command line does, within bounds, and a file of nothing but faults is a refusal."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.intake.imports import routes as imports
from tests.builders.bodies import monitor
from tests.builders.queries import rows
from tests.builders.vendor_files import ROWS, TIME, capture_line, inference_row, json_lines
from tests.progress import wait_until
from tests.service import RunningService

PATH = "/v1/deployments/credit-risk/imports"
CSV = "id,scored_at,Age,Sex,Owner,prediction\na,2026-03-01T09:30:00Z,33,female,true,Risk\nb,2026-03-01T09:30:00Z,young,female,true,Risk\n"
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
LINES = {"Content-Type": "application/jsonlines"}


@pytest.mark.nightly
def test_a_file_is_imported_and_its_rejected_rows_are_listed_and_counted(service: RunningService) -> None:
    first = service.client.post(PATH, content=CSV, headers={"Content-Type": "text/csv"})
    again = service.client.post(PATH, content=CSV, headers={"Content-Type": "text/csv"})

    assert first.json() == {
        "read": 2,
        "accepted": 1,
        "duplicate": 0,
        "rejected": 1,
        "rounded_probabilities": 0,
        "earliest": "2026-03-01T09:30:00Z",
        "latest": "2026-03-01T09:30:00Z",
        "reasons": {"features.Age: must be a whole number": 1},
        "rejections": [{"line": 3, "field": "features.Age", "reason": "must be a whole number, found 'young'"}],
        "warnings": {},
    }
    assert (again.json()["accepted"], again.json()["duplicate"]) == (0, 1)
    counted = "SELECT source, reason, field, records FROM rejection_counts"
    wait_until(lambda: rows(service.database, counted) == [("import", "wrong_type", "Age", 2)], "both are counted")


def test_answers_in_no_outcome_list_are_a_warning(service: RunningService) -> None:
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    lines = "".join(f"{n},2026-03-01T09:30:00Z,33,female,true,Risk{'.' * (n % 2)}\n" for n in range(5))

    report = service.client.post(PATH, content=CSV.splitlines()[0] + "\n" + lines, headers={"Content-Type": "text/csv"}).json()

    assert report["accepted"] == 5
    assert report["warnings"] == {"prediction: 'Risk.' is in neither outcome list; did you mean 'Risk'?": 2}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_text_of_another_encoding_is_refused_whole_and_taken_where_the_content_type_says_it(service: RunningService, encoding: str) -> None:
    content = (CSV.replace("young", "34").replace("female", "weiblich") + "c,2026-03-01T09:30:00Z,33,männlich,true,Risk\n").encode(encoding)
    feedback = "id,label\na,Rißk\n".encode(encoding)
    path = "/v1/deployments/credit-risk/feedback-records"

    refused = [
        service.client.post(at, content=body, headers={"Content-Type": "text/csv"}) for at, body in ((PATH, content), (path, feedback))
    ]
    assert service.client.get("/v1/deployments/credit-risk/payload-records").json()["payload_records"] == []
    headers = {"Content-Type": f"text/csv; charset={encoding}"}
    taken = [service.client.post(at, content=body, headers=headers) for at, body in ((PATH, content), (path, feedback))]

    assert [answer.status_code for answer in refused] == [422, 422]
    assert all("is not UTF-8" in answer.text and f"charset={encoding}" in answer.text for answer in refused)
    assert [answer.json()["accepted"] for answer in taken] == [3, 1]
    stored = service.client.get("/v1/deployments/credit-risk/payload-records").json()["payload_records"]
    assert {record["features"]["Sex"] for record in stored} == {"weiblich", "männlich"}


def test_parquet_captures_and_labels_are_taken(service: RunningService) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([inference_row("r1", ROWS[:1], ["Risk"], sampling_fraction=0.5)]), buffer)
    table = service.client.post(PATH, content=buffer.getvalue(), headers={"Content-Type": "application/vnd.apache.parquet"})
    capture = service.client.post(PATH, content=json_lines([capture_line('33,"f",true', "Risk", event="e1")]), headers=LINES)
    label = {"id": "e1", "label": "Risk", "labelled_at": "2026-03-01T10:00:00Z"}
    labels = service.client.post(PATH, params={"kind": "feedback"}, content=json_lines([label]), headers=LINES)

    assert [response.json()["accepted"] for response in (table, capture, labels)] == [1, 1, 1]
    missing = service.client.get("/v1/deployments/credit-risk/missing-records").json()["hours"]
    assert [(one["left_out"], one["lowest_rate"]) for one in missing] == [(1, 0.5)]


def test_a_label_stays_a_text_where_the_monitor_lists_texts(service: RunningService) -> None:
    path, csv_type = "/v1/deployments/credit-risk/feedback-records", {"Content-Type": "text/csv"}
    sides = [{"favourable": [1], "unfavourable": [0]}, {"favourable": ["1.0"], "unfavourable": ["1"]}]
    for place, side in enumerate(sides):
        service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor(**side)).raise_for_status()
        # The service keeps what it has read of a deployment, but not of its monitor.
        service.client.post(path, content=f"id,label\na{place},1.0\n", headers=csv_type).raise_for_status()
        labels = f"id,label,labelled_at\nb{place},1.0,{TIME}\n"
        service.client.post(PATH, params={"kind": "feedback"}, content=labels, headers=csv_type).raise_for_status()

    stored = "SELECT feedback_id, label FROM feedback_records ORDER BY feedback_id"
    assert rows(service.database, stored) == [("a0", 1), ("a1", "1.0"), ("b0", 1), ("b1", "1.0")]


def test_a_cell_of_a_protected_column_is_read_as_it_is_sent(service: RunningService) -> None:
    meta = [{"name": "Number", "type": "string", "storage": {"kind": "pseudonym", "sent": "integer"}}]
    service.client.patch("/v1/deployments/credit-risk", json={"meta": meta}).raise_for_status()
    content = f"id,scored_at,Age,Sex,Owner,Number,prediction\na,{TIME},33,f,true,7,Risk\n"

    assert service.client.post(PATH, content=content, headers={"Content-Type": "text/csv"}).json()["accepted"] == 1


def test_times_are_read_by_the_stated_form_and_from_the_first_possible_day(service: RunningService) -> None:
    lines = "".join(f"{day},03.11.{year} 09:30+0100,33,f,true,Risk\n" for day, year in enumerate([1996, 2020, 2020, 2020]))
    file = {"content": f"id,scored_at,Age,Sex,Owner,prediction\n{lines}", "headers": {"Content-Type": "text/csv"}}

    def upload(earliest: str | None) -> list[int]:
        service.client.patch("/v1/deployments/credit-risk", json={"earliest": earliest}).raise_for_status()
        taken = service.client.post(PATH, params={"time_format": "%d.%m.%Y %H:%M%z"}, **file).json()
        return [taken["accepted"], taken["duplicate"], taken["rejected"]]

    assert "no usable time" in service.client.post(PATH, **file).text
    assert upload(None) == [3, 0, 1]
    assert upload("1996-11-04") == [0, 3, 1]
    assert upload("1996-11-03") == [1, 3, 0]
    assert service.client.get("/v1/deployments/credit-risk").json()["earliest"] == "1996-11-03"
    late = {"id": "late", "features": {"Age": 1, "Sex": "f", "Owner": True}, "prediction": 1, "scored_at": "2020-11-03T09:30:00Z"}
    service.client.patch("/v1/deployments/credit-risk", json={"earliest": "2021-01-01"}).raise_for_status()
    refused = service.client.post("/v1/deployments/credit-risk/payload-records", json={"records": [late]})
    assert "must lie between 2021-01-01" in refused.text


@pytest.mark.nightly
def test_rows_that_are_no_records_are_counted_too(service: RunningService) -> None:
    content = json_lines([capture_line('33,"f",true', "Risk", event="e1")]) + "{\n"

    assert service.client.post(PATH, content=content, headers=LINES).json()["rejected"] == 1
    counted = "SELECT reason, field, records FROM rejection_counts"
    wait_until(lambda: rows(service.database, counted) == [("wrong_shape", "line", 1)], "it is counted")


def test_hostile_uploads_get_a_message_that_names_the_place(service: RunningService, subtests: pytest.Subtests) -> None:
    for content, query, field in (
        (CSV.splitlines()[0] + "\nb,x,1,f,true,1\n", {}, "time"),
        (CSV.splitlines()[0] + f"\nb,x,1,f,true,1\nc,{TIME},young,f,true,1\n", {}, "line 2, scored_at"),
        (CSV, {"id_column": "nothing"}, "body"),
        ("Age\n1\n", {}, "body"),
        (CSV, {"layout": "excel"}, "layout"),
        (CSV, {"kind": "training"}, "kind"),
        (CSV, {"at": "2026-03-01"}, "at"),
        (CSV, {"more": "1"}, "query.more"),
        ('a,"b\n' * 3, {}, "body line 2"),
        (b"\xff\xfe\x00", {}, "body"),
    ):
        with subtests.test(content=content, query=query, field=field):
            answer = service.client.post(PATH, params=query, content=content, headers={"Content-Type": "text/csv"})

            assert answer.status_code == 422, answer.text
            assert answer.json()["errors"][0]["field"] == field
            assert rows(service.database, "SELECT count(*) FROM payload_records") == [(0,)]


def test_an_upload_over_the_limit_or_of_another_type_is_refused(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MAX_IMPORT_BYTES", 10)

    assert service.client.post(PATH, content=CSV, headers={"Content-Type": "text/csv"}).status_code == 413
    assert service.client.post(PATH, content=b"PK", headers={"Content-Type": "application/zip"}).status_code == 415
    assert service.client.post(PATH, json={"records": []}).status_code == 415


@pytest.mark.thorough
def test_a_text_that_each_row_of_a_dictionary_repeats_is_refused(service: RunningService) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 9_000_000]))
    table = pa.table({"Sex": long, "Age": [1] * 1000, "Owner": [True] * 1000, "prediction": ["Risk"] * 1000})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)

    answer = service.client.post(PATH, content=buffer.getvalue(), headers={"Content-Type": "application/vnd.apache.parquet"})

    assert answer.status_code == 413
    assert "more memory than the 1024 MiB of EVENHAND_UPLOAD_MEMORY_BYTES" in answer.json()["detail"]


def test_a_damaged_value_of_parquet_costs_its_row_alone(service: RunningService) -> None:
    damaged = pa.Array.from_buffers(pa.string(), 3, pa.array([b"f", b"\xd9", b"f"]).buffers())
    table = pa.table({"id": ["a", "b", "c"], "Sex": damaged, "Age": [1] * 3, "Owner": [True] * 3, "prediction": ["Risk"] * 3})
    buffer = io.BytesIO()
    pq.write_table(table.append_column("scored_at", pa.array(["2026-03-01T09:30:00Z"] * 3)), buffer)

    answer = service.client.post(PATH, content=buffer.getvalue(), headers=PARQUET).raise_for_status().json()

    assert answer["accepted"] == 2
    assert [(rejection["line"], rejection["field"]) for rejection in answer["rejections"]] == [(2, "Sex")]
    assert "cannot be read ('utf-8' codec" in answer["rejections"][0]["reason"]


def test_a_type_of_parquet_that_no_record_has_is_refused_by_its_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for name, values, field, words in (
        ("Age", pa.array([5], pa.duration("s")), "features.Age", "must be text, a number, true or false, found '0:00:05' (timedelta)"),
        ("prediction", pa.array([5], pa.duration("s")), "prediction", "found '0:00:05' (timedelta)"),
        ("id", pa.array([b"\xff"]), "id", "must not contain half of a surrogate pair"),
    ):
        with subtests.test(name=name, values=values, field=field, words=words):
            columns = {
                "id": ["a"],
                "Sex": ["f"],
                "Age": [1],
                "Owner": [True],
                "prediction": ["Risk"],
                "scored_at": ["2026-03-01T09:30:00Z"],
            }
            buffer = io.BytesIO()
            pq.write_table(pa.table({**columns, name: values}), buffer)

            answer = service.client.post(PATH, content=buffer.getvalue(), headers=PARQUET)

            assert answer.status_code == 422, answer.text
            problem = answer.json()["errors"][0]
            assert problem["field"] == f"line 1, {field}"
            assert words in problem["message"]


def test_a_file_of_no_rows_stores_nothing(service: RunningService) -> None:
    answer = service.client.post(PATH, content=CSV.splitlines()[0] + "\n", headers={"Content-Type": "text/csv"})

    assert json.loads(answer.content)["read"] == 0
