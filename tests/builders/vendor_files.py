"""Files in the vendors' documented forms, of records that are known: written as the vendor's own component writes them."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from app.domain.deployment import Column, FieldKind, FieldType, OutputFields, RecordSchema
from app.domain.record_times import LogKind, TimeRule
from app.intake.imports.input_file import ImportSubject, InputFile

SCHEMA = RecordSchema(
    version=1,
    features=(
        Column(name="Age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
        Column(name="Sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="Owner", type=FieldType.BOOLEAN, kind=FieldKind.CATEGORICAL),
    ),
    meta=(Column(name="Postcode", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
)
TIME = "2026-03-01T09:30:00+00:00"
ROWS: tuple[tuple[Any, ...], ...] = ((33, "female", True), (51, "male", False), (None, "Zoë, “d'Arc”\n😀", None))
NAMES = ("Age", "Sex", "Owner")


def subject(kind: LogKind = LogKind.PAYLOAD, **changes: Any) -> ImportSubject:  # noqa: ANN401 - the members of the subject
    """The deployment of these files."""
    times = replace(TimeRule.at(datetime(2026, 11, 28, 12, tzinfo=UTC)), zone=None)
    return ImportSubject(kind=kind, **({"schema": SCHEMA, "outputs": OutputFields(), "times": times} | changes))


def input_file(folder: Path, name: str, content: bytes | str) -> InputFile:
    """A file with that content."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return InputFile.at(path)


def parquet_file(folder: Path, name: str, rows: Sequence[dict[str, Any]], schema: pa.Schema | None = None) -> InputFile:
    """The rows as Parquet."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
    return InputFile.at(path)


def json_lines(rows: Sequence[Any]) -> str:
    """A line of JSON for each."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def capture_line(data: str, answer: str, *, event: str, inference: str | None = None, encoding: str = "CSV") -> dict[str, Any]:
    """A line of SageMaker's data capture."""
    kind = "application/json" if encoding == "JSON" else "text/csv"
    metadata = {"eventId": event, "inferenceTime": "2026-03-01T09:30:00Z"}
    return {
        "captureData": {
            "endpointInput": {"observedContentType": kind, "mode": "INPUT", "data": data, "encoding": encoding},
            "endpointOutput": {"observedContentType": f"{kind}; charset=utf-8", "mode": "OUTPUT", "data": answer, "encoding": encoding},
        },
        "eventMetadata": metadata | ({} if inference is None else {"inferenceId": inference}),
        "eventVersion": "0",
    }


def truth_line(label: str, event: str) -> dict[str, Any]:
    """A line of SageMaker's ground truth."""
    return {"groundTruthData": {"data": label, "encoding": "CSV"}, "eventMetadata": {"eventId": event}, "eventVersion": "0"}


def azure_events(call: str, rows: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs and the outputs of a call, as the blobs of Azure's collector have them."""

    def event(kind: str, data: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {
            "specversion": "1.0",
            "id": f"{call}-{kind}",
            "source": "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w/onlineEndpoints/e",
            "type": f"azureml.inference.{kind}",
            "datacontenttype": "application/json",
            "time": "2026-03-01T09:30:00Z",
            "data": list(data),
            "correlationid": call,
            "xrequestid": f"x-{call}",
            "modelversion": "1",
            "collectdatatype": "pandas.core.frame.DataFrame",
            "agent": "azureml-ai-monitoring/1.0.0",
            "contentrange": "bytes 0-116/117",
        }

    return event("model_inputs", rows), event("model_outputs", answers)


def inference_row(call: str, rows: Sequence[Sequence[Any]], predictions: Sequence[Any], **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - cells
    """A row of a Databricks inference table."""
    return {
        "databricks_request_id": call,
        "request_date": "2026-03-01",
        "client_request_id": None,
        "request_time": "2026-03-01T09:30:00Z",
        "status_code": 200,
        "sampling_fraction": 1.0,
        "execution_duration_ms": 7,
        "request": json.dumps({"dataframe_split": {"columns": NAMES, "data": rows}}),
        "response": json.dumps({"predictions": predictions}),
        "served_entity_id": "s",
        "logging_error_codes": [],
        "requester": "somebody",
        **changes,
    }


def kserve_rows(call: str, rows: Sequence[Sequence[Any]], predictions: Sequence[Any], *, is_new: bool) -> list[dict[str, Any]]:
    """The request and the answer of a call, as KServe's logger writes them: the older layout in camel case with base64."""
    bodies = {"request": {"instances": rows}, "response": {"predictions": predictions}}
    halves = []
    for half, body in bodies.items():
        kind, content = f"org.kubeflow.serving.inference.{half}", json.dumps(body).encode()
        if is_new:
            row = {"url": "http://sink", "bytes": content, "content_type": "application/json", "req_type": kind, "id": call}
            row |= {"source_uri": "s", "inference_service": "credit", "namespace": "n", "component": "predictor", "endpoint": ""}
            row |= {"metadata": [("a", ["b"])], "annotations": [], "cert_name": "", "tls_skip_verify": False}
        else:
            text = base64.b64encode(content).decode()
            row = {"url": "http://sink", "bytes": text, "contentType": "application/json", "reqType": kind, "id": call}
            row |= {"sourceUri": "s", "inferenceService": "credit", "namespace": "n", "component": "predictor", "endpoint": ""}
            row |= {"metadata": "{}", "annotations": "{}", "certName": "", "tlsSkipVerify": False}
        halves.append(row)
    return halves


KSERVE_NEW = pa.schema(
    [
        *((name, pa.string()) for name in ("url",)),
        ("bytes", pa.binary()),
        *((name, pa.string()) for name in ("content_type", "req_type", "id", "source_uri", "inference_service", "namespace")),
        *((name, pa.string()) for name in ("component", "endpoint")),
        ("metadata", pa.map_(pa.string(), pa.list_(pa.string()))),
        ("annotations", pa.map_(pa.string(), pa.string())),
        ("cert_name", pa.string()),
        ("tls_skip_verify", pa.bool_()),
    ]
)

BENTO_SCHEMA = {
    "meta_data": {"bento_name": "credit", "bento_version": "v7"},
    "columns": [
        {"name": "sex", "role": "feature", "type": "categorical"},
        {"name": "age", "role": "feature", "type": "numerical"},
        {"name": "pred", "role": "prediction", "type": "categorical"},
    ],
}


def bento_line(sex: str, age: int, prediction: str, request: str) -> dict[str, Any]:
    """A line of a data file of BentoML's monitor."""
    columns = {"sex": sex, "age": age, "pred": prediction}
    return columns | {"timestamp": "2026-03-01T09:30:00.123456", "request_id": request, "trace_id": f"t{request}"}
