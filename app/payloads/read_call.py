"""A call of a model, read in the first format that fits both bodies."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ..base.errors import InvalidInput, ScoringFailed
from ..base.values import frozen
from ..domain.deployment import Column, FieldType, OutputFields
from .codec import Codec
from .read_predictions import Answer, put_in_order
from .request_pairs import LoggedTable
from .wire import RowList, Table, decode_request

_NOTHING, _MEMBER, _COLUMNS, _ANSWER = range(4)

_PLACES = re.compile(r"[.\[]")


@frozen
class CallColumns:
    """A request must have the features; it may have meta fields, and a log may lack outputs."""

    features: Sequence[Column]
    meta: Sequence[Column]
    outputs: OutputFields
    may_lack_outputs: bool = False


@frozen
class ReadCall:
    codec: Codec
    table: LoggedTable


@frozen
class _Refusal:
    closeness: int
    error: InvalidInput | ScoringFailed

    def closeness_with(self, members: set[str]) -> tuple[int, int]:
        if self.closeness != _MEMBER or not isinstance(self.error, InvalidInput):
            return self.closeness, 0
        root, *inner = _PLACES.split(self.error.problems[0].field)
        return (_MEMBER, len(inner)) if root in members else (_NOTHING, 0)


def read_call(request: bytes, response: bytes, codecs: Iterable[Codec], columns: CallColumns) -> ReadCall:
    """Takes the first format that fits, without foreign columns.

    Raises InvalidInput of the request (for the closest format's reason), ScoringFailed of an answer without a
    usable prediction for each record.
    """
    names = [column.name for column in columns.features]
    refusals = []
    for codec in codecs:
        try:
            table = codec.read_request(request, names)
            if missing := [name for name in names if name not in table.fields]:
                error = InvalidInput(f"features.{missing[0]}", "is not a column of the request")
                # A format that takes anything for columns finds none of the schema's.
                refusals.append(_Refusal(_COLUMNS if len(missing) < len(names) else _NOTHING, error))
                continue
            answer = _read_answer(codec, response, len(table.values), columns)
            return ReadCall(codec, join_call(_drop_unknown(table, columns), answer, columns))
        except InvalidInput as error:
            refusals.append(_Refusal(_MEMBER, error))
        except ScoringFailed as error:
            refusals.append(_Refusal(_ANSWER, error))
    if not refusals:
        raise InvalidInput("request", "is in no format that is read here")
    members = set()
    with suppress(InvalidInput):
        document = decode_request(request)
        if isinstance(document, dict):
            members = set(document)
    raise max(refusals, key=lambda refusal: refusal.closeness_with(members)).error


def join_call(table: Table, answer: Answer, columns: CallColumns) -> LoggedTable:
    """Raises ScoringFailed."""
    answer = put_in_order(answer, table.fields, table.values, columns.outputs)
    types = {column.name: column for column in (*columns.features, *columns.meta)}
    return LoggedTable(
        fields=tuple(table.fields),
        rows=fit_booleans(table.values, table.fields, types),
        predictions=[prediction.prediction for prediction in answer.predictions],
        probabilities=[
            list(prediction.probability)
            if isinstance(prediction.probability, tuple)
            else prediction.probability
            for prediction in answer.predictions
        ],
        labels=[prediction.label for prediction in answer.predictions],
    )


def fit_booleans(rows: RowList, fields: Sequence[str], types: Mapping[str, Column]) -> RowList:
    positions = [
        position
        for position, name in enumerate(fields)
        if name in types and types[name].sent is FieldType.BOOLEAN
    ]
    if not positions:
        return rows
    fitted = [list(row) for row in rows]
    for row in fitted:
        for position in positions:
            if type(row[position]) in (int, float) and row[position] in (0, 1):
                row[position] = bool(row[position])
    return fitted


def _drop_unknown(table: Table, columns: CallColumns) -> Table:
    # A model may take columns that the schema does not have.
    known_names = {column.name for column in (*columns.features, *columns.meta)}
    positions = [position for position, name in enumerate(table.fields) if name in known_names]
    if len(positions) == len(table.fields):
        return table
    return replace(
        table,
        fields=[table.fields[position] for position in positions],
        values=[[row[position] for position in positions] for row in table.values],
    )


def _read_answer(codec: Codec, response: bytes, rows: int, columns: CallColumns) -> Answer:
    outputs = columns.outputs
    try:
        return codec.read_answer(response, outputs=outputs, expected_rows=rows)
    except ScoringFailed:
        if (
            not columns.may_lack_outputs
            or outputs.has_only_probabilities
            or (outputs.probability is None and outputs.label is None)
        ):
            raise
        try:
            alone = codec.read_answer(
                response, outputs=OutputFields(prediction=outputs.prediction), expected_rows=rows
            )
        except ScoringFailed:
            alone = None
        # Other columns could be outputs under another name.
        if alone is None or len(alone.fields) != 1:
            raise
        return alone
