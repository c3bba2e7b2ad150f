"""BentoML's monitor: a schema file, and a JSON line a record."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial

from ...base.errors import InvalidInput
from ...base.strict_json import JsonObject, parse_json
from ...base.values import frozen
from ...domain.arrival import LogKind
from .input_file import ImportRow, ImportSubject, InputFile, RowRefused, read_time
from .logged_calls import read_rows

_TYPES = {"numerical": "number", "categorical": "string"}
_ABSENT = (None, "", "None", "0")
"""Ids of records that came with no request."""


@frozen
class BentoSchema:
    bento: str
    version: str
    features: tuple[tuple[str, str], ...]
    prediction: str
    target: str | None

    def registration(self, deployment_id: str, problem_type: str) -> JsonObject:
        return {
            "id": deployment_id,
            "name": self.bento or deployment_id,
            "problem_type": problem_type,
            "features": [{"name": name, "type": kind} for name, kind in self.features],
            "outputs": {"prediction": self.prediction},
            "model_revision": self.version or "1",
        }


def read_bento_schema(file: InputFile) -> BentoSchema:
    lines = [line for _, line in file.json_lines() if not isinstance(line, RowRefused)]
    columns = lines[-1].get("columns") if lines else None
    if not isinstance(columns, list) or not all(
        isinstance(column, dict) and isinstance(column.get("name"), str) for column in columns
    ):
        raise InvalidInput(file.name, "is not a schema file of BentoML's monitor: it has no columns")
    features, predictions, targets = (
        [column for column in columns if column.get("role") == role]
        for role in ("feature", "prediction", "target")
    )
    if len(predictions) != 1:
        raise InvalidInput(
            file.name, f"must have one column of the role prediction, found {len(predictions)}"
        )
    for column in (*features, *predictions):
        if column.get("type") not in _TYPES:
            raise InvalidInput(
                f"{file.name} {column['name']:.50}",
                f"must be {' or '.join(_TYPES)}, found {column.get('type')!r:.50}",
            )
    about = lines[-1].get("meta_data")
    about = about if isinstance(about, dict) else {}
    return BentoSchema(
        bento=str(about.get("bento_name") or ""),
        version=str(about.get("bento_version") or ""),
        features=tuple((column["name"], _TYPES[column["type"]]) for column in features),
        prediction=predictions[0]["name"],
        target=targets[0]["name"] if targets else None,
    )


def read_bentoml(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Yields the records; a request's rows, which follow each other, are numbered after the first.

    Times without an offset, as BentoML writes, are UTC without another zone.
    """
    subject = replace(subject, times=replace(subject.times, zone=subject.times.zone or UTC))
    last, repeated = "", 0

    def read(file: InputFile, row: JsonObject, line: int) -> list[JsonObject]:
        nonlocal last, repeated
        request = row.get("request_id")
        repeated = repeated + 1 if request == last and line > 1 else 1
        last = str(request)
        call = None if request in _ABSENT else last if repeated == 1 else f"{last}-{repeated}"
        time = read_time(row.get("timestamp"), "timestamp", file, subject)
        if subject.kind is LogKind.FEEDBACK:
            return [{"id": call, "label": row.get(subject.columns.label or "label"), "labelled_at": time}]
        features = {column.name: row[column.name] for column in subject.schema.features if column.name in row}
        prediction = row.get(subject.outputs.prediction)
        return [{"id": call, "scored_at": time, "features": features, "prediction": prediction}]

    for file in files:
        yield from read_rows(file, file.json_lines(), partial(read, file))


def is_bento_schema(file: InputFile) -> bool:
    for _, line in file.lines():
        document = parse_json(line, None)
        return isinstance(document, dict) and "columns" in document and "meta_data" in document
    return False
