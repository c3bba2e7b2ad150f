"""A call of a model as it went over the wire, read in the first format that fits both of its bodies. Cells are checked elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..domain.deployments import Column, FieldType, OutputFields
from ..errors import InvalidInput, ScoringFailed
from .answers import Answer
from .codec import Codec
from .pairs import LoggedTable
from .tables import Table


@dataclass(frozen=True, slots=True)
class CallColumns:
    """Features, which a request must have, meta fields, which it may have, and the outputs of the answer.

    `may_lack_outputs`: a log may hold the prediction alone, though the endpoint answers more.
    """

    features: Sequence[Column]
    meta: Sequence[Column]
    outputs: OutputFields
    may_lack_outputs: bool = False


@dataclass(frozen=True, slots=True)
class ReadCall:
    """The records of a call and the format that fitted."""

    codec: Codec
    table: LoggedTable


def read_call(request: bytes, response: bytes, codecs: Iterable[Codec], columns: CallColumns) -> ReadCall:
    """Returns the records of a call in the first of the formats that fits; columns that the schema does not have are left out.

    Raises:
        InvalidInput: the request is in none of them.
        ScoringFailed: it is, and the answer has no usable prediction for each record.
    """
    names = [column.name for column in columns.features]
    refusal: InvalidInput | ScoringFailed | None = None
    for codec in codecs:
        try:
            table = codec.read_request(request, names)
            if missing := [name for name in names if name not in table.fields]:
                refusal = refusal or InvalidInput.of(f"features.{missing[0]}", "is not a column of the request")
                continue
            answer = _read_answer(codec, response, len(table.values), columns)
            return ReadCall(codec, join_call(_drop_unknown(table, columns), answer, columns))
        except (InvalidInput, ScoringFailed) as error:
            # The first is that of the deployment's own format, whose words help most; an unreadable answer says more than a misfit.
            if refusal is None or (isinstance(error, ScoringFailed) and not isinstance(refusal, ScoringFailed)):
                refusal = error
    raise refusal or InvalidInput.of("request", "is in no format that is read here")


def join_call(table: Table, answer: Answer, columns: CallColumns) -> LoggedTable:
    """Returns the rows of a request with the predictions of its answer."""
    types = {column.name: column for column in (*columns.features, *columns.meta)}
    return LoggedTable(
        fields=tuple(table.fields),
        rows=fit_booleans(table.values, table.fields, types),
        predictions=[one.prediction for one in answer.predictions],
        probabilities=[list(one.probability) if isinstance(one.probability, tuple) else one.probability for one in answer.predictions],
        labels=[one.label for one in answer.predictions],
    )


def fit_booleans(rows: list[list[Any]], fields: Sequence[str], types: Mapping[str, Column]) -> list[list[Any]]:
    """Returns the rows with 1 and 0 as true and false in columns of that type: so a tensor of numbers, or CSV, carries them."""
    places = [place for place, name in enumerate(fields) if name in types and types[name].sent is FieldType.BOOLEAN]
    if not places:
        return rows
    fitted = [list(row) for row in rows]
    for row in fitted:
        for place in places:
            if type(row[place]) in (int, float) and row[place] in (0, 1):
                row[place] = bool(row[place])
    return fitted


def _drop_unknown(table: Table, columns: CallColumns) -> Table:
    # A request is made for the model, which may take columns that the schema does not have.
    known = {column.name for column in (*columns.features, *columns.meta)}
    places = [place for place, name in enumerate(table.fields) if name in known]
    if len(places) == len(table.fields):
        return table
    return replace(
        table, fields=[table.fields[place] for place in places], values=[[row[place] for place in places] for row in table.values]
    )


def _read_answer(codec: Codec, response: bytes, rows: int, columns: CallColumns) -> Answer:
    outputs = columns.outputs
    try:
        return codec.read_answer(response, outputs=outputs, expected_rows=rows)
    except ScoringFailed:
        if not columns.may_lack_outputs or outputs.has_only_probabilities or (outputs.probability is None and outputs.label is None):
            raise
        try:
            alone = codec.read_answer(response, outputs=OutputFields(prediction=outputs.prediction), expected_rows=rows)
        except ScoringFailed:
            alone = None
        # Other columns could be outputs under another name, so the first refusal holds for them.
        if alone is None or len(alone.fields) != 1:
            raise
        return alone
