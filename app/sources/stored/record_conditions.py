"""Filters of payload records in SQL. Values never reach its text."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from ...base.strict_json import JsonObject
from ...base.values import frozen, frozen_by_name
from ...domain.monitor import ValueTest

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class RecordPlace(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Place of a record in the log. Places are cursors, too, and so check what is read."""

    logged_at: Moment
    record_no: Number


class GapPlace(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Place in a list by gap. Records without a flag (`gap` None) come last."""

    # JSON keeps every digit of a float.
    gap: Annotated[float, msgspec.Meta(ge=0)] | None
    logged_at: Moment
    record_no: Number


@frozen
class ColumnPlace:
    """Position of a column in the features, or else the meta fields, of some schema versions."""

    versions: tuple[int, ...]
    in_features: bool
    position: int
    is_numeric: bool


@frozen
class GroupTest:
    """Test of the values of a group, and the places of its column."""

    test: ValueTest
    columns: tuple[ColumnPlace, ...]


@frozen_by_name
class RecordFilter:
    """Filter of payload records. An absent member lets all through. Times are half-open.

    A record passes `groups` by all tests of one. `oldest` is the last record that may be read. `changed` is
    gained, lost, any or none, under the copies of `targets`. `mitigated` leaves what mitigation changed;
    `without_flags` what no check flagged.
    """

    since: datetime | None = None
    until: datetime | None = None
    oldest: RecordPlace | None = None
    version: int | None = None
    favourable: ValueTest = field(default_factory=ValueTest)
    unfavourable: ValueTest = field(default_factory=ValueTest)
    groups: tuple[tuple[GroupTest, ...], ...] = ()
    outcome: str | None = None
    changed: str | None = None
    targets: tuple[int, ...] = ()
    mitigated: bool = False
    attribute: str | None = None
    without_flags: bool = False

    @property
    def is_selective(self) -> bool:
        return any((self.groups, self.outcome, self.changed, self.mitigated, self.without_flags))


@dataclass(slots=True)
class Statement:
    """Conditions on payload records `r`, and their parameters."""

    conditions: list[str] = field(default_factory=list)
    values: JsonObject = field(default_factory=dict)

    def add(self, condition: str, **values: object) -> None:
        self.conditions.append(condition)
        self.values |= values

    @property
    def where(self) -> str:
        return " AND ".join(self.conditions)


_OUTCOME = "coalesce({alias}.label, {alias}.prediction)"


def build_bound_statement(deployment_no: int, filters: RecordFilter, after: RecordPlace | None) -> Statement:
    statement = Statement(["r.deployment_no = :deployment_no"], {"deployment_no": deployment_no})
    # The time alone as well: by that, partitions are left out.
    if filters.since is not None:
        statement.add("r.logged_at >= :since", since=filters.since)
    if filters.until is not None:
        statement.add("r.logged_at < :until", until=filters.until)
    if filters.oldest is not None:
        statement.add(
            "r.logged_at >= :oldest_at AND (r.logged_at, r.record_no) >= (:oldest_at, :oldest_no)",
            oldest_at=filters.oldest.logged_at,
            oldest_no=filters.oldest.record_no,
        )
    if after is not None:
        statement.add(
            "r.logged_at <= :after_at AND (r.logged_at, r.record_no) < (:after_at, :after_no)",
            after_at=after.logged_at,
            after_no=after.record_no,
        )
    if filters.version is not None:
        statement.add("r.schema_version = :version", version=filters.version)
    return statement


def add_filters(statement: Statement, filters: RecordFilter) -> None:
    """Adds the conditions that no bound of the log says."""
    for side, test in (("favourable", filters.favourable), ("unfavourable", filters.unfavourable)):
        statement.values |= {
            f"{side}_texts": list(test.texts),
            f"{side}_spellings": list(test.spellings),
        } | _list_bounds(side, test)
    if filters.groups:
        alternatives = [
            " AND ".join(
                _build_group_test(statement, f"group_{number}_{no}", group) for no, group in enumerate(groups)
            )
            for number, groups in enumerate(filters.groups)
        ]
        statement.add(f"({' OR '.join(alternatives)})")
    if filters.outcome is not None:
        statement.add(_build_outcome_test("r", filters.outcome, filters))
    if filters.changed is not None:
        statement.add(_build_change_test(filters), targets=list(filters.targets))
    if filters.mitigated:
        has_cause = "" if filters.attribute is None else " AND r.mitigated -> 'changed_by' ? :attribute"
        of_attribute = "" if filters.attribute is None else " AND f.attribute = :attribute"
        statement.add(
            f"(coalesce(CAST(r.mitigated ->> 'changed' AS boolean){has_cause}, false) OR EXISTS (SELECT FROM "
            "flagged_records f WHERE f.deployment_no = r.deployment_no AND f.record_no = r.record_no AND "
            f"f.kind = 'changed'{of_attribute}))",
            attribute=filters.attribute,
        )
    if filters.without_flags:
        statement.add(
            "NOT EXISTS (SELECT FROM flagged_records f WHERE f.deployment_no = r.deployment_no AND "
            "f.record_no = r.record_no)"
        )


def _build_group_test(statement: Statement, name: str, group: GroupTest) -> str:
    statement.values |= {f"{name}_texts": list(group.test.texts)} | _list_bounds(name, group.test)
    conditions = []
    for no, column in enumerate(group.columns):
        statement.values[f"{name}_{no}_versions"] = list(column.versions)
        value = f"(r.{'features' if column.in_features else 'meta'} ->> {column.position:d})"
        passes = f"{value} = ANY(:{name}_texts)"
        if column.is_numeric and group.test.ranges:
            passes = (
                f"({passes} OR {_build_range_test(f'CAST({value} AS float8)', 'float8', name, group.test)})"
            )
        # The value there in another version need not be a number.
        conditions.append(
            f"CASE WHEN r.schema_version = ANY(:{name}_{no}_versions) THEN coalesce({passes}, false) ELSE "
            "false END"
        )
    return f"({' OR '.join(conditions) or 'false'})"


def _list_bounds(name: str, test: ValueTest) -> JsonObject:
    # A float would reach a comparison of decimals with fewer digits.
    return {
        f"{name}_{no}_{end}": repr(getattr(bounds, end))
        for no, bounds in enumerate(test.ranges)
        for end in ("lo", "hi")
    }


def _build_range_test(number: str, kind: str, name: str, test: ValueTest) -> str:
    conditions = (
        f"{number} BETWEEN CAST(:{name}_{no}_lo AS {kind}) AND CAST(:{name}_{no}_hi AS {kind})"
        for no in range(len(test.ranges))
    )
    return " OR ".join(conditions)


def _build_value_test(alias: str, name: str, test: ValueTest) -> str:
    outcome = _OUTCOME.format(alias=alias)
    text = f"{outcome} #>> '{{}}'"
    passes = f"{text} = ANY(:{name}_texts)"
    if test.ranges:
        passes = f"({passes} OR {_build_range_test(f'CAST({text} AS numeric)', 'numeric', name, test)})"
    if test.only_numbers:
        # Text need not be a number, and conditions have no order.
        passes = f"CASE WHEN jsonb_typeof({outcome}) = 'number' THEN {passes} ELSE false END"
    if test.spellings:
        passes = f"({passes} OR lower(btrim({text}, E' \\t\\n\\r\\u00a0')) = ANY(:{name}_spellings))"
    return f"coalesce({passes}, false)"


def _build_outcome_test(alias: str, outcome: str, filters: RecordFilter) -> str:
    favourable = _build_value_test(alias, "favourable", filters.favourable)
    unfavourable = _build_value_test(alias, "unfavourable", filters.unfavourable)
    match outcome:
        case "favourable":
            return favourable
        case "unfavourable":
            return f"({unfavourable} AND NOT {favourable})"
        case _:
            return f"NOT ({favourable} OR {unfavourable})"


def _build_change_test(filters: RecordFilter) -> str:
    gained = (
        f"({_build_outcome_test('r', 'unfavourable', filters)} AND "
        f"{_build_copy_test(_build_outcome_test('k', 'favourable', filters))})"
    )
    lost = (
        f"({_build_outcome_test('r', 'favourable', filters)} AND "
        f"{_build_copy_test(_build_outcome_test('k', 'unfavourable', filters))})"
    )
    match filters.changed:
        case "gained":
            return gained
        case "lost":
            return lost
        case "any":
            return f"({gained} OR {lost})"
        case _:
            classified = "NOT " + _build_outcome_test("k", "unclassified", filters)
            return f"({_build_copy_test(classified)} AND NOT ({gained} OR {lost}))"


def _build_copy_test(condition: str) -> str:
    """Tests whether a copy, scored under the record's own model revision and schema, meets the condition."""
    return (
        "EXISTS (SELECT FROM copy_targets t JOIN counterfactuals k ON k.target_no = t.no AND k.record_no = "
        "r.record_no WHERE t.no = ANY(:targets) AND t.model_revision = r.model_revision AND t.schema_version "
        f"= r.schema_version AND {condition})"
    )


class RecordSort(StrEnum):
    """Order of a list of records: the newest first, or the largest gap first and records without a flag
    last, newest first.
    """

    NEWEST = "newest"
    GAP = "gap"
