"""The `fields`/`values` format of OpenScale's custom providers, as a scoring request and its answer."""

from collections.abc import Sequence
from typing import Any

import msgspec

from app.domain.deployments import OutputFields
from app.domain.records import Prediction
from app.errors import ScoringFailed
from app.scoring.formats.answers import Answer, locate, require_rows, to_predictions
from app.scoring.formats.wire import Rows, decode_answer, encode_rows


class _Table(msgspec.Struct):
    fields: list[str]
    values: list[list[Any]]


class _Answer(msgspec.Struct):
    fields: list[str] | None = None
    values: list[list[Any]] | None = None
    predictions: list[_Table] | None = None


class FieldsValuesCodec:
    """`{fields, values}` out; back the same, bare or as `{"predictions": [{fields, values}]}`.

    The answer may echo the inputs, which are passed over, as is `labels` (the names of the classes, not of the rows).
    """

    def encode_request(self, columns: Sequence[str], rows: Rows) -> bytes:
        """The body that asks for a page of rows."""
        return encode_rows({"fields": list(columns), "values": rows}, rows)

    def decode_response(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> list[Prediction]:
        """One prediction per row asked for, in that order."""
        return self.read_answer(body, outputs=outputs, expected_rows=expected_rows).predictions

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        """The same with the whole table."""
        answer = decode_answer(body, _Answer, expected='{"fields": [...], "values": [[...]]}')
        table = _only_table(answer)
        require_rows(len(table.values), expected_rows)
        at = locate(table.fields, outputs)
        _require_width(table)
        predictions = to_predictions(
            [row[at.prediction] for row in table.values],
            None if at.probability is None else [row[at.probability] for row in table.values],
            None if at.label is None else [row[at.label] for row in table.values],
        )
        return Answer(table.fields, table.values, predictions)


def _only_table(answer: _Answer) -> _Table:
    if answer.fields is not None and answer.values is not None:
        return _Table(answer.fields, answer.values)
    if answer.predictions is None:
        raise ScoringFailed("The model's endpoint gave an answer without 'fields' and 'values' (and without 'predictions' around them).")
    if len(answer.predictions) != 1:
        raise ScoringFailed(f"The model's endpoint answered {len(answer.predictions)} tables under 'predictions', where one was expected.")
    return answer.predictions[0]


def _require_width(table: _Table) -> None:
    width = len(table.fields)
    if set(map(len, table.values)) <= {width}:
        return
    index, row = next((index, row) for index, row in enumerate(table.values) if len(row) != width)
    raise ScoringFailed(f"The model's endpoint named {width} fields but gave {len(row)} in row {index + 1}.")
