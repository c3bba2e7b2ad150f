"""Filters and orders of records as the SDK writes them: `field:op:value`, joined by commas; `column:asc`, or `random`."""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..domain.deployments import Deployment, FieldType, RecordSchema
from ..errors import InvalidInput
from ..store.openscale.record_searches import (
    NEWEST_FIRST,
    FieldOperator,
    FieldTest,
    OwnValue,
    RecordField,
    RecordOrder,
    RecordSearch,
)
from ..store.records.record_conditions import ColumnPlace
from .callers import joined_id
from .data_sets import FEEDBACK, PAYLOAD
from .times import read_time

MAX_TESTS = 20
"""Max conditions of one filter."""

MAX_VALUES = 1000
"""Max values of one condition `in`."""

MAX_VALUE_CHARACTERS = 1000

_OPERATORS = {one.value: one for one in FieldOperator} | {"exists": FieldOperator.PRESENT}
_WITHOUT_VALUE = (FieldOperator.ABSENT, FieldOperator.PRESENT)
_OF_NUMBERS = (FieldOperator.GREATER, FieldOperator.AT_LEAST, FieldOperator.LESS, FieldOperator.AT_MOST)


@dataclass(frozen=True, slots=True)
class NamedField:
    """A field of a data set under its name in records. `is_number` is None where the values decide."""

    field: RecordField
    is_number: bool | None = None

    @property
    def is_time(self) -> bool:
        """Returns whether its values are times."""
        return self.field.own is OwnValue.AT


Fields = Mapping[str, NamedField]


def fields_of(kind: str, deployment: Deployment, schemas: Mapping[int, RecordSchema], label: str) -> Fields:
    """Returns the fields of a data set's records; a column has its place in each version of the schema."""
    columns: dict[str, NamedField] = {}
    for version, schema in schemas.items():
        for in_features, part in ((True, schema.features), (False, schema.meta)):
            for position, column in enumerate(part):
                known = columns.get(column.name, NamedField(RecordField(), is_number=True))
                is_number = column.type in (FieldType.INTEGER, FieldType.NUMBER)
                place = ColumnPlace(versions=(version,), in_features=in_features, position=position, is_numeric=is_number)
                field = RecordField(places=(*known.field.places, place))
                columns[column.name] = NamedField(field, is_number=is_number and known.is_number is True)
    outputs = deployment.outputs
    if kind == FEEDBACK:
        own = {
            label: OwnValue.TRUE_LABEL,
            "record_id": OwnValue.ID,
            "record_timestamp": OwnValue.AT,
            "_original_prediction": OwnValue.PREDICTION,
            "_original_probability": OwnValue.PROBABILITY,
        }
    else:
        own = {outputs.prediction: OwnValue.PREDICTION, "scoring_id": OwnValue.ID, "scoring_timestamp": OwnValue.AT}
        own["asset_revision"] = OwnValue.REVISION
        if outputs.probability is not None and outputs.probability != outputs.prediction:
            own[outputs.probability] = OwnValue.PROBABILITY
        if outputs.label is not None:
            own[outputs.label] = OwnValue.DECODED
    texts = (OwnValue.ID, OwnValue.REVISION)
    return columns | {name: NamedField(RecordField(own=one), is_number=False if one in texts else None) for name, one in own.items()}


@dataclass(frozen=True, slots=True)
class SearchedDataSet:
    """A data set of a subscription: its kind, the fields of its records, and those of the other half of each pair."""

    kind: str
    subscription_id: str
    fields: Fields
    other_fields: Fields

    @property
    def other_id(self) -> str:
        """Returns the id of the data set with the other half."""
        return joined_id(FEEDBACK if self.kind == PAYLOAD else PAYLOAD, self.subscription_id)


def read_search(
    data_set: SearchedDataSet,
    since: datetime | None,
    until: datetime | None,
    sent_filter: str | None,
    sent_order: str | None,
    seed: float | None,
) -> RecordSearch:
    """Returns the search that an address asks for.

    Raises:
        InvalidInput: the filter or order has an unknown field or operator, or a value that the operator cannot compare.
    """
    pieces = sent_filter.split(",") if sent_filter else []
    if len(pieces) > MAX_TESTS:
        raise InvalidInput.of("filter", f"must have at most {MAX_TESTS} conditions, found {len(pieces)}")
    tests = tuple(_read_test(piece, data_set) for piece in pieces)
    return RecordSearch(since=since, until=until, tests=tests, order=_read_order(sent_order, seed, data_set))


def read_includes(sent: str | None, fields: Fields) -> frozenset[str] | None:
    """Returns the names of the columns to answer; None for all.

    Raises:
        InvalidInput: there is no such column.
    """
    if not sent:
        return None
    names = sent.split(",")
    for name in names:
        # Internal columns that only some records have.
        if name not in fields and not name.startswith("_"):
            raise InvalidInput.of("includes", _unknown(name, fields))
    return frozenset(names)


def _read_test(piece: str, data_set: SearchedDataSet) -> FieldTest:
    other = f"{data_set.other_id}."
    if piece.startswith(other):
        return replace(_read_own_test(piece.removeprefix(other), data_set.other_fields), is_of_pair=True)
    return _read_own_test(piece, data_set.fields)


def _read_own_test(piece: str, fields: Fields) -> FieldTest:
    # The longest: names may hold colons.
    name = max((one for one in fields if piece.startswith(f"{one}:")), key=len, default=None)
    if name is None:
        raise InvalidInput.of("filter", _unknown(piece.partition(":")[0], fields))
    field = fields[name]
    sent, _, value = piece.removeprefix(f"{name}:").partition(":")
    operator = _OPERATORS.get(sent)
    if operator is None:
        raise InvalidInput.of("filter", f"{ascii(sent)[:60]} after {name!r:.200} is none of {', '.join(_OPERATORS)}")
    has_value = operator not in _WITHOUT_VALUE
    if has_value == (not value) or len(value) > MAX_VALUE_CHARACTERS * (MAX_VALUES if operator is FieldOperator.AMONG else 1):
        raise InvalidInput.of("filter", f"{name!r:.200}:{sent} takes {'a value, as in field:op:value' if has_value else 'no value'}")
    if "\0" in value:
        raise InvalidInput.of("filter", "holds the NUL character")
    return _build_test(name, field, operator, value)


def _build_test(name: str, field: NamedField, operator: FieldOperator, value: str) -> FieldTest:
    where = f"{name!r:.200}"
    if operator in _WITHOUT_VALUE:
        return FieldTest(field=field.field, operator=operator)
    if field.is_time:
        if operator in (FieldOperator.LIKE, FieldOperator.AMONG):
            raise InvalidInput.of("filter", f"{where} is a time, which {operator} cannot compare; use eq, gt, gte, lt or lte")
        return FieldTest(field=field.field, operator=operator, time=read_time("filter", value))
    if operator in _OF_NUMBERS:
        if field.is_number is False:
            raise InvalidInput.of("filter", f"{where} is no column of numbers, which {operator} compares; use eq, in or like")
        number = _number(value)
        if number is None:
            raise InvalidInput.of("filter", f"{where}:{operator} takes a number, found {value!r:.60}")
        return FieldTest(field=field.field, operator=operator, numbers=(number,))
    if operator is FieldOperator.LIKE:
        # In IBM's patterns % is one character or more, and a backslash is a character like any other.
        return FieldTest(field=field.field, operator=operator, texts=(value.replace("\\", "\\\\").replace("%", "_%"),))
    values = value.split(";") if operator is FieldOperator.AMONG else [value]
    if len(values) > MAX_VALUES:
        raise InvalidInput.of("filter", f"{where}:in takes at most {MAX_VALUES:,} values, found {len(values):,}")
    numbers = tuple(number for number in map(_number, values) if number is not None)
    # Python and JSON write the two truth values in different ways.
    truths = [one.lower() for one in values if one in ("True", "False")]
    return FieldTest(field=field.field, operator=operator, texts=(*values, *truths), numbers=numbers)


def _read_order(sent: str | None, seed: float | None, data_set: SearchedDataSet) -> RecordOrder:
    if seed is not None and not (sent or "").startswith("random"):
        raise InvalidInput.of("seed", "is of order=random only")
    if not sent:
        return NEWEST_FIRST
    if sent == "random":
        return RecordOrder(seed=repr(seed) if seed is not None else secrets.token_hex(8))
    name, _, way = sent.rpartition(":")
    # A column alone is ascending.
    if way not in ("asc", "desc"):
        name, way = sent, "asc"
    times = [NamedField(RecordField(own=OwnValue.AT))] if name == "record-timestamp" else []
    field = next(iter(times), data_set.fields.get(name))
    if field is None:
        raise InvalidInput.of("order", f"{_unknown(name, data_set.fields)}; send column:asc, column:desc or random")
    # Labels have no time but that of their logging.
    if field.is_time and way == "desc" and data_set.kind == FEEDBACK:
        return NEWEST_FIRST
    return RecordOrder(field=field.field, is_descending=way == "desc")


def _number(value: str) -> str | None:
    """Returns the text of a number in a form that the database reads; None if it is none."""
    try:
        found = float(value)
    except ValueError:
        return None
    # Underscores and words such as inf are numbers for Python only.
    is_plain = math.isfinite(found) and all(character in "+-.0123456789eE" for character in value.strip())
    return value.strip() if is_plain else None


def _unknown(name: str, fields: Sequence[str] | Fields) -> str:
    return f"the data set has no field {ascii(name)[:100]}; it has {', '.join(fields)[:500]}"
