"""A deployment's schema compiled for checking, the fast reader of valid bodies, and the checked records of a
request.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from ...base.errors import InvalidInput, TooLarge
from ...base.values import MAX_TEXT, find_nearest, frozen, frozen_arrays, join_first, printable, tidy
from ...domain.deployment import Column, FieldType, ProblemType, has_protected_columns
from ...domain.record import (
    INT64_MAX,
    INT64_MIN,
    MAX_ID_CHARACTERS,
    MIN_SAMPLE_RATE,
    CellRefused,
    Json,
    Rejection,
    ValueReader,
    read_number,
    read_probability,
    read_sample_rate,
    read_scalar,
)
from ...domain.record_times import MAX_CLOCK_LEAD, RecordSource, TimeRule
from ...payloads.model_classes import Classes
from ...payloads.read_call import CallColumns
from ...payloads.schema_parts import CELL, Schema, array_of
from ...sources.arrays.favourable_scores import OutcomeClassifier
from ..writing.write_target import Target
from .decode_body import is_evidently_strict
from .protected_values import build_check

Cells = Sequence[Any]
"""Cells of one record in the order of the schema; None where missing."""


class RecordRefused(Exception):
    """Raised for a record that cannot be stored; the reason continues the name of the field."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.field = where
        self.reason = reason

    def rejection(self, index: int) -> Rejection:
        return Rejection(index, self.field, self.reason)


class CheckedRecords(Struct, kw_only=True):
    """Checked records by column: position i of every list is the same record, `indexes[i]` its position in
    the request.

    An id of None is to be generated; a time of None is that of the receipt. Feedback without features is a
    label for the payload record of its id; its times are those of the labels, its predictions and
    probabilities the sender's, or None. `rounded` counts records whose probability became 0 or 1.
    """

    sent: int
    source: RecordSource = RecordSource.REST
    indexes: list[int] = []
    ids: list[str | None] = []
    times: list[datetime | None] = []
    features: list[Cells | None] = []
    meta: list[Cells | None] = []
    predictions: list[Any] = []
    probabilities: list[Any] = []
    labels: list[Any] = []
    rejections: list[Rejection] = []
    rounded: int = 0


class CheckedPayload(CheckedRecords, kw_only=True):
    """Checked payload records. Times are those of scoring, labels the decoded forms of the predictions.

    `mitigated` has the results of mitigation, `sample_rates` the shares that were logged, None for 1. Both
    lists may be empty instead.
    """

    mitigated: list[Any] = []
    sample_rates: list[float | None] = []


Integer = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]
ScalarCell = Integer | float | Text | bool
_Share = Annotated[float, Meta(ge=0, le=1)]
_SHARE_SCHEMA = {"type": "number", "minimum": 0, "maximum": 1}


@frozen_arrays
class PayloadColumn:
    """A column of payload records that a sender may state, and that is the same in every schema.

    `values` is the name of the column's list in `CheckedPayload`, `kind` and `schema` are its type in a body.
    Cells are stored as JSON, or as plain text (`is_text`).
    """

    name: str
    values: str
    check: ValueReader
    kind: Any
    schema: Schema
    is_text: bool = False


OPTIONAL_COLUMNS = (
    PayloadColumn(
        "probability",
        "probabilities",
        read_probability,
        _Share | list[_Share],
        {"anyOf": [_SHARE_SCHEMA, array_of(_SHARE_SCHEMA), {"type": "null"}]},
    ),
    PayloadColumn(
        "label",
        "labels",
        read_scalar,
        ScalarCell,
        CELL
        | {
            "description": "The decoded form of the prediction (`No Risk` for 0); not the ground-truth "
            "label, which is feedback."
        },
    ),
    PayloadColumn(
        "sample_rate",
        "sample_rates",
        read_sample_rate,
        Annotated[float, Meta(ge=MIN_SAMPLE_RATE, le=1)],
        {
            "type": ["number", "null"],
            "minimum": MIN_SAMPLE_RATE,
            "maximum": 1,
            "description": "The share of records that is logged where this one comes from: it represents "
            "1/sample_rate records, and is counted so in figures. Must not depend on the outcome. "
            "Without it 1.",
        },
    ),
)
OPTIONAL_SCHEMAS = {column.name: column.schema for column in OPTIONAL_COLUMNS}


def check_cell(where: str, check: ValueReader, value: Json) -> Json:
    """Raises RecordRefused for the field `where`."""
    try:
        return check(value)
    except CellRefused as error:
        raise RecordRefused(where, str(error)) from error


MAX_RECORDS = 10_000


def require_count(records: int) -> None:
    if records == 0:
        raise InvalidInput("records", "must hold at least one record")
    if records > MAX_RECORDS:
        raise TooLarge(f"The request holds {records:,} records; at most {MAX_RECORDS:,} are taken at once.")


MAX_RECORD_BYTES = 256 * 1024

MAX_AHEAD_HISTORICAL = timedelta(minutes=10)
"""Time by which a sender's clock may be ahead if its time decides in which hour the record lies."""


@dataclass(frozen=True)
class StatedTimes:
    """Rules for the times that a request's records may state; `historical` records must state one.

    With `first_counts`, a record sent again with another time is a duplicate. Times without an offset are
    refused, unless `without_offset_is_utc`. `earliest` is the deployment's first possible day.
    """

    now: datetime
    historical: bool
    first_counts: bool = False
    without_offset_is_utc: bool = False
    earliest: date | None = None

    @cached_property
    def rule(self) -> TimeRule:
        return replace(
            TimeRule.at(self.now, self.earliest),
            latest=self.now + (MAX_AHEAD_HISTORICAL if self.historical else MAX_CLOCK_LEAD),
            zone=UTC if self.without_offset_is_utc else None,
        )


_ESCAPED_NUL = b"\\u0000"

_Id = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]
_Moment = Annotated[datetime, Meta(tz=True)]

_DECODED_TYPES: dict[FieldType, Any] = {
    FieldType.STRING: Text,
    FieldType.INTEGER: Integer,
    FieldType.NUMBER: float,
    FieldType.BOOLEAN: bool,
}


class FastReader:
    """Decodes and checks native records in one pass, by types that are built from the schema."""

    def __init__(self, target: Target) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_build_body_type(target))
        self._required = len(target.schema.features) + len(("features", "prediction"))
        self._numbers = [
            position
            for position, column in enumerate(target.schema.features)
            if column.type is FieldType.NUMBER
        ]

    def read(self, body: bytes, moments: StatedTimes) -> CheckedPayload | None:
        """None if a record is invalid or unusual: `check_payload` then decides."""
        if b"\\" in body and _ESCAPED_NUL in body:  # the search for one byte is fifty times as fast
            return None
        try:
            records: list[Any] = self._decoder.decode(body).records
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        members = _MemberCount(1 + len(records) * self._required)
        ids, scored_at, meta, *optional = (
            members.count_column(map(attrgetter(name), records))
            for name in ("id", "scored_at", "meta", *(column.name for column in OPTIONAL_COLUMNS))
        )
        # A list: the builtins take twice as long over a generator.
        if not all([record_id is None or record_id.isprintable() for record_id in ids]):  # noqa: C419
            return None
        count = len(records)
        without_time = scored_at.count(None)
        if moments.historical and without_time:
            return None
        if without_time < count:
            earliest = moments.rule.earliest
            latest = moments.rule.latest
            if not all(time is None or earliest <= time <= latest for time in scored_at):
                return None
        if meta.count(None) < len(meta):
            rows = [None if row is None else members.count_column(structs.astuple(row)) for row in meta]
            meta = [row and list(map(_tidy, row)) for row in rows]
        if not is_evidently_strict(body, members.count, count - without_time):
            return None
        stated: dict[str, Any] = {
            column.values: [None if value == 1 else value for value in values]
            if column.check is read_sample_rate
            else list(map(_tidy, values))
            for column, values in zip(OPTIONAL_COLUMNS, optional, strict=True)
        }
        return CheckedPayload(
            sent=count,
            indexes=list(range(count)),
            ids=ids,
            times=scored_at,
            features=_tidy_rows(map(attrgetter("features"), records), self._numbers),
            meta=meta,
            predictions=list(map(_tidy, map(attrgetter("prediction"), records))),
            **stated,
        )


class _MemberCount:
    """Counts members that were decoded: a text with more members names one twice."""

    def __init__(self, count: int) -> None:
        self.count = count

    def count_column(self, values: Iterable[Any]) -> list[Any]:
        cells = list(values)
        if UnsetType in set(map(type, cells)):
            stated = [value for value in cells if value is not UNSET]
            self.count += len(stated)
            return [None if value is UNSET else value for value in cells] if stated else [None] * len(cells)
        self.count += len(cells)
        return cells


def _build_body_type(target: Target) -> type[msgspec.Struct]:
    prediction: Any = Integer | float if target.problem_type is ProblemType.REGRESSION else ScalarCell
    record = msgspec.defstruct(
        "Record",
        [
            ("features", _build_struct("Features", target.schema.features, required=True)),
            ("prediction", prediction),
            # A member left out differs from null, because members are counted.
            ("id", _Id | UnsetType | None, UNSET),
            ("scored_at", _Moment | UnsetType | None, UNSET),
            (
                "meta",
                _build_struct("MetaFields", target.schema.meta, required=False) | UnsetType | None,
                UNSET,
            ),
            *((column.name, column.kind | UnsetType | None, UNSET) for column in OPTIONAL_COLUMNS),
        ],
        forbid_unknown_fields=True,
        gc=False,
    )
    return msgspec.defstruct("Body", [("records", list[record])], forbid_unknown_fields=True, gc=False)  # type: ignore[valid-type]


def _build_struct(name: str, columns: Sequence[Column], *, required: bool) -> Json:
    """Builds a class with a field for each column, in the order of the schema."""
    fields = []
    for position, column in enumerate(columns):
        # The column's own name need not be an identifier of Python.
        kind = _DECODED_TYPES[column.type] | None
        field = (
            msgspec.field(name=column.name) if required else msgspec.field(name=column.name, default=UNSET)
        )
        fields.append((f"column_{position}", kind if required else kind | UnsetType, field))
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True, gc=False)


def _tidy_rows(values: Json, number_positions: Sequence[int]) -> list[Any]:
    """Rows of structs; those with a whole number in a column of numbers are tidied (3.0 becomes 3)."""
    rows = list(map(structs.astuple, values))
    for index, row in enumerate(rows):
        for position in number_positions:
            value = row[position]
            if value is not None and value.is_integer():
                rows[index] = tuple(map(_tidy, row))
                break
    return rows


def _tidy(value: Json) -> Json:
    if type(value) is float:
        return tidy(value) if value.is_integer() else value
    return list(map(tidy, value)) if isinstance(value, list) else value


_MAX_LISTED_NAMES = 5
_NULL_ADVICE = "a feature without a value must be sent as null"


@frozen
class Columns:
    """Columns that the object `kind` of a record (features or meta) may have, and their checks in order."""

    kind: str
    columns: tuple[Column, ...]
    checks: tuple[ValueReader, ...]
    names: frozenset[str]
    required: bool

    @classmethod
    def of(
        cls, kind: str, columns: tuple[Column, ...], *, required: bool, key: bytes | None = None
    ) -> "Columns":
        checks = tuple(build_check(column, key) for column in columns)
        return cls(kind, columns, checks, frozenset(column.name for column in columns), required)

    def cells(self, values: Json) -> Cells:
        """Null means missing. Raises RecordRefused."""
        if not isinstance(values, Mapping):
            raise RecordRefused(self.kind, "must be an object of column names and values")
        unknown = [name for name in values if name not in self.names]
        # A feature left out is a mistake of the sender; null is a missing value.
        lacks_some = self.required and len(values) - len(unknown) < len(self.columns)
        missing = [column.name for column in self.columns if column.name not in values] if lacks_some else []
        if missing:
            raise RecordRefused(f"{self.kind}.{missing[0]}", describe_missing(missing, unknown))
        if unknown:
            listed = join_first((column.name for column in self.columns), _MAX_LISTED_NAMES) or "none"
            raise RecordRefused(
                f"{self.kind}.{printable(unknown[0])}",
                f"is not a column of the schema; the schema has {listed}",
            )

        cells = []
        for column, check in zip(self.columns, self.checks, strict=True):
            value = values.get(column.name)
            try:
                cells.append(None if value is None else check(value))
            except CellRefused as error:
                raise RecordRefused(f"{self.kind}.{column.name}", str(error)) from error
        return cells


def describe_missing(missing: Sequence[str], unknown: Sequence[str]) -> str:
    name = missing[0]
    suggestion = unknown[0] if len(missing) == len(unknown) == 1 else find_nearest(name, unknown)
    advice = _NULL_ADVICE if suggestion is None else f"did you mean {suggestion!r:.100} → {name!r}?"
    return f"is missing; {advice}"


@frozen
class IngestPlan:
    """Checks for the records of one deployment; `prediction` checks predictions and labels.

    `fast` is None where the schema does not allow fast reading, `classify` without a monitor.
    """

    target: Target
    features: Columns
    meta: Columns
    prediction: ValueReader
    fast: FastReader | None
    classify: OutcomeClassifier | None

    @property
    def call_columns(self) -> CallColumns:
        schema = self.target.schema
        return CallColumns(schema.features, schema.meta, self.target.outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process makes its own decoders.
        return build_plan, (self.target,)


def build_plan(target: Target) -> IngestPlan:
    schema = target.schema
    classes = target.outputs.classes
    prediction = read_number if target.problem_type is ProblemType.REGRESSION else read_scalar
    fast = None
    if classes is None and not has_protected_columns(schema.features, schema.meta):
        # A column's name may need escapes in JSON.
        with suppress(ValueError, TypeError):
            fast = FastReader(target)
    return IngestPlan(
        target=target,
        features=Columns.of("features", schema.features, required=True, key=target.column_key),
        meta=Columns.of("meta", schema.meta, required=False, key=target.column_key),
        prediction=prediction if classes is None else _build_class_check(Classes(classes)),
        fast=fast,
        classify=None if target.outcomes is None else OutcomeClassifier(target.outcomes),
    )


def _build_class_check(classes: Classes) -> ValueReader:
    return lambda value: classes.spell_as_listed([read_scalar(value)])[0]
