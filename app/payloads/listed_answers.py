"""Answers that list one element a record: `{"predictions": […]}`."""

from typing import Any

import msgspec

from ..base.errors import ScoringFailed
from ..domain.deployment import OutputFields
from .codec import Codec
from .read_predictions import Answer, list_output_names, predict_from_one_column, read_outputs, require_rows
from .wire import Names, Rows, decode_answer

PREDICTIONS = "predictions"


Elements = list[Any] | dict[str, list[Any]]


class _Answer(msgspec.Struct):
    predictions: Elements


class ListedCodec(Codec):
    """Reads answers with one element a record. A list without names is the prediction; wider lists could be
    class probabilities, and are refused unless they are said to be.
    """

    def read_elements(self, body: bytes) -> Elements:
        return decode_answer(body, _Answer, expected='{"predictions": [...]}').predictions

    def build_answer(self, columns: Names, rows: Rows) -> object:
        return {PREDICTIONS: build_objects(columns, rows)}

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        return read_listed_answer(self.read_elements(body), outputs, expected_rows)


def build_objects(columns: Names, rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _read_columns(elements: Elements, outputs: OutputFields, expected_rows: int) -> Elements:
    """Columns by name, or the cells of one without a name. Raises ScoringFailed."""
    if isinstance(elements, dict):
        return elements
    require_rows(len(elements), expected_rows)
    kinds = set(map(type, elements))
    if kinds == {dict}:
        names = list(elements[0])
        for index, row in enumerate(elements):
            if row.keys() != elements[0].keys():
                if list_output_names(outputs) & (row.keys() ^ elements[0].keys()):
                    raise ScoringFailed(
                        f"The model's endpoint gave other columns in row {index + 1} than in row 1."
                    )
                names = [name for name in names if name in row]
        return {name: [row[name] for row in elements] for name in names}
    if kinds != {list} or (outputs.has_only_probabilities and any(len(row) != 1 for row in elements)):
        return elements
    for index, row in enumerate(elements):
        if len(row) != 1:
            raise ScoringFailed(
                f"The model's endpoint gave {len(row)} unnamed values in row {index + 1}; let the model "
                "return a data frame whose columns are named, so that the prediction can be distinguished "
                "from the rest. If they are the probabilities of the classes, list those in outputs.classes, "
                "and give outputs.prediction and outputs.probability one name."
            )
    return [row[0] for row in elements]


def read_listed_answer(elements: Elements, outputs: OutputFields, expected_rows: int) -> Answer:
    columns = _read_columns(elements, outputs, expected_rows)
    if not isinstance(columns, dict):
        # An empty page has no names.
        if outputs.label is not None and columns:
            raise ScoringFailed(
                "The model's endpoint answered predictions without names, so without the label column "
                f"'{outputs.label}'."
            )
        return Answer(
            [outputs.prediction], [[cell] for cell in columns], predict_from_one_column(columns, outputs)
        )
    names = list(columns)

    def column(position: int) -> list[Any]:
        cells = columns[names[position]]
        require_rows(len(cells), expected_rows)
        return cells

    predictions = read_outputs(names, column, outputs)
    full = {name: column for name, column in columns.items() if len(column) == expected_rows}
    return Answer(list(full), list(map(list, zip(*full.values(), strict=True))), predictions)
