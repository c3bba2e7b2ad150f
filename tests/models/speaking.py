"""Every payload format, read and written as its server would, with nothing of the product's: the other side of `app/payloads`.

`speak(name, body, score)` reads a request in that format, gives its columns and rows to `score`, and writes the objects that it returns.
"""

import csv
import io
import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

Score = Callable[[Sequence[str] | None, list[list[Any]]], list[dict[str, Any]]]
"""Columns, None where the format names none, and rows; an object of outputs for each row."""


def speak(name: str, body: bytes, score: Score) -> bytes:
    """The answer to a request."""
    return SPOKEN[name](body, score)


def _fields_values(body: bytes, score: Score) -> bytes:
    sent = json.loads(body)
    return json.dumps(_table(score(sent["fields"], sent["values"]))).encode()


def _input_data(body: bytes, score: Score) -> bytes:
    (sent,) = json.loads(body)["input_data"]
    return json.dumps({"predictions": [_table(score(sent["fields"], sent["values"]))]}).encode()


def _table(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"fields": list(found[0]), "values": [list(one.values()) for one in found]}


def _predictions(found: list[dict[str, Any]]) -> bytes:
    return json.dumps({"predictions": found}).encode()


def _mlflow(body: bytes, score: Score) -> bytes:
    sent = json.loads(body)["dataframe_split"]
    return _predictions(score(sent["columns"], sent["data"]))


def _objects(rows: list[dict[str, Any]], score: Score) -> list[dict[str, Any]]:
    return score(list(rows[0]), [list(row.values()) for row in rows])


def _mlflow_inputs(body: bytes, score: Score) -> bytes:
    sent = json.loads(body)["inputs"]
    return _predictions(score(list(sent), [list(row) for row in zip(*sent.values(), strict=True)]))


def _cell(text: str) -> Any:  # noqa: ANN401 - as pandas would read it
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def _lines(body: bytes) -> list[list[Any]]:
    return [[_cell(cell) for cell in row] for row in csv.reader(io.StringIO(body.decode(), newline=""))]


def _mlflow_csv(body: bytes, score: Score) -> bytes:
    columns, *rows = _lines(body)
    return _predictions(score(columns, rows))


def _sagemaker_csv(body: bytes, score: Score) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(one.values() for one in score(None, _lines(body)))
    return text.getvalue().encode()


def _sagemaker_json_lines(body: bytes, score: Score) -> bytes:
    found = score(None, [json.loads(line)["features"] for line in body.splitlines()])
    return b"\n".join(json.dumps(one).encode() for one in found)


def _tensors(body: bytes) -> tuple[list[str], list[list[Any]]]:
    sent = json.loads(body)["inputs"]
    if len(sent) == 1 and sent[0]["shape"][1] > 1:
        count, width = sent[0]["shape"]
        return [], [sent[0]["data"][width * row : width * (row + 1)] for row in range(count)]
    return [one["name"] for one in sent], [list(row) for row in zip(*(one["data"] for one in sent), strict=True)]


def _open_inference(body: bytes, score: Score) -> bytes:
    columns, rows = _tensors(body)
    found = score(columns or None, rows)
    outputs = [{"name": name, **_tensor([one[name] for one in found])} for name in found[0]]
    return json.dumps({"model_name": "credit", "id": "req-1", "parameters": {}, "outputs": outputs}).encode()


def _tensor(cells: list[Any]) -> dict[str, Any]:
    kind = {int: "INT64", float: "FP64", str: "BYTES"}[type(cells[0])]
    return {"shape": [len(cells)], "datatype": kind, "data": cells}


def _open_inference_binary(body: bytes, score: Score) -> bytes:
    header, end = json.JSONDecoder().raw_decode(body.decode("latin-1"))
    columns, at = {}, end
    for one in header["inputs"]:
        size = one["parameters"]["binary_data_size"]
        columns[one["name"]] = _numbers(one["datatype"], body[at : at + size])
        at += size
    found = score(list(columns), [list(row) for row in zip(*columns.values(), strict=True)])
    parts, outputs = [], []
    for name in found[0]:
        cells = [one[name] for one in found]
        kind = {int: "INT64", float: "FP64", str: "BYTES"}[type(cells[0])]
        texts = [cell.encode() for cell in cells] if kind == "BYTES" else []
        item = "q" if kind == "INT64" else "d"
        parts.append(
            b"".join(struct.pack("<I", len(text)) + text for text in texts) if texts else struct.pack(f"<{len(cells)}{item}", *cells)
        )
        shape, size = [len(cells), 1], {"binary_data_size": len(parts[-1])}
        outputs.append({"name": name, "datatype": kind, "shape": shape, "parameters": size})
    return json.dumps({"outputs": outputs}).encode() + b"".join(parts)


def _numbers(kind: str, data: bytes) -> list[Any]:
    if kind == "BYTES":
        found, at = [], 0
        while at < len(data):
            (length,) = struct.unpack_from("<I", data, at)
            found.append(data[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return found
    item = struct.Struct({"INT64": "<q", "FP64": "<d", "BOOL": "<?"}[kind])
    return [value for (value,) in item.iter_unpack(data)]


MAPPING: dict[str, Any] = {
    "records": "$.people[*]",
    "answers": "$.results.each[*]",
    "columns": {"sex": "$.person.sex", "age": "$.person['years old']", "income": "$.money[0]"},
    "outputs": {"prediction": "$.decision.value", "probability": "$.p"},
    "constants": {"$.model": "credit"},
}
"""The places in a body of `_mapped`."""


def _mapped(body: bytes, score: Score) -> bytes:
    sent = json.loads(body)
    assert sent["model"] == "credit"
    people = [
        {"sex": person["person"]["sex"], "age": person["person"]["years old"], "income": person["money"][0], "owner": person["owner"]}
        for person in sent["people"]
    ]
    found = [{"decision": {"value": record["prediction"]}, "p": record["probability"]} for record in _objects(people, score)]
    return json.dumps({"results": {"each": found}}).encode()


SPOKEN: dict[str, Callable[[bytes, Score], bytes]] = {
    "fields_values": _fields_values,
    "input_data": _input_data,
    "mlflow": _mlflow,
    "mlflow_records": lambda body, score: _predictions(_objects(json.loads(body)["dataframe_records"], score)),
    "mlflow_inputs": _mlflow_inputs,
    "mlflow_csv": _mlflow_csv,
    "instances": lambda body, score: _predictions(_objects(json.loads(body)["instances"], score)),
    "kserve_v1": lambda body, score: _predictions(score(None, json.loads(body)["instances"])),
    "open_inference": _open_inference,
    "open_inference_matrix": _open_inference,
    "open_inference_binary": _open_inference_binary,
    "sagemaker_csv": _sagemaker_csv,
    "sagemaker_json_lines": _sagemaker_json_lines,
    "mapped": _mapped,
    "json_records": lambda body, score: json.dumps(_objects(json.loads(body), score)).encode(),
}
