"""Records read by a monitor: the groups of each, their strata, and records that were logged at one rate."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...base.errors import InvalidInput
from ...base.values import Scalar, canonical, frozen, frozen_arrays, name_value
from ...domain.deployment import Column, FieldType, RecordSchema
from ...domain.group_rules import Condition, GroupRule
from ...domain.groups import (
    MAX_REFERENCE_VALUES,
    NEITHER,
    Group,
    NamedGroup,
    NearTwin,
    build_group_test,
    combine_groups,
    count_twins,
    describe_misspelled,
    find_group_positions,
    find_twins,
    list_groups,
)
from ...domain.monitor import Comparison, Monitor, MonitoredAttribute
from ...statistics.group_labels import MISSING, Codes, IntArray, cross_codes
from ...statistics.tables.strata_counts import MAX_STRATA
from .favourable_scores import (
    Cells,
    Mask,
    Scores,
    are_ranges,
    classify_answers,
    mark_in_ranges,
    read_favourable_scores,
    read_stored_cells,
)


@frozen
class Grouping:
    """Groups of an attribute, and for each record the position of its group, or NEITHER [records]."""

    column: Column
    groups: tuple[Group, ...]
    codes: Codes

    @property
    def named_groups(self) -> list[NamedGroup]:
        return [(group.label, group.role) for group in self.groups]

    def mark_monitored(self) -> Mask:
        return np.array([group.role == "monitored" for group in self.groups], bool)


@frozen
class ListedGroups:
    """Without a listed reference, every other value is a reference group, but a near twin of a listed one."""

    column: Column
    groups: tuple[Group, ...]
    others_are_reference: bool

    @classmethod
    def of(cls, attribute: MonitoredAttribute, column: Column) -> "ListedGroups":
        listed = replace(attribute, reference=attribute.reference or ())
        return cls(column, list_groups(listed, column, ()), attribute.reference is None)

    def find(self, values: Sequence[Scalar | None]) -> list[NamedGroup | None]:
        present = [value for value in values if value is not None]
        group_positions = find_group_positions(self.groups, self.column, present)
        twins = find_twins(present, [group.value for group in self.groups])
        named_groups: list[NamedGroup | None] = []
        for value in values:
            position = NEITHER if value is None else next(group_positions)
            if position != NEITHER:
                named_groups.append((self.groups[position].label, self.groups[position].role))
            elif value is not None and self.others_are_reference and value not in twins:
                named_groups.append((name_value(value), "reference"))
            else:
                named_groups.append(None)
        return named_groups


def group_records(
    attribute: MonitoredAttribute,
    column: Column,
    values: pa.ChunkedArray,
    *,
    limit: float = MAX_REFERENCE_VALUES,
) -> Grouping:
    cells = read_stored_cells(values, column)
    distinct = cells.coded().values if attribute.reference is None else ()
    groups = list_groups(attribute, column, distinct, limit=limit)
    return Grouping(column, groups, place_in_groups(groups, column, cells))


def place_in_groups(groups: Sequence[Group], column: Column, cells: Cells) -> Codes:
    """Finds the position of each record's group, or NEITHER; of ranges that overlap the first counts."""
    tests = [build_group_test(group.value, column) for group in groups]
    numbers = cells.floats() if are_ranges(tests) else None
    if numbers is not None:
        return np.select(
            [mark_in_ranges(numbers, test) for test in tests], list(range(len(tests))), NEITHER
        ).astype(np.int64)
    coded = cells.coded()
    return coded.spread(find_group_positions(groups, column, coded.values), missing=NEITHER)


def combine_groupings(groupings: Sequence[Grouping]) -> tuple[list[NamedGroup], Codes]:
    """Returns also the position of each record's combination, or NEITHER. Raises InvalidInput if there are
    too many, or two have one label.
    """
    named_groups = combine_groups(
        [grouping.column.name for grouping in groupings], [grouping.named_groups for grouping in groupings]
    )
    return named_groups, cross_codes(
        [grouping.codes for grouping in groupings], [len(grouping.groups) for grouping in groupings]
    )


def convert_to_type(text_or_value: Scalar, kind: FieldType) -> Scalar:
    """Converts a value, or its canonical text, to the type of a column."""
    text = canonical(text_or_value)
    match kind:
        case FieldType.STRING:
            return text
        case FieldType.BOOLEAN:
            return text == "true"
        case FieldType.INTEGER:
            return int(Decimal(text))
        case FieldType.NUMBER:
            return float(text)


@frozen_arrays
class ColumnStrata:
    """Values of a column as strata, and the position of each record's, or NEITHER [records]. If there are too
    many, `labels` is empty and `reason` says so.
    """

    column: str
    labels: tuple[str, ...]
    codes: IntArray
    reason: str = ""


def divide_into_strata(column: str, values: pa.ChunkedArray) -> ColumnStrata:
    coded = read_stored_cells(values).coded()
    texts = [canonical(value) for value in coded.values]
    # 0.0 and -0.0 have one text.
    position = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    if len(position) > MAX_STRATA:
        reason = (
            f"{column} has {len(position):,} different values in the window, where at most "
            f"{MAX_STRATA:,} are strata"
        )
        return ColumnStrata(column, (), np.full(len(values), NEITHER, np.int64), reason)
    return ColumnStrata(
        column, tuple(position), coded.spread((position[text] for text in texts), missing=NEITHER)
    )


def read_attribute(attribute: MonitoredAttribute, values: pa.Table) -> pa.ChunkedArray:
    """Of one with a rule, the label of the group that the rule says."""
    if attribute.rule is None:
        return values[attribute.feature]
    groups = pa.array(
        [name_value(value) for value in (*(attribute.reference or ()), *attribute.monitored)], "string"
    )
    return pa.chunked_array([groups.take(pa.array(is_in_group(attribute.rule, values).astype(np.int64)))])


def is_in_group(rule: GroupRule, values: pa.Table) -> Mask:
    conjunctions = [
        np.logical_and.reduce([_is_met(condition, values[condition.feature]) for condition in conditions])
        for conditions in rule.any_of
    ]
    return np.asarray(np.logical_or.reduce(conjunctions))


def _is_met(condition: Condition, column: pa.ChunkedArray) -> Mask:
    cells = read_stored_cells(column)
    numbers = cells.floats() if condition.intervals else None
    if numbers is None:
        coded = cells.coded()
        return coded.spread(map(condition.is_met_by, coded.values), missing=condition.or_missing).astype(
            np.bool_
        )
    is_met = np.isnan(numbers) & condition.or_missing
    for interval in condition.intervals:
        is_above = True if interval.above is None else numbers > interval.above
        is_below = True if interval.up_to is None else numbers <= interval.up_to
        is_met |= ~np.isnan(numbers) & is_above & is_below
    return is_met


@frozen_arrays
class RecordColumns:
    """Columns [records]: values, answers as JSON texts, and probabilities if they were read."""

    values: pa.Table
    answers: pa.ChunkedArray
    probabilities: pa.ChunkedArray | None = None


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Records as the monitor reads them: the outcome of each [records], and its groups by each attribute."""

    monitor: Monitor
    columns: RecordColumns
    outcomes: Codes
    groupings: tuple[Grouping, ...]

    def __len__(self) -> int:
        return len(self.outcomes)

    @cached_property
    def strata(self) -> ColumnStrata | None:
        """None where the monitor names no column."""
        name = self.monitor.strata
        return None if name is None else divide_into_strata(name, self.columns.values[name])

    @cached_property
    def scores(self) -> Scores | None:
        """None where the probabilities were not read."""
        columns = self.columns
        if columns.probabilities is None:
            return None
        return read_favourable_scores(
            columns.probabilities, columns.answers, self.outcomes, self.monitor.outcomes
        )

    def count_twins(self, repeats: IntArray | None = None) -> Counter[NearTwin]:
        """A record counts `repeats` [records] times."""
        twins = Counter[NearTwin]()
        for attribute, grouping in zip(self.monitor.attributes, self.groupings, strict=True):
            if attribute.rule is None and grouping.column.type is FieldType.STRING:
                coded = read_stored_cells(self.values(attribute.feature)).coded()
                # The first position counts missing values.
                _, *counts = (
                    np.bincount(coded.codes - MISSING, repeats, len(coded.values) + 1).astype(int).tolist()
                )
                records = dict(zip(coded.values, counts, strict=True))
                groups = [group.value for group in grouping.groups]
                references = groups[len(attribute.monitored) :] if attribute.reference is None else []
                twins.update(count_twins(attribute.feature, records, groups, references))
        return twins

    def describe_misspelled(self) -> list[str]:
        return [
            sentence
            for attribute in self.monitor.attributes
            if self.grouping(attribute.feature).column.type is FieldType.STRING
            for sentence in describe_misspelled(
                attribute, read_stored_cells(read_attribute(attribute, self.columns.values)).coded().values
            )
        ]

    def values(self, feature: str) -> pa.ChunkedArray:
        return self.columns.values[feature]

    def grouping(self, feature: str) -> Grouping:
        """Raises InvalidInput if the records lack its columns."""
        for grouping in self.groupings:
            if grouping.column.name == feature:
                return grouping
        raise InvalidInput(
            "attributes", f"{feature} is read from columns that not all records have; change the monitor"
        )

    def compare(self, comparison: Comparison) -> tuple[list[NamedGroup], Codes]:
        """Not cached, for memory. Raises InvalidInput as `combine_groupings`."""
        if not comparison.features:
            return [], np.full(len(self), NEITHER, np.int64)
        return combine_groupings([self.grouping(feature) for feature in comparison.features])


def read_table(columns: RecordColumns, schema: RecordSchema, monitor: Monitor) -> RecordTable:
    """Raises InvalidInput of an attribute that is no column of the schema."""
    groupings = []
    for attribute in monitor.attributes:
        column = attribute.column_in(schema)
        if column is None:
            raise InvalidInput(
                "attributes",
                f"{attribute.feature} is named by the monitor but is not a column; change the monitor",
            )
        groupings.append(group_records(attribute, column, read_attribute(attribute, columns.values)))
    return RecordTable(
        monitor, columns, classify_answers(columns.answers, monitor.outcomes), tuple(groupings)
    )


def thin_to_equal_rates(
    record_nos: IntArray, sample_rates: pa.ChunkedArray, part_codes: IntArray | None = None
) -> npt.NDArray[np.bool_]:
    """Returns a mask [N] of the records to keep so that those of a part were logged at one rate.

    `sample_rates` [N] is null where every record is logged; without `part_codes`, all are one part.
    """
    if sample_rates.null_count == len(sample_rates):
        return np.ones(len(record_nos), bool)
    rates = np.asarray(pc.fill_null(sample_rates, 1.0).to_numpy(), np.float64)
    codes = (
        np.zeros(len(rates), np.int64)
        if part_codes is None
        else np.unique(part_codes, return_inverse=True)[1].reshape(-1)
    )
    lowest = np.full(int(codes.max(initial=0)) + 1, np.inf)
    np.minimum.at(lowest, codes, rates)
    # A number in [0, 1) for each record number.
    draws = (mix_bits(np.asarray(record_nos).astype(np.uint64)) >> np.uint64(11)) * 2.0**-53
    is_kept: npt.NDArray[np.bool_] = draws < lowest[codes] / rates
    return is_kept


def mix_bits(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The result looks random (splitmix64); products wrap around at 64 bits."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
