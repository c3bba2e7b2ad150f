"""Conditions and orders of records by their fields, in SQL. Values never reach its text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ..records.record_conditions import ColumnPlace, Statement


class FieldOperator(StrEnum):
    """The comparison of a field with a value."""

    EQUAL = "eq"
    GREATER = "gt"
    AT_LEAST = "gte"
    LESS = "lt"
    AT_MOST = "lte"
    LIKE = "like"
    AMONG = "in"
    ABSENT = "null"
    PRESENT = "nonnull"


SIGNS: Mapping[FieldOperator, str] = {
    FieldOperator.EQUAL: "=",
    FieldOperator.GREATER: ">",
    FieldOperator.AT_LEAST: ">=",
    FieldOperator.LESS: "<",
    FieldOperator.AT_MOST: "<=",
}


class OwnValue(StrEnum):
    """A value of a record that is none of its columns."""

    PREDICTION = "prediction"
    PROBABILITY = "probability"
    DECODED = "decoded label"
    TRUE_LABEL = "ground-truth label"
    ID = "id"
    REVISION = "model revision"
    AT = "time"


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a record: a column at its place in each schema version, or else a value of the record itself."""

    places: tuple[ColumnPlace, ...] = ()
    own: OwnValue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldTest:
    """One condition. `texts` are the values as they were sent, `numbers` those of them that are numbers, `time` that of a time.

    `is_of_pair` says that the other half of the pair must pass: the label of a payload record, or the payload record of a label.
    """

    field: RecordField
    operator: FieldOperator
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    time: datetime | None = None
    is_of_pair: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOrder:
    """The order of records: by a field, or by chance with a seed; without both, newest first."""

    field: RecordField | None = None
    is_descending: bool = False
    seed: str | None = None


NEWEST_FIRST = RecordOrder()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSearch:
    """Times of logging, half-open (an absent end is open), the conditions that records must all pass, and their order."""

    since: datetime | None = None
    until: datetime | None = None
    tests: tuple[FieldTest, ...] = ()
    order: RecordOrder = field(default=NEWEST_FIRST)

    @property
    def is_plain(self) -> bool:
        """Returns whether records are taken as they were logged."""
        return not self.tests and self.order == NEWEST_FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedTable:
    """SQL of one kind of records: its tables, its columns, and its values as JSON. `pair` is the other half, for a condition on it."""

    tables: str
    deployment_no: str
    logged_at: str
    number: str
    identifier: str
    version: str
    features: str
    meta: str
    time: str
    values: Mapping[OwnValue, str]
    pair: str


_PREDICTED = {
    OwnValue.PREDICTION: "coalesce(r.label, r.prediction, f.predicted_label, f.predicted)",
    OwnValue.PROBABILITY: "coalesce(r.probability, f.predicted_probability)",
}

PAYLOAD = SearchedTable(
    tables="payload_records r",
    deployment_no="r.deployment_no",
    logged_at="r.logged_at",
    number="r.record_no",
    identifier="r.record_id",
    version="r.schema_version",
    features="r.features",
    meta="r.meta",
    time="r.scored_at",
    values={
        OwnValue.PREDICTION: "r.prediction",
        OwnValue.PROBABILITY: "r.probability",
        OwnValue.DECODED: "r.label",
        OwnValue.ID: "to_jsonb(r.record_id)",
        OwnValue.REVISION: "to_jsonb(r.model_revision)",
    },
    pair="EXISTS (SELECT FROM feedback_records f WHERE f.deployment_no = r.deployment_no AND f.feedback_id = r.record_id AND {})",
)

FEEDBACK = SearchedTable(
    tables=(
        "feedback_records f LEFT JOIN payload_records r ON r.deployment_no = f.deployment_no AND r.logged_at = f.record_logged_at"
        " AND r.record_no = f.record_no"
    ),
    deployment_no="f.deployment_no",
    logged_at="f.logged_at",
    number="f.feedback_no",
    identifier="f.feedback_id",
    version="coalesce(r.schema_version, f.schema_version)",
    features="coalesce(r.features, f.features)",
    meta="coalesce(r.meta, f.meta)",
    time="f.logged_at",
    values={**_PREDICTED, OwnValue.TRUE_LABEL: "f.label", OwnValue.ID: "to_jsonb(f.feedback_id)"},
    pair="(r.record_no IS NOT NULL AND {})",
)


def search_statement(table: SearchedTable, deployment_no: int, wanted: RecordSearch) -> Statement:
    """Returns the conditions of the records that are searched for, without their order."""
    statement = Statement([f"{table.deployment_no} = :deployment_no"], {"deployment_no": deployment_no})
    if wanted.since is not None:
        statement.add(f"{table.logged_at} >= :since", since=wanted.since)
    if wanted.until is not None:
        statement.add(f"{table.logged_at} < :until", until=wanted.until)
    other = FEEDBACK if table is PAYLOAD else PAYLOAD
    for no, test in enumerate(wanted.tests):
        condition = _condition(other if test.is_of_pair else table, test, f"test_{no}", statement)
        statement.add(table.pair.format(condition) if test.is_of_pair else condition)
    return statement


def json_of(table: SearchedTable, wanted: RecordField, name: str, statement: Statement) -> str:
    """Returns the field's value as JSON; NULL where a record has none. `name` begins the names of its values in the statement."""
    if wanted.own is not None:
        return table.values[wanted.own]
    cases = []
    for no, place in enumerate(wanted.places):
        statement.values[f"{name}_{no}_versions"] = list(place.versions)
        source = table.features if place.in_features else table.meta
        cases.append(f"WHEN {table.version} = ANY(:{name}_{no}_versions) THEN {source} -> {place.position:d}")
    return f"(CASE {' '.join(cases)} END)"


def order_clause(table: SearchedTable, order: RecordOrder, statement: Statement) -> str:
    """Returns the ORDER BY, in which no two records are equal; the statement takes its values."""
    newest = f"{table.logged_at} DESC, {table.number} DESC"
    if order.seed is not None:
        statement.values["seed"] = order.seed
        return f"ORDER BY md5(CAST({table.number} AS text) || :seed), {newest}"
    if order.field is None:
        return f"ORDER BY {newest}"
    way = "DESC" if order.is_descending else "ASC"
    if order.field.own is OwnValue.AT:
        return f"ORDER BY {table.time} {way}, {table.logged_at} {way}, {table.number} {way}"
    value = json_of(table, order.field, "order", statement)
    # Numbers in their own order, and before texts.
    number = f"CASE WHEN jsonb_typeof({value}) = 'number' THEN CAST({value} #>> '{{}}' AS numeric) END"
    return f"ORDER BY {number} {way} NULLS LAST, {value} #>> '{{}}' {way} NULLS LAST, {newest}"


def _condition(table: SearchedTable, test: FieldTest, name: str, statement: Statement) -> str:
    if test.field.own is OwnValue.AT:
        statement.values[name] = test.time
        return f"{table.time} {SIGNS[test.operator]} :{name}"
    if test.field.own is OwnValue.ID and test.operator in {FieldOperator.EQUAL, FieldOperator.AMONG}:
        # Not as JSON, for which there is no index.
        statement.values[name] = list(test.texts)
        return f"{table.identifier} = ANY(:{name})"
    value = json_of(table, test.field, name, statement)
    text, kind = f"{value} #>> '{{}}'", f"jsonb_typeof({value})"
    match test.operator:
        case FieldOperator.ABSENT:
            passes = f"coalesce({kind}, 'null') = 'null'"
        case FieldOperator.PRESENT:
            passes = f"coalesce({kind}, 'null') <> 'null'"
        case FieldOperator.LIKE:
            statement.values[name] = test.texts[0]
            passes = f"{text} LIKE :{name}"
        case FieldOperator.EQUAL | FieldOperator.AMONG:
            # As decimals: a float would be compared with fewer digits than it has.
            statement.values |= {f"{name}_texts": list(test.texts), f"{name}_numbers": list(test.numbers)}
            number = f"CAST({text} AS numeric) = ANY(CAST(:{name}_numbers AS numeric[]))"
            passes = f"CASE WHEN {kind} = 'number' THEN {number} ELSE {text} = ANY(:{name}_texts) END"
        case _:
            statement.values[name] = test.numbers[0]
            number = f"CAST({text} AS numeric) {SIGNS[test.operator]} CAST(:{name} AS numeric)"
            # CASE: a text need not be a number, and conditions have no order.
            passes = f"CASE WHEN {kind} = 'number' THEN {number} END"
    return f"coalesce({passes}, false)"
