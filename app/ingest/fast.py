"""The fast way through a native body: decoded and checked in one pass by a struct made from the schema.

It gives up on anything unusual, and the exact way decides then; both must agree on what they accept (a property test says so).
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Annotated, Any

import msgspec
from msgspec import Meta, structs

from app.domain.deployments import Column, FieldType, ProblemType
from app.ingest.cells import INT64_MAX, INT64_MIN, Json, tidy
from app.ingest.checked import Cells, CheckedPayload
from app.ingest.limits import EARLIEST, MAX_ID_CHARACTERS, Moments
from app.store.writing import Target

_ESCAPED_NUL = b"\\u0000"

_Integer = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]
_Moment = Annotated[datetime, Meta(tz=True)]
_Scalar = _Integer | float | str | bool

_TYPES: dict[FieldType, Any] = {
    FieldType.STRING: str,
    FieldType.INTEGER: _Integer,
    FieldType.NUMBER: float,
    FieldType.BOOLEAN: bool,
}

_id, _scored_at, _features, _meta = attrgetter("id"), attrgetter("scored_at"), attrgetter("features"), attrgetter("meta")
_prediction, _probability, _label = attrgetter("prediction"), attrgetter("probability"), attrgetter("label")


class FastReader:
    """Reads `{"records": […]}` of one schema."""

    def __init__(self, target: Target) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_body_type(target))
        self._feature_numbers = _numbers_of(target.schema.features)
        self._meta_numbers = _numbers_of(target.schema.meta)

    @classmethod
    def of(cls, target: Target) -> "FastReader | None":
        """A reader, or None where a column's name needs escapes in JSON."""
        try:
            return cls(target)
        except (ValueError, TypeError):
            return None

    def read(self, body: bytes, moments: Moments) -> CheckedPayload | None:
        """The records, if every one is good and none is unusual."""
        if _ESCAPED_NUL in body:
            return None
        try:
            records: list[Any] = self._decoder.decode(body).records
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        ids = list(map(_id, records))
        scored_at = list(map(_scored_at, records))
        if not _are_plain(ids) or not _are_believable(scored_at, moments):
            return None
        count = len(records)
        return CheckedPayload(
            sent=count,
            indexes=list(range(count)),
            ids=ids,
            times=scored_at,
            features=_rows(map(_features, records), self._feature_numbers),
            meta=self._meta_rows(list(map(_meta, records))),
            predictions=[tidy(value) if type(value) is float else value for value in map(_prediction, records)],
            probabilities=[_tidy_probability(value) for value in map(_probability, records)],
            labels=[tidy(value) if type(value) is float else value for value in map(_label, records)],
        )

    def _meta_rows(self, metas: list[Any]) -> list[Cells | None]:
        if metas.count(None) == len(metas):
            return metas
        return [None if meta is None else _rows([meta], self._meta_numbers)[0] for meta in metas]


def _body_type(target: Target) -> type[msgspec.Struct]:
    prediction: Any = _Integer | float if target.problem_type is ProblemType.REGRESSION else _Scalar
    record = msgspec.defstruct(
        "Record",
        [
            ("features", _struct("Features", target.schema.features, required=True)),
            ("prediction", prediction),
            ("id", _Id | None, None),
            ("scored_at", _Moment | None, None),
            ("meta", _struct("MetaFields", target.schema.meta, required=False) | None, None),
            ("probability", _Share | list[_Share] | None, None),
            ("label", _Scalar | None, None),
        ],
        forbid_unknown_fields=True,
        gc=False,
    )
    return msgspec.defstruct("Body", [("records", list[record])], forbid_unknown_fields=True, gc=False)  # type: ignore[valid-type]


def _struct(name: str, columns: Sequence[Column], *, required: bool) -> Json:
    """A struct with one field per column, in schema order, whose JSON name is the column's."""
    fields: list[Any] = []
    for position, column in enumerate(columns):
        default = {} if required else {"default": None}
        fields.append((f"column_{position}", _TYPES[column.type] | None, msgspec.field(name=column.name, **default)))
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True, gc=False)


def _numbers_of(columns: Sequence[Column]) -> Callable[[Any], Sequence[Any]] | None:
    """Picks the values of the columns that hold numbers, which may need tidying."""
    positions = [position for position, column in enumerate(columns) if column.type is FieldType.NUMBER]
    if not positions:
        return None
    # A slice gives a tuple where a single position would give the bare value.
    return itemgetter(*positions) if len(positions) > 1 else itemgetter(slice(positions[0], positions[0] + 1))


def _rows(values: Json, numbers: Callable[[Any], Sequence[Any]] | None) -> list[Any]:
    rows = list(map(structs.astuple, values))
    if numbers is not None:
        for position, row in enumerate(rows):
            for value in numbers(row):
                if value is not None and value.is_integer():
                    rows[position] = tuple(tidy(cell) if type(cell) is float else cell for cell in row)
                    break
    return rows


def _are_plain(ids: list[str | None]) -> bool:
    return all([record_id is None or record_id.isprintable() for record_id in ids])  # noqa: C419 - a generator takes twice as long


def _are_believable(times: list[datetime | None], moments: Moments) -> bool:
    latest, may_be_absent = moments.latest, not moments.historical
    for time in times:
        if time is None:
            if not may_be_absent:
                return False
        elif not EARLIEST <= time <= latest:
            return False
    return True


def _tidy_probability(value: Json) -> Json:
    if type(value) is float:
        return tidy(value)
    if value is None:
        return None
    return [tidy(part) if part.is_integer() else part for part in value]
