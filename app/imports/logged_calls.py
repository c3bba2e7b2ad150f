"""Logged requests and answers of a model in its own format, as records."""

import base64
import binascii
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ..domain.deployments import OutputFields
from ..errors import InvalidInput, ScoringFailed
from ..payloads.answers import Answer
from ..payloads.codec import Codec
from ..payloads.registry import FINDABLE, codec_for
from .halves import Half
from .subject import ImportSubject, RowRefused

_CSV: Final = "text/csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    """One request and its answer, as bytes. `id` names the call, `time` is when it was answered (ISO 8601)."""

    id: str | None
    time: str | None
    request: bytes
    response: bytes


class LoggedCallReader:
    """Reads calls of one deployment. Their format is found by trying; the one that fitted last is tried first."""

    def __init__(self, subject: ImportSubject) -> None:
        self._subject = subject
        self._codecs: list[Codec] = [codec_for(name) for name in FINDABLE]

    def records(self, call: LoggedCall) -> list[dict[str, Any]]:
        """Returns the records of a call. A call of one row gives its id to the record, others `{id}-{n}`.

        Raises:
            RowRefused: no format fits; the reason is that of the format that came closest.
        """
        closest: RowRefused | None = None
        for position, codec in enumerate(self._codecs):
            if codec.content_type == _CSV and call.request.lstrip()[:1] in (b"{", b"["):
                continue  # of one column any text would be CSV
            try:
                found = self._read(codec, call)
            except RowRefused as refused:
                # A request that was read, and an answer that was not, says more than a request of another format.
                if closest is None or (refused.field == "response" and closest.field != "response"):
                    closest = refused
            else:
                self._codecs.insert(0, self._codecs.pop(position))
                return found
        raise closest or RowRefused("request", "is of no format that is known")

    def _read(self, codec: Codec, call: LoggedCall) -> list[dict[str, Any]]:
        features, subject = self._subject.feature_names, self._subject
        try:
            table = codec.read_request(call.request, features)
        except InvalidInput as error:
            problem = error.problems[0]
            raise RowRefused("request", f"{problem.field} {problem.message}") from error
        known = {column.name for column in (*subject.schema.features, *subject.schema.meta)}
        unknown = [name for name in table.fields if name not in known]
        missing = [name for name in features if name not in table.fields]
        if unknown or missing:
            fault = f"has no feature {missing[0]}" if missing else "has a column that is not in the schema"
            raise RowRefused("request", fault)
        answer = self._read_answer(codec, call.response, len(table.values))

        records = []
        for number, (row, prediction) in enumerate(zip(table.values, answer.predictions, strict=True), start=1):
            cells = dict(zip(table.fields, row, strict=True))
            record: dict[str, Any] = {
                "id": id_of_row(call.id, number, len(table.values)),
                "scored_at": call.time,
                "features": {name: cells[name] for name in features},
                "prediction": prediction.prediction,
                "probability": prediction.probability,
                "label": prediction.label,
            }
            meta = {column.name: cells[column.name] for column in subject.schema.meta if column.name in cells}
            records.append(record | {"meta": meta} if meta else record)
        return records

    def _read_answer(self, codec: Codec, response: bytes, rows: int) -> Answer:
        outputs = self._subject.outputs
        try:
            return codec.read_answer(response, outputs=outputs, expected_rows=rows)
        except ScoringFailed as error:
            refused = RowRefused("response", str(error))
        # A log may hold the prediction alone, though the endpoint answers more. Other columns could be outputs under another name.
        if outputs.probability is not None or outputs.label is not None:
            with suppress(ScoringFailed):
                answer = codec.read_answer(response, outputs=OutputFields(prediction=outputs.prediction), expected_rows=rows)
                if len(answer.fields) == 1 and not outputs.has_only_probabilities:
                    return answer
        raise refused


def id_of_row(call: str | None, number: int, rows: int) -> str | None:
    """Returns the id of the record of a call's row, counted from 1: the call's own if it has one row."""
    return call if call is None or rows == 1 else f"{call}-{number}"


def read_bytes(value: Any, where: str, *, encoding: str) -> bytes:  # noqa: ANN401 - any member
    """Returns the bytes of a logged body; `encoding` is `BASE64`, or any other word for text.

    Raises:
        RowRefused: it is neither.
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RowRefused(where, "must be text")
    if encoding != "BASE64":
        return value.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RowRefused(where, "must be base64") from error


def read_labels(body: bytes, where: str) -> list[Any]:
    """Returns the labels that a body of ground truth holds: one a line of CSV, or JSON.

    Raises:
        RowRefused: it holds none.
    """
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise RowRefused(where, "is empty")
    found: list[Any] = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = line.strip()
        found += value if isinstance(value, list) else [value]
    return found


def rows_as_call(asked: Half, answered: Half, outputs: OutputFields) -> LoggedCall:
    """Returns halves of rows of columns, as collectors write them, as a call; an output of one column is the prediction."""
    named = [
        {outputs.prediction: next(iter(answer.values()))} if isinstance(answer, dict) and len(answer) == 1 else answer
        for answer in json.loads(answered.body)
    ]
    return LoggedCall(id=asked.call, time=asked.time or answered.time, request=asked.body, response=json.dumps(named).encode())
