"""A call of a model, `{request, response, scoring_id?, scoring_timestamp?}` where it is logged, read in the
first format that fits both bodies.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..base.errors import InvalidInput, ScoringFailed
from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from ..domain.deployment import Column, FieldType, OutputFields
from .codec import Codec
from .read_predictions import Answer, put_in_order
from .wire import RowList, Table, decode_request, name_kind

_NOTHING_FITS, _MEMBER_FITS, _COLUMNS_FIT, _REQUEST_FITS = range(4)
"""Closeness of a format to a call: the part of it that it could read."""

_PATH_SEPARATOR = re.compile(r"[.\[]")


@frozen_by_name
class LoggedTable:
    """Records by column: position i of every list is the same record. Cells are as decoded, possibly None."""

    fields: tuple[str, ...]
    rows: RowList
    meta_fields: tuple[str, ...] = ()
    meta_rows: RowList | None = None
    predictions: list[Any]
    probabilities: list[Any] | None = None
    labels: list[Any] | None = None
    scoring_id: str | None = None
    scoring_timestamp: str | None = None

    def __len__(self) -> int:
        return len(self.rows)


def read_optional_text(call: JsonObject, member: str) -> str | None:
    """Raises InvalidInput of anything else."""
    value = call.get(member)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(member, f"must be text, found {name_kind(value)}")
    return value


@frozen
class CallColumns:
    """A request must have the features; it may have meta fields, and a log may lack outputs."""

    features: Sequence[Column]
    meta: Sequence[Column]
    outputs: OutputFields
    may_lack_outputs: bool = False


@frozen
class CallRecords:
    """Records of a call, and the format in which they were read."""

    codec: Codec
    table: LoggedTable


@frozen
class _Refusal:
    """Error of a format that does not fit, and its closeness. The error of the closest one is raised."""

    closeness: int
    error: InvalidInput | ScoringFailed

    def closeness_with(self, members: set[str]) -> tuple[int, int]:
        if self.closeness != _MEMBER_FITS or not isinstance(self.error, InvalidInput):
            return self.closeness, 0
        root, *inner = _PATH_SEPARATOR.split(self.error.problems[0].field)
        return (_MEMBER_FITS, len(inner)) if root in members else (_NOTHING_FITS, 0)


def read_call(request: bytes, response: bytes, codecs: Iterable[Codec], columns: CallColumns) -> CallRecords:
    """Takes the first format that fits, without foreign columns.

    Raises InvalidInput of the request (for the closest format's reason), ScoringFailed of an answer without a
    usable prediction for each record.
    """
    names = [column.name for column in columns.features]
    refusals = []
    for codec in codecs:
        try:
            table = codec.read_request(request, names)
            missing = [name for name in names if name not in table.fields]
            if missing:
                error = InvalidInput(f"features.{missing[0]}", "is not a column of the request")
                # A format that takes anything for columns finds none of the schema's.
                refusals.append(_Refusal(_COLUMNS_FIT if len(missing) < len(names) else _NOTHING_FITS, error))
                continue
            answer = _read_answer(codec, response, len(table.values), columns)
            return CallRecords(codec, join_call(_drop_unknown(table, columns), answer, columns))
        except InvalidInput as error:
            refusals.append(_Refusal(_MEMBER_FITS, error))
        except ScoringFailed as error:
            refusals.append(_Refusal(_REQUEST_FITS, error))
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
    rows = [list(row) for row in table.values]
    for column in (*columns.features, *columns.meta):
        if column.sent is FieldType.BOOLEAN and column.name in table.fields:
            position = table.fields.index(column.name)
            for row in rows:
                if type(row[position]) in (int, float) and row[position] in (0, 1):
                    row[position] = bool(row[position])
    return LoggedTable(
        fields=tuple(table.fields),
        rows=rows,
        predictions=[prediction.prediction for prediction in answer.predictions],
        probabilities=[
            list(prediction.probability)
            if isinstance(prediction.probability, tuple)
            else prediction.probability
            for prediction in answer.predictions
        ],
        labels=[prediction.label for prediction in answer.predictions],
    )


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
            answer = codec.read_answer(
                response, outputs=OutputFields(prediction=outputs.prediction), expected_rows=rows
            )
        except ScoringFailed:
            answer = None
        # Other columns could be outputs under another name.
        if answer is None or len(answer.fields) != 1:
            raise
        return answer
