"""Files of each layout give the records that were written into them, and every fault names its line and field."""

import json
from dataclasses import replace
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.domain.deployment import Column, FieldKind, FieldType, OutputFields, RecordSchema
from app.domain.record_times import LogKind
from app.intake.imports.flat_tables import ImportLayout, find_layout
from app.intake.imports.input_file import ImportRow, ImportSubject, InputFile
from tests.builders.vendor_files import (
    BENTO_SCHEMA,
    KSERVE_NEW,
    NAMES,
    ROWS,
    TIME,
    azure_events,
    bento_line,
    capture_line,
    inference_row,
    input_file,
    json_lines,
    kserve_rows,
    parquet_file,
    subject,
    truth_line,
)

PREDICTIONS = ["No Risk", "Risk", "No Risk"]
FEATURES = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def read(files: list[InputFile], of: ImportSubject | None = None) -> list[ImportRow]:
    about = of or subject()
    return list(find_layout(files, None, about.kind).read(files, about))


def records(rows: list[ImportRow]) -> list[dict[str, Any]]:
    assert [(row.field, row.reason) for row in rows if row.record is None] == []
    return [{name: value for name, value in (row.record or {}).items() if value is not None} for row in rows]


def expected(*ids: str, predictions: list[str] | None = None) -> list[dict[str, Any]]:
    answers = predictions or PREDICTIONS
    return [
        {"id": id_, "scored_at": TIME, "features": features, "prediction": prediction}
        for id_, features, prediction in zip(ids, FEATURES, answers, strict=True)
    ]


def faults(rows: list[ImportRow]) -> list[tuple[int, str]]:
    return [(row.line, row.field) for row in rows if row.record is None]


def test_csv_gives_each_cell_as_its_column_has_it(tmp_path: Path) -> None:
    text = 'id,scored_at,Age,Sex,Owner,prediction,probability,note\na,2026-03-01T09:30:00Z,33,female,true,No Risk,"[0.9, 0.1]",x\n'
    text += 'b,2026-03-01T10:30:00+01:00,,"Zoë, ""d’Arc""\r\n\n😀",,1,0.25,y\n'

    first, second = records(read([input_file(tmp_path, "log.csv", "\ufeff" + text)]))

    assert first == {
        "id": "a",
        "scored_at": TIME,
        "features": {"Age": 33, "Sex": "female", "Owner": True},
        "prediction": "No Risk",
        "probability": [0.9, 0.1],
    }
    assert second["features"] == {"Age": None, "Sex": 'Zoë, "d’Arc"\r\n\n😀', "Owner": None}
    assert (second["scored_at"], second["prediction"], second["probability"]) == (TIME, 1, 0.25)


def test_parquet_gives_values_and_missing_ones(tmp_path: Path) -> None:
    rows = [features | {"id": str(no), "scored_at": TIME, "prediction": PREDICTIONS[no]} for no, features in enumerate(FEATURES)]

    assert records(read([parquet_file(tmp_path, "log.parquet", rows)])) == expected("0", "1", "2")


def test_json_lines_are_native_records_or_objects_of_columns(tmp_path: Path) -> None:
    native = {"id": "n", "scored_at": "2026-03-01T09:30:00Z", "features": FEATURES[0], "prediction": 1}
    flat = {"id": "f", "timestamp": "2026-03-01T09:30:00Z", **FEATURES[0], "prediction": 1}

    found = records(read([input_file(tmp_path, "log.jsonl", json_lines([native, flat]))]))

    assert found[0] == found[1] | {"id": "n"}


def test_sagemaker_captures_are_joined_by_the_inference_id_where_there_is_one(tmp_path: Path) -> None:
    lines = [
        capture_line('33,"female",true', "No Risk", event="e1", inference="i1"),
        capture_line('33,"female",true\n51,"male",false\n', "No Risk\nRisk\n", event="e2"),
        capture_line(json.dumps({"instances": [ROWS[1]]}), json.dumps({"predictions": ["Risk"]}), event="e3", encoding="JSON"),
    ]
    truth = [truth_line("0", "i1"), truth_line("Risk\nNo Risk", "e2")]

    found = records(read([input_file(tmp_path, "2026/03/01/09/capture.jsonl", json_lines(lines))]))
    labels = records(read([input_file(tmp_path, "2026/03/02/10/truth.jsonl", json_lines(truth))], subject(LogKind.FEEDBACK)))

    assert [(record["id"], record["features"]["Sex"], record["prediction"]) for record in found] == [
        ("i1", "female", "No Risk"),
        ("e2-1", "female", "No Risk"),
        ("e2-2", "male", "Risk"),
        ("e3", "male", "Risk"),
    ]
    assert {record["scored_at"] for record in found} == {TIME}
    assert [(label["id"], label["label"], label["labelled_at"]) for label in labels] == [
        ("i1", 0, "2026-03-02T10:00:00+00:00"),
        ("e2-1", "Risk", "2026-03-02T10:00:00+00:00"),
        ("e2-2", "No Risk", "2026-03-02T10:00:00+00:00"),
    ]


def test_a_probability_alone_is_read_as_the_likeliest_class(tmp_path: Path) -> None:
    outputs = OutputFields(prediction="score", probability="score", classes=(0, 1))
    line = capture_line('33,"female",true', "0.0107", event="e1")

    (found,) = records(read([input_file(tmp_path, "capture.jsonl", json_lines([line]))], subject(outputs=outputs)))

    assert found["prediction"] == 0


def test_a_log_may_hold_the_prediction_without_the_other_outputs_that_the_model_answers(tmp_path: Path) -> None:
    outputs = OutputFields(probability="probability", label="decoded")
    lines = [
        capture_line('33,"female",true', "Risk", event="e1"),
        capture_line('33,"female",true', "Risk,0.7,Risk", event="e2"),
        capture_line('33,"female",true', "Risk,0.7", event="e3"),
    ]

    found = read([input_file(tmp_path, "capture.jsonl", json_lines(lines))], subject(outputs=outputs))

    assert [(row.record or {}).get("probability") for row in found] == [None, 0.7, None]
    assert faults(found) == [(3, "response")]


def test_azure_halves_are_joined_in_either_order_and_orphans_are_named(tmp_path: Path) -> None:
    answers = [{"prediction": prediction} for prediction in PREDICTIONS]
    asked, answered = azure_events("c1", FEATURES, answers)
    alone, _ = azure_events("c2", FEATURES, answers)
    inputs = input_file(tmp_path, "model_inputs/2026/03/01/09/a.jsonl", json_lines([asked, alone]))
    outputs = input_file(tmp_path, "model_outputs/2026/03/01/09/a.jsonl", json_lines([answered]))

    for files in ([inputs, outputs], [outputs, inputs]):
        rows = read(files)
        assert records([row for row in rows if row.record is not None]) == expected("c1-1", "c1-2", "c1-3")
        assert faults(rows) == [(2, "id")]


def test_a_pointer_of_azure_to_other_data_is_said(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    asked, _ = azure_events("c1", FEATURES, [])
    asked["data"] = "https://store/blob"

    (row,) = read([input_file(tmp_path, "a.jsonl", json_lines([asked]))])

    assert row.field == "data"
    assert row.reason == snapshot


@pytest.mark.parametrize("is_parquet", [True, False])
def test_databricks_rows_have_the_ids_of_the_client_and_their_fraction(tmp_path: Path, *, is_parquet: bool) -> None:
    rows = [
        inference_row("r1", ROWS[:1], PREDICTIONS[:1], client_request_id="mine", sampling_fraction=0.25),
        inference_row("r2", ROWS[1:], PREDICTIONS[1:]),
        inference_row("r3", ROWS[:1], PREDICTIONS[:1], status_code=400),
    ]
    file = parquet_file(tmp_path, "t.parquet", rows) if is_parquet else input_file(tmp_path, "t.jsonl", json_lines(rows))

    found = read([file])

    sampled, *others = expected("mine", "r2-1", "r2-2")
    assert records(found[:3]) == [sampled | {"sample_rate": 0.25}, *others]
    assert [row.fraction for row in found[:3]] == [0.25, 1, 1]
    assert faults(found) == [(3, "status_code")]


def test_older_inference_tables_state_milliseconds(tmp_path: Path) -> None:
    row = inference_row("r1", ROWS[:1], PREDICTIONS[:1], request_time=None, timestamp_ms=1772357400000)

    (found,) = records(read([input_file(tmp_path, "t.jsonl", json_lines([row]))]))

    assert found["scored_at"] == TIME


@pytest.mark.parametrize("is_new", [True, False])
def test_both_layouts_of_kserve_give_the_same_records_at_the_hour_of_their_path(tmp_path: Path, *, is_new: bool) -> None:
    rows = kserve_rows("k1", ROWS, PREDICTIONS, is_new=is_new)
    alone = kserve_rows("k2", ROWS, PREDICTIONS, is_new=is_new)[1:]
    file = parquet_file(tmp_path, "2026/03/01/09/a.parquet", [rows[1], *alone, rows[0]], KSERVE_NEW if is_new else None)

    found = read([file])

    hour = "2026-03-01T09:00:00+00:00"
    assert records([row for row in found if row.record is not None]) == [
        one | {"scored_at": hour} for one in expected("k1-1", "k1-2", "k1-3")
    ]
    assert faults(found) == [(2, "id")]


def test_bentoml_numbers_the_rows_of_one_request(tmp_path: Path) -> None:
    columns = (
        Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="age", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
    )
    about = subject(schema=RecordSchema(version=1, features=columns), outputs=OutputFields(prediction="pred"))
    lines = [bento_line("female", 25, "refused", "7"), bento_line("male", 30, "approved", "7"), bento_line("male", 31, "approved", "8")]

    found = records(read([input_file(tmp_path, "data.1.log", json_lines(lines))], about))

    assert [record["id"] for record in found] == ["7", "7-2", "8"]
    assert found[0] == {
        "id": "7",
        "scored_at": "2026-03-01T09:30:00.123456+00:00",
        "features": {"sex": "female", "age": 25},
        "prediction": "refused",
    }


def test_the_layout_of_each_file_is_found_from_its_beginning(tmp_path: Path) -> None:
    asked, _ = azure_events("c", FEATURES, [])
    files = {
        ImportLayout.CSV: input_file(tmp_path, "a", "Age,Sex\n"),
        ImportLayout.JSON_LINES: input_file(tmp_path, "b", json_lines([{"features": {}}])),
        ImportLayout.SAGEMAKER: input_file(tmp_path, "c", json_lines([truth_line("1", "e")])),
        ImportLayout.AZURE: input_file(tmp_path, "d", json_lines([asked])),
        ImportLayout.DATABRICKS: parquet_file(tmp_path, "e", [inference_row("r", [], [])]),
        ImportLayout.KSERVE: parquet_file(tmp_path, "f", kserve_rows("k", [], [], is_new=False)),
        ImportLayout.PARQUET: parquet_file(tmp_path, "g", [{"Age": 1}]),
        ImportLayout.BENTOML: input_file(tmp_path, "h", json_lines([bento_line("f", 1, "x", "1")])),
    }

    assert {layout: find_layout([file], None, LogKind.PAYLOAD) for layout, file in files.items()} == {file: file for file in files}
    with pytest.raises(InvalidInput, match="import them apart"):
        find_layout([files[ImportLayout.CSV], files[ImportLayout.AZURE]], None, LogKind.PAYLOAD)
    with pytest.raises(InvalidInput, match="holds no labels"):
        find_layout([files[ImportLayout.KSERVE]], None, LogKind.FEEDBACK)
    assert BENTO_SCHEMA["columns"]


GOOD = {"id": "n", "scored_at": "2026-03-01T09:30:00Z", "features": FEATURES[0], "prediction": 1}
CAPTURE = capture_line('33,"female",true', "Risk", event="e1")


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("{", 1, "line"),
        ("[1]", 1, "line"),
        ('{"features":{},"features":{}}', 1, "line"),
        ("[" * 100_000, 1, "line"),
        ('{"a":1e-400}', 1, "line"),
        ('{"captureData":{}}', 1, "eventMetadata"),
        (json.dumps(CAPTURE | {"captureData": 1}), 1, "captureData"),
        (json.dumps(CAPTURE | {"eventMetadata": {}}), 1, "eventMetadata.eventId"),
        (json.dumps(CAPTURE | {"captureData": {"endpointInput": {"data": 5}}}), 1, "captureData.endpointInput.data"),
        (json.dumps(CAPTURE).replace('"CSV"', '"BASE64"'), 1, "captureData.endpointInput.data"),
        (json.dumps(CAPTURE).replace("33,", "33,44,"), 1, "request"),
        (json.dumps(CAPTURE).replace('"Risk"', '"Risk\\nRisk"'), 1, "response"),
        (json.dumps(CAPTURE).replace("2026-03-01T09:30:00Z", "yesterday"), 1, "eventMetadata.inferenceTime"),
        (json.dumps(GOOD | {"scored_at": "2026-03-01T09:30:00"}), 1, "scored_at"),
        (json.dumps(GOOD | {"scored_at": 5}), 1, "scored_at"),
        (json.dumps(GOOD | {"features": 5}), 1, "line"),
        ('{"databricks_request_id":"a"}', 1, "request"),
        ('{"databricks_request_id":"a","request":"{}","response":"{}"}', 1, "request"),
        ('{"databricks_request_id":"a","sampling_fraction":0,"request":"{}","response":"{}"}', 1, "sampling_fraction"),
        ('{"reqType":"a.request","bytes":"%%%","id":"x"}', 1, "bytes"),
        ('{"reqType":"a.other","bytes":"","id":"x"}', 1, "reqType"),
        ('{"specversion":"1.0","type":"azureml.inference.model_inputs","data":[]}', 1, "correlationid"),
    ],
)
def test_a_hostile_line_is_refused_by_line_and_field(tmp_path: Path, text: str, line: int, field: str) -> None:
    rows = read([input_file(tmp_path, "hostile.jsonl", text + "\n")])

    assert faults(rows) == [(line, field)]
    assert len(rows[0].reason) < 1000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Age,Sex,Owner\n1,2,3\n", "has no column of the prediction; name it with --prediction-column"),
        ("Age,Sex,prediction\n", "has no column 'Owner', which is a feature"),
        ("Age,Age\n", "names a column twice"),
        ('Age,Sex,Owner,prediction\n1,"a"b,true,1\n', r"line 2: is not CSV"),
        ("", "has no column"),
        (b"PAR1 and nothing else", "is not a Parquet file"),
        (b"x" * (8 * 2**20 + 1), r"line 1: is longer than 8 MiB"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_as_a_whole(tmp_path: Path, content: bytes | str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read([input_file(tmp_path, "hostile", content)])


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_a_file_of_another_encoding_is_refused_whole_and_read_where_that_is_named(tmp_path: Path, name: str) -> None:
    text = f"id,scored_at,Age,Sex,Owner,prediction\na,{TIME},1,männlich,true,1\n"
    if name == "log.jsonl":
        features = {"Age": 1, "Sex": "männlich", "Owner": True}
        text = json.dumps({"id": "a", "scored_at": TIME, "features": features, "prediction": 1}, ensure_ascii=False) + "\n"
    digests = {input_file(tmp_path, name, text).digest}
    for encoding in ("latin-1", "utf-16", "utf-16-le"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        with pytest.raises(InvalidInput, match=r"byte .. at offset \d+ \(line \d\) is not UTF-8. .* --encoding (latin-1|utf-16)"):
            InputFile.at(path)
        file = InputFile.at(path, encoding)
        (row,) = read([file])
        assert (row.record or {})["features"]["Sex"] == "männlich"
        digests.add(file.digest)
    # The same rows have the same ids, however the file is written.
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("cell", "form", "zone"),
    [
        ("1772357400", None, None),
        ("1772357400000", None, None),
        ("639079542000000000", None, None),
        ("20260301093000", None, UTC),
        ("2026030110", "%Y%m%d%H", timezone(timedelta(hours=0, minutes=30))),
        ("46082.3958333333", "excel", None),
    ],
)
def test_times_are_read_as_the_commands_read_them(tmp_path: Path, cell: str, form: str | None, zone: tzinfo | None) -> None:
    file = input_file(tmp_path, "log.csv", f"id,scored_at,Age,Sex,Owner,prediction\na,{cell},1,f,true,1\n")
    about = subject()

    (record,) = records(read([file], replace(about, times=replace(about.times, form=form, zone=zone))))

    assert record["scored_at"] == TIME


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("20260301093000", "must state its offset"),
        ("2026-03-01T09:30:00", "must state its offset"),
        ("2026-03-01", "date without a time"),
        ("1970-01-01T00:00:00Z", "default date"),
        ("2031-01-01T00:00:00Z", "in the future"),
        ("2005-12-31T00:00:00Z", "before the first possible time"),
        ("010326093000", "not a time"),
    ],
)
def test_a_time_that_cannot_be_refuses_its_row_by_the_reason(tmp_path: Path, cell: str, words: str) -> None:
    (row,) = read([input_file(tmp_path, "log.csv", f"id,scored_at,Age,Sex,Owner,prediction\na,{cell},1,f,true,1\n")])

    assert (row.field, row.record) == ("scored_at", None)
    assert words in row.reason
