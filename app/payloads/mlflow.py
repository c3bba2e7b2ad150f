"""The format of MLflow's scoring server."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..domain.deployments import OutputFields
from ..domain.records import Prediction
from ..errors import InvalidInput, ScoringFailed
from .answers import Answer, locate, require_rows, to_predictions
from .codec import Codec
from .forms import Form, Objects, Tables
from .schemas import CELLS, NAMES, Schema, closed_object, rows_of
from .tables import read_table, require_members
from .wire import Rows, decode_answer

_SPLIT, _RECORDS, _PREDICTIONS = "dataframe_split", "dataframe_records", "predictions"
_SPLIT_MEMBERS = frozenset({"columns", "data", "index"})


class _Dataframe(Form):
    """A data frame, answered by an object of columns for each row."""

    answer_name = "dataframe"
    answer_title = "For MLflow's forms"

    def write_answer(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        return {_PREDICTIONS: [dict(zip(columns, row, strict=True)) for row in rows]}

    def answer_schema(self) -> dict[str, Schema]:
        return {_PREDICTIONS: {"type": "array", "items": {"type": "object"}}}


class _Split(_Dataframe):
    """`{"dataframe_split": {columns, data, index?}}`."""

    name = member = _SPLIT
    title = "MLflow"
    shape = "{dataframe_split: {…}}"

    def write_request(self, columns: Sequence[str], rows: Rows) -> dict[str, Any]:
        return {_SPLIT: {"columns": list(columns), "data": rows}}

    def read_request(self, sent: dict[str, Any]) -> Tables:
        require_members(sent, "", frozenset({_SPLIT}), next_to=_SPLIT)
        table = read_table(sent[_SPLIT], _SPLIT, fields="columns", values="data")
        require_members(sent[_SPLIT], _SPLIT, _SPLIT_MEMBERS, next_to="data")
        return Tables(table)

    def request_schema(self, max_rows: int) -> Schema:
        frame = closed_object(["columns", "data"], columns=NAMES, data=rows_of(max_rows), index={"type": "array"})
        return closed_object([_SPLIT], dataframe_split=frame)


class _Records(_Dataframe):
    """`{"dataframe_records": [{column: value}]}`."""

    name = member = _RECORDS
    title = "MLflow, an object a record"
    shape = "{dataframe_records: […]}"

    def write_request(self, columns: Sequence[str], rows: Rows) -> dict[str, Any]:
        return {_RECORDS: [dict(zip(columns, row, strict=True)) for row in rows]}

    def read_request(self, sent: dict[str, Any]) -> Objects:
        require_members(sent, "", frozenset({_RECORDS}), next_to=_RECORDS)
        rows = sent[_RECORDS]
        if not isinstance(rows, list):
            raise InvalidInput.of(_RECORDS, "must be an array of records")
        return Objects(_RECORDS, rows)

    def request_schema(self, max_rows: int) -> Schema:
        return closed_object([_RECORDS], dataframe_records={"type": "array", "minItems": 1, "maxItems": max_rows, "items": CELLS})


class _Answer(msgspec.Struct):
    predictions: list[Any] | dict[str, list[Any]]


class MlflowCodec(Codec):
    """Writes `{"dataframe_split": {columns, data}}`; reads any shape that MLflow makes of the model's result.

    A data frame comes back as a list of objects, a dictionary as columns: both have names. A plain list, or a list of
    one-element lists, is the prediction alone; wider lists without names are refused, because they could be class probabilities.
    """

    label = "MLflow"
    forms = (_Split(), _Records())

    def read_predictions(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> list[Prediction]:
        """Reads the predictions without making rows of the columns."""
        answer = _read_columns(body, expected_rows)
        if isinstance(answer, dict):
            return _predict_from_columns(answer, outputs, expected_rows)
        return _predict_from_cells(answer, outputs)

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        """Reads all columns; one without a name gets the deployment's name for its prediction."""
        answer = _read_columns(body, expected_rows)
        if not isinstance(answer, dict):
            return Answer([outputs.prediction], [[cell] for cell in answer], _predict_from_cells(answer, outputs))
        predictions = _predict_from_columns(answer, outputs, expected_rows)
        for column in answer.values():
            require_rows(len(column), expected_rows)
        return Answer(list(answer), list(map(list, zip(*answer.values(), strict=True))), predictions)


def _read_columns(body: bytes, expected_rows: int) -> dict[str, list[Any]] | list[Any]:
    """Returns the answer's columns by name, or the cells of one column without a name."""
    answer = decode_answer(body, _Answer, expected='{"predictions": [...]}').predictions
    if isinstance(answer, dict):
        return answer
    require_rows(len(answer), expected_rows)
    kinds = set(map(type, answer))
    if kinds == {dict}:
        names = answer[0].keys()
        for index, row in enumerate(answer):
            if row.keys() != names:
                raise ScoringFailed(f"The model's endpoint gave other columns in row {index + 1} than in row 1.")
        return {name: [row[name] for row in answer] for name in names}
    if kinds != {list}:
        return answer
    for index, row in enumerate(answer):
        # Wider rows could be the probabilities of the classes.
        if len(row) != 1:
            raise ScoringFailed(
                f"The model's endpoint gave {len(row)} unnamed values in row {index + 1}; let the model return a data frame whose"
                " columns are named, so that the prediction can be distinguished from the rest."
            )
    return [row[0] for row in answer]


def _predict_from_cells(cells: list[Any], outputs: OutputFields) -> list[Prediction]:
    # An empty page has no names in any shape.
    if outputs.label is not None and cells:
        raise ScoringFailed(f"The model's endpoint answered predictions without names, so without the label column '{outputs.label}'.")
    return to_predictions(cells, None, None)


def _predict_from_columns(columns: dict[str, list[Any]], outputs: OutputFields, expected_rows: int) -> list[Prediction]:
    names = list(columns)
    at = locate(names, outputs)
    wanted = [None if position is None else columns[names[position]] for position in (at.prediction, at.probability, at.label)]
    for column in wanted:
        if column is not None:
            require_rows(len(column), expected_rows)
    prediction, probability, label = wanted
    return to_predictions(prediction or [], probability, label)
