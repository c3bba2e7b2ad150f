"""Reading what was written gives the rows back, in every layout that carries them."""

import base64
import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.deployment import Column, FieldKind, FieldType, RecordSchema
from app.domain.record_times import LogKind
from app.intake.imports.flat_tables import find_layout
from app.intake.imports.input_file import InputFile
from app.payloads.csv_text import write_csv
from tests.builders.vendor_files import KSERVE_NEW, azure_events, capture_line, inference_row, input_file, json_lines, parquet_file, subject
from tests.examples import many

SCHEMA = RecordSchema(
    version=1,
    features=tuple(
        Column(name=name, type=kind, kind=FieldKind.CATEGORICAL)
        for name, kind in (("i", FieldType.INTEGER), ("n, “x”", FieldType.NUMBER), ("s", FieldType.STRING), ("b", FieldType.BOOLEAN))
    ),
)
NAMES = [column.name for column in SCHEMA.features]
# A text file cannot distinguish an empty text from a missing one.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
        st.booleans(),
        st.sampled_from(["yes", "no", "Größe"]),
    ),
    min_size=1,
    max_size=4,
)
TIME = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

Write = Callable[[Path, list[tuple[Any, ...]]], list[InputFile]]


def as_csv(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*NAMES, "prediction", "scored_at"])
    # repr of a float has all of its digits; Python's writer uses it, too.
    writer.writerows([*row[:3], str(row[3]).lower(), row[4], TIME.isoformat()] for row in rows)
    return [input_file(folder, "log.csv", text.getvalue())]


def as_parquet(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    columns = [*NAMES, "prediction"]
    return [parquet_file(folder, "log.parquet", [dict(zip(columns, row, strict=True)) | {"scored_at": TIME} for row in rows])]


def as_json_lines(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    records = [{"features": dict(zip(NAMES, row[:4], strict=True)), "prediction": row[4], "scored_at": TIME.isoformat()} for row in rows]
    return [input_file(folder, "log.jsonl", json_lines(records))]


def as_sagemaker(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    asked, answered = write_csv(row[:4] for row in rows), write_csv([row[4]] for row in rows)
    line = capture_line(base64.b64encode(asked).decode(), base64.b64encode(answered).decode(), event="e", encoding="BASE64")
    return [input_file(folder, "capture.jsonl", json_lines([line]))]


def as_azure(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    events = azure_events("c", [dict(zip(NAMES, row[:4], strict=True)) for row in rows], [{"prediction": row[4]} for row in rows])
    return [input_file(folder, "a.jsonl", json_lines(events))]


def as_databricks(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    row = inference_row("d", [], [row[4] for row in rows])
    row["request"] = json.dumps({"dataframe_split": {"columns": NAMES, "data": [row[:4] for row in rows]}})
    return [parquet_file(folder, "t.parquet", [row])]


def as_kserve(folder: Path, rows: list[tuple[Any, ...]]) -> list[InputFile]:
    bodies = {"request": {"instances": [row[:4] for row in rows]}, "response": {"predictions": [row[4] for row in rows]}}
    halves = [
        {"id": "k", "req_type": f"org.kubeflow.serving.inference.{half}", "bytes": json.dumps(body).encode()}
        for half, body in bodies.items()
    ]
    return [parquet_file(folder, "2026/03/01/09/k.parquet", halves, KSERVE_NEW)]


@pytest.mark.parametrize("write", [as_csv, as_parquet, as_json_lines, as_sagemaker, as_azure, as_databricks, as_kserve])
@settings(max_examples=many(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_reading_what_was_written_gives_the_rows_back(tmp_path: Path, write: Write, rows: list[tuple[Any, ...]]) -> None:
    about = subject(schema=SCHEMA)
    files = write(tmp_path, rows)

    found = list(find_layout(files, None, LogKind.PAYLOAD).read(files, about))

    assert [row.reason for row in found if row.record is None] == []
    read = [(*(row.record or {})["features"].values(), (row.record or {})["prediction"]) for row in found]
    assert read == rows
    assert all(
        type(one) is type(other) or {type(one), type(other)} == {int, float}
        for a, b in zip(read, rows, strict=True)
        for one, other in zip(a, b, strict=True)
    )
