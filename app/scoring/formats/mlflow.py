"""The MLflow scoring server's format: `dataframe_split` out, `predictions` back."""

from collections.abc import Sequence
from typing import Any

import msgspec

from app.domain.deployments import OutputFields
from app.domain.records import Prediction
from app.errors import ScoringFailed
from app.scoring.formats.answers import Answer, locate, require_rows, to_predictions
from app.scoring.formats.wire import Rows, decode_answer, encode_rows


class _Answer(msgspec.Struct):
    predictions: list[Any] | dict[str, list[Any]]


class MlflowCodec:
    """`{"dataframe_split": {columns, data}}` out; back whatever shape MLflow makes of the model's result.

    A data frame comes back as a list of objects, a dictionary as columns: both have names. A plain list, or a list of
    one-element lists, is the prediction alone; wider lists without names are refused, for they could be class probabilities.
    """

    def encode_request(self, columns: Sequence[str], rows: Rows) -> bytes:
        """The body that asks for a page of rows."""
        return encode_rows({"dataframe_split": {"columns": list(columns), "data": rows}}, rows)

    def decode_response(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> list[Prediction]:
        """One prediction per row asked for, in that order."""
        answer = _named_or_bare(body, expected_rows)
        if isinstance(answer, dict):
            return _from_columns(answer, outputs, expected_rows)
        return _from_cells(answer, outputs)

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        """The same with all columns; one without a name is called as the deployment calls its prediction."""
        answer = _named_or_bare(body, expected_rows)
        if not isinstance(answer, dict):
            return Answer([outputs.prediction], [[cell] for cell in answer], _from_cells(answer, outputs))
        predictions = _from_columns(answer, outputs, expected_rows)
        for column in answer.values():
            require_rows(len(column), expected_rows)
        return Answer(list(answer), list(map(list, zip(*answer.values(), strict=True))), predictions)


def _named_or_bare(body: bytes, expected_rows: int) -> dict[str, list[Any]] | list[Any]:
    """The answer's columns by name, or the cells of one column without a name."""
    answer = decode_answer(body, _Answer, expected='{"predictions": [...]}').predictions
    if isinstance(answer, dict):
        return answer
    require_rows(len(answer), expected_rows)
    kinds = set(map(type, answer))
    if kinds == {dict}:
        return _columns(answer)
    return _only_cells(answer) if kinds == {list} else answer


def _from_cells(cells: list[Any], outputs: OutputFields) -> list[Prediction]:
    if outputs.label is not None and cells:
        raise ScoringFailed(f"The model's endpoint answered predictions without names, so without the label column '{outputs.label}'.")
    return to_predictions(cells, None, None)


def _from_columns(columns: dict[str, list[Any]], outputs: OutputFields, expected_rows: int) -> list[Prediction]:
    names = list(columns)
    at = locate(names, outputs)
    wanted = [None if position is None else columns[names[position]] for position in (at.prediction, at.probability, at.label)]
    for column in wanted:
        if column is not None:
            require_rows(len(column), expected_rows)
    prediction, probability, label = wanted
    return to_predictions(prediction or [], probability, label)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = rows[0].keys()
    for index, row in enumerate(rows):
        if row.keys() != names:
            raise ScoringFailed(f"The model's endpoint gave other columns in row {index + 1} than in row 1.")
    return {name: [row[name] for row in rows] for name in names}


def _only_cells(rows: list[list[Any]]) -> list[Any]:
    for index, row in enumerate(rows):
        if len(row) != 1:
            raise ScoringFailed(
                f"The model's endpoint gave {len(row)} unnamed values in row {index + 1}; let the model return a data frame whose"
                " columns are named, so that the prediction can be told from the rest."
            )
    return [row[0] for row in rows]
