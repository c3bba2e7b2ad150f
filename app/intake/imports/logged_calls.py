"""Logged requests and answers in a model's format, as records."""

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ...base.errors import InvalidInput, ScoringFailed, TooLarge
from ...base.strict_json import JsonObject, parse_json
from ...payloads.codec import Codec
from ...payloads.read_call import CallColumns, read_call
from ...payloads.registry import FINDABLE, bind_codec, codec_for
from ..logging.model_call import ids_of_call, require_bounded
from .call_halves import Half, open_halves
from .import_row import ImportRow, RowRefused
from .import_subject import ImportSubject
from .input_file import InputFile, NumberedRows

_CSV = "text/csv"


class LoggedCallReader:
    """Reads calls of one deployment; the format that fitted last is tried first."""

    def __init__(self, subject: ImportSubject) -> None:
        self._subject = subject
        own_codecs = [] if subject.endpoint is None else [bind_codec(subject.endpoint)]
        self._codecs: list[Codec] = [*own_codecs, *map(codec_for, FINDABLE)]
        self._columns = CallColumns(
            subject.schema.features, subject.schema.meta, subject.outputs, may_lack_outputs=True
        )

    def records(self, call: str, time: str | None, request: bytes, response: bytes) -> list[JsonObject]:
        """Returns the records. A call of one row gives it its id, others `{call}-{n}`.

        `time` is when it was answered (ISO 8601).
        """
        subject = self._subject
        # Of one column any text would be CSV.
        is_json = request.lstrip()[:1] in (b"{", b"[")
        candidates = [codec for codec in self._codecs if not (is_json and codec.content_type == _CSV)]
        for where, body in (("request", request), ("response", response)):
            try:
                require_bounded(body)
            except TooLarge as error:
                raise RowRefused(where, str(error)) from error
        try:
            decoded = read_call(request, response, candidates, self._columns)
        except InvalidInput as error:
            problem = error.problems[0]
            raise RowRefused("request", f"{problem.field} {problem.message}") from error
        except ScoringFailed as error:
            raise RowRefused("response", str(error)) from error
        self._codecs.remove(decoded.codec)
        self._codecs.insert(0, decoded.codec)

        table = decoded.table
        records = []
        for position, (record_id, cells) in enumerate(
            zip(ids_of_call(call, len(table)), table.rows, strict=True)
        ):
            row = dict(zip(table.fields, cells, strict=True))
            record = {
                "id": record_id,
                "scored_at": time,
                "features": {name: row[name] for name in subject.feature_names},
                "prediction": table.predictions[position],
                "probability": None if table.probabilities is None else table.probabilities[position],
                "label": None if table.labels is None else table.labels[position],
            }
            meta = {column.name: row[column.name] for column in subject.schema.meta if column.name in row}
            records.append(record | {"meta": meta} if meta else record)
        return records


def read_bytes(value: Any, where: str, *, encoding: str) -> bytes:  # noqa: ANN401 - any member
    """Returns the bytes of a logged body; `encoding` is `BASE64`, or any word for text. Raises RowRefused
    for neither.
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RowRefused(where, "must be text")
    if encoding != "BASE64":
        return value.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError as error:
        raise RowRefused(where, "must be base64") from error


def read_labels(body: bytes, where: str) -> list[Any]:
    """Returns the labels of ground truth: one a line of CSV, or JSON. Raises RowRefused without any."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise RowRefused(where, "is empty")
    labels: list[Any] = []
    for line in text.splitlines():
        value = parse_json(line, line.strip())
        labels += value if isinstance(value, list) else [value]
    return labels


def read_rows(
    file: InputFile, rows: NumberedRows, read: Callable[[JsonObject, int], Iterable[JsonObject]]
) -> Iterator[ImportRow]:
    for number, row in rows:
        try:
            if isinstance(row, RowRefused):
                raise row
            records = read(row, number)
        except RowRefused as refused:
            yield refused.row_at(file.name, number)
        else:
            for record in records:
                yield ImportRow(file=file.name, line=number, record=record)


def join_halves(
    files: Sequence[InputFile],
    subject: ImportSubject,
    rows_of: Callable[[InputFile], NumberedRows],
    read_half: Callable[[JsonObject, InputFile, int, ImportSubject], Half],
) -> Iterator[ImportRow]:
    """Yields the records of complete calls, then a refusal for each half alone."""
    reader = LoggedCallReader(subject)
    with open_halves() as halves:

        def read(file: InputFile, row: JsonObject, line: int) -> list[JsonObject]:
            half = read_half(row, file, line, subject)
            counterpart = halves.match(half)
            if counterpart is None:
                return []
            request, answered = (half, counterpart) if half.is_request else (counterpart, half)
            time = request.time or answered.time
            return reader.records(half.call, time, request.body, answered.body)

        for file in files:
            yield from read_rows(file, rows_of(file), partial(read, file))
        yield from halves.orphans()
