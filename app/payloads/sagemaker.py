"""SageMaker's formats: CSV without a header, and JSON lines."""

from ..base.errors import InvalidInput, ScoringFailed
from ..base.strict_json import parse_json
from ..domain.deployment import OutputFields
from .codec import DEFAULT_OPTIONS, Codec, RequestOptions, read_records
from .csv_text import CsvUnclear, read_csv, read_csv_request, write_csv
from .listed_answers import Elements, ListedCodec, build_objects, read_listed_answer
from .read_predictions import Answer, require_rows
from .wire import (
    Names,
    Rows,
    Table,
    decode_lines,
    decode_request,
    decode_text,
    encode_rows,
    is_by_column,
    read_matrix,
)

_FEATURES = "features"
_MARKUP_STARTS = (b"<!doctype", b"<html", b"<?xml")


class SagemakerCsvCodec(Codec):
    """Writes CSV without a header, in the order of the features; reads such CSV, or `{"predictions": […]}`.

    Columns are prediction, probability, label; as many further numbers as classes are the probabilities.
    """

    label = "SageMaker CSV (text/csv)"
    shown_request = '35,"female",1200.5'
    content_type = "text/csv"
    accept = "text/csv"

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:  # noqa: ARG002 - not needed
        return write_csv(rows)

    write_answer = write_request

    def read_request(self, body: bytes, columns: Names) -> Table:
        return read_matrix(read_csv_request(body), "body", columns)

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        # Some containers answer JSON to CSV.
        if body.lstrip()[:1] in {b"{", b"["}:
            return ListedCodec().read_answer(body, outputs=outputs, expected_rows=expected_rows)
        if body.lstrip().lower().startswith(_MARKUP_STARTS):
            # A log-in page is no prediction.
            raise ScoringFailed("The model's endpoint did not answer CSV, but a page of HTML or XML.")
        try:
            rows = list(read_csv(decode_text(body)))
        except CsvUnclear as error:
            raise ScoringFailed(
                f"The model's endpoint did not answer CSV: line {error.line} {error}."
            ) from error
        if len(rows) == 1 and len(rows[0]) == expected_rows > 1:
            # XGBoost's container answers a page on one line.
            rows = [[cell] for cell in rows[0]]
        require_rows(len(rows), expected_rows)
        count = len(outputs.classes or ())
        leading = 0 if outputs.has_only_probabilities else 1
        named_rows = []
        for line, row in enumerate(rows, start=1):
            cells = [
                parse_json(cell, cell) if isinstance(cell, str) and cell.startswith("[") else cell
                for cell in row
            ]
            names = outputs.names
            # Probabilities of the classes, alone or after the prediction.
            if count > 1 and outputs.probability is not None and len(cells) == leading + count:
                cells = [*cells[:leading], cells[leading:]]
                names = names[: len(cells)]
            if len(cells) > len(names) or not cells:
                raise ScoringFailed(
                    f"The model's endpoint answered {len(cells)} values in line {line}, where the deployment "
                    f"names {len(names)} outputs ({', '.join(names)})."
                )
            named_rows.append(dict(zip(names, cells, strict=False)))
        return read_listed_answer(named_rows, outputs, expected_rows)


class SagemakerLinesCodec(ListedCodec):
    label = "SageMaker JSON lines (application/jsonlines)"
    shown_request = '{"features": […]}'
    content_type = "application/jsonlines"
    accept = "application/jsonlines"

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:  # noqa: ARG002 - not needed
        return encode_rows([{_FEATURES: row} for row in rows], rows, is_lines=True)

    def read_request(self, body: bytes, columns: Names) -> Table:
        lines = [decode_request(line) for line in body.splitlines() if line.strip()]
        if len(lines) == 1 and is_by_column(lines[0]) and lines[0].keys() != {_FEATURES}:
            raise InvalidInput("body", "is one object of columns, not a record a line")
        return read_records(lines, "body", columns)

    def write_answer(self, columns: Names, rows: Rows) -> bytes:
        return encode_rows(build_objects(columns, rows), rows, is_lines=True)

    def read_elements(self, body: bytes) -> Elements:
        lines = decode_lines(body)
        if len(lines) == 1 and isinstance(lines[0], dict) and lines[0].keys() == {"predictions"}:
            return super().read_elements(body)
        return lines
