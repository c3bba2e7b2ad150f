"""Count tables for the monitor as it is now, from the distributions of an upload that show them exactly."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

import numpy as np

from ...base.errors import FieldProblem, InvalidInput, refuse
from ...base.values import (
    GroupValue,
    Range,
    canonical,
    character_problem,
    frozen,
    join_first,
    name_value,
    read_number,
    spelled,
)
from ...domain.deployment import Column, Deployment, ProblemType, RecordSchema, find_stored_form_problem
from ...domain.groups import NEITHER, Group, combine_groups, find_group_positions, list_groups
from ...domain.monitor import Comparison, Monitor, MonitoredAttribute, Outcome, OutcomeRule
from ...domain.monitor_rules import fits_type
from ...domain.ruled_attributes import find_number_problem
from ...statistics.group_labels import build_groups, cross_codes
from ...statistics.tables.count_table import GroupCounts
from ...statistics.tables.strata_counts import MAX_STRATA, PlacedCells, Strata, Weighting, sum_cells
from .queries import (
    MAX_DISTRIBUTION_COLUMNS,
    MAX_RECORD_COUNT,
    MAX_REPORTED_PROBLEMS,
    MAX_VALUE_CHARACTERS,
    Cell,
    Distribution,
    TrainingData,
    TrainingForm,
    TrainingSummary,
    build_counting_basis,
    list_compared_attributes,
)
from .typed_column import is_quantity

MIN_SHOWN_RECORDS = 5
"""Records that a value, or a label, must have to be shown to roles that see figures only."""

OTHER_VALUES = "other"
"""Replaces values that fewer than `MIN_SHOWN_RECORDS` records have."""

MAX_EXAMPLES = 5
_MAX_SHOWN_CHARACTERS = 50


class InexactDistribution(Exception):
    """Raised where a distribution is too coarse for a count table; the message says why."""


def build_table(
    distribution: Distribution,
    attributes: Sequence[MonitoredAttribute],
    monitor: Monitor,
    schema: RecordSchema,
    *,
    strata: str | None,
) -> GroupCounts:
    """Raises InexactDistribution if the distribution is too coarse, or groups cannot be made."""
    groups = [_make_groups(attribute, schema, distribution) for attribute in attributes]
    features = [attribute.feature for attribute in attributes]
    try:
        named_groups = combine_groups(
            features,
            [[(group.label, group.role) for group in attribute_groups] for attribute_groups in groups],
        )
    except InvalidInput as error:
        raise InexactDistribution(str(error)) from error
    codes_by_attribute = []
    for feature, attribute_groups in zip(features, groups, strict=True):
        values = _list_values(distribution, feature)
        members = [group.value for group in attribute_groups]
        scalars = [value for value in values if value is not None and not isinstance(value, Range)]
        group_positions = find_group_positions(attribute_groups, _find_column(schema, feature), scalars)
        codes = np.full(len(values), NEITHER, dtype=np.int64)
        for cell, value in enumerate(values):
            if value is not None:
                codes[cell] = (
                    _place_interval(value, members, feature)
                    if isinstance(value, Range)
                    else next(group_positions)
                )
        codes_by_attribute.append(codes)
    cells = distribution.cells
    positions_of_cells = cross_codes(
        codes_by_attribute, [len(attribute_groups) for attribute_groups in groups]
    )
    outcomes = np.array([classify_cell_label(cell.label, monitor.outcomes) for cell in cells], dtype=np.int64)
    weighting = None
    if any(cell.weight is not None for cell in cells):
        weighting = Weighting(
            np.array([cell.weight or 0.0 for cell in cells]),
            np.array([cell.squares or 0.0 for cell in cells]),
        )
    placed_cells = PlacedCells(
        np.array([cell.records for cell in cells], dtype=np.int64), weighting, (positions_of_cells, outcomes)
    )
    strata_table = (
        None if strata is None else _divide_into_strata(distribution, strata, placed_cells, len(named_groups))
    )
    return GroupCounts(
        build_groups(named_groups), *sum_cells([placed_cells], (len(named_groups) + 1, 3)), strata_table
    )


def _divide_into_strata(distribution: Distribution, column: str, cells: PlacedCells, groups: int) -> Strata:
    values = _list_values(distribution, column)
    labels = dict.fromkeys(name_value(value) for value in values if value is not None)
    if len(labels) > MAX_STRATA:
        raise InexactDistribution(
            f"{column}, whose values are the strata, has more than {MAX_STRATA:,} different values"
        )
    position_by_label = {label: position for position, label in enumerate(labels)}
    stratum = np.array(
        [NEITHER if value is None else position_by_label[name_value(value)] for value in values],
        dtype=np.int64,
    )
    group, outcomes = cells.places
    mask = (stratum != NEITHER) & (group != NEITHER) & (outcomes != int(Outcome.UNCLASSIFIED))
    weighting = cells.weighting and cells.weighting.apply(lambda sums: sums[mask])
    inside = PlacedCells(cells.counts[mask], weighting, (stratum[mask], group[mask], outcomes[mask]))
    return Strata(tuple(labels), *sum_cells([inside], (len(labels), groups, 2)))


def _find_column(schema: RecordSchema, name: str) -> Column:
    column = schema.column(name)
    if column is None:
        raise InexactDistribution(f"the deployment's schema has no column {name} any more")
    return column


def _list_values(distribution: Distribution, column: str) -> list[GroupValue | None]:
    position = distribution.columns.index(column)
    return [cell.values[position] for cell in distribution.cells]


def _make_groups(
    attribute: MonitoredAttribute, schema: RecordSchema, distribution: Distribution
) -> tuple[Group, ...]:
    column = _find_column(schema, attribute.feature)
    values = _list_values(distribution, attribute.feature)
    if attribute.reference is None and any(isinstance(value, Range) for value in values):
        raise InexactDistribution(
            f"the reference values of {attribute.feature} were left out, and its values are counted in "
            "intervals"
        )
    distinct = {
        canonical(value): value for value in values if value is not None and not isinstance(value, Range)
    }
    return list_groups(attribute, column, distinct.values())


def classify_cell_label(label: GroupValue | None, rule: OutcomeRule) -> Outcome:
    """Raises InexactDistribution of an interval that lies in an outcome only in part."""
    if not isinstance(label, Range):
        return rule.classify(label)
    for outcome, members in (
        (Outcome.FAVOURABLE, rule.favourable),
        (Outcome.UNFAVOURABLE, rule.unfavourable),
    ):
        if _place_interval(label, members, "the label") != NEITHER:
            return outcome
    return Outcome.UNCLASSIFIED


def find_bounds(member: GroupValue) -> Range | None:
    if isinstance(member, Range):
        return member
    number = read_number(member)
    return None if number is None else Range(number, number)


def _place_interval(interval: Range, members: Sequence[GroupValue], name: str) -> int:
    for position, member in enumerate(members):
        bounds = find_bounds(member)
        if bounds is None or not bounds.overlaps(interval):
            continue
        if bounds.lo <= interval.lo and interval.hi <= bounds.hi:
            return position
        raise InexactDistribution(
            f"the values of {name} are counted in intervals, and {interval.label} lies in "
            f"{name_value(member)} only in part"
        )
    return NEITHER


@frozen
class UnclassifiedLabels:
    """Records whose label is in neither outcome list, and the most frequent such labels."""

    records: int
    examples: tuple[GroupValue, ...]


def merge_rare(distribution: Distribution) -> Distribution:
    """Joins values of fewer than `MIN_SHOWN_RECORDS` records, and labels of fewer: they may show a person."""
    records_by_values = Counter[tuple[GroupValue | None, ...]]()
    records_by_label = Counter[GroupValue | None]()
    for cell in distribution.cells:
        records_by_values[cell.values] += cell.records
        records_by_label[cell.label] += cell.records
    records = Counter[Cell]()
    weights = defaultdict[Cell, float](float)
    for cell in distribution.cells:
        values = (
            cell.values
            if records_by_values[cell.values] >= MIN_SHOWN_RECORDS
            else tuple(OTHER_VALUES for _ in cell.values)
        )
        label = (
            cell.label
            if cell.label is None or records_by_label[cell.label] >= MIN_SHOWN_RECORDS
            else OTHER_VALUES
        )
        merged = Cell(values, label, 0)
        records[merged] += cell.records
        weights[merged] += cell.weight or 0
    cells = [cell._replace(records=count, weight=weights[cell] or None) for cell, count in records.items()]
    return replace(distribution, cells=tuple(cells))


def find_unclassified(
    labels: Distribution, rule: OutcomeRule, *, min_records: int = 1
) -> UnclassifiedLabels | None:
    """Finds labels in neither outcome list; None if intervals of labels are only in part within an outcome.

    Examples have at least `min_records` records.
    """
    try:
        unlisted = [
            cell
            for cell in _list_labelled(labels)
            if classify_cell_label(cell.label, rule) is Outcome.UNCLASSIFIED
        ]
    except InexactDistribution:
        return None
    unlisted.sort(key=lambda cell: -cell.records)
    examples = tuple(
        cell.label
        for cell in unlisted[:MAX_EXAMPLES]
        if cell.label is not None and cell.records >= min_records
    )
    return UnclassifiedLabels(sum(cell.records for cell in unlisted), examples)


def require_outcomes(labels: Distribution, monitor: Monitor | None) -> None:
    unlisted = None if monitor is None else find_unclassified(labels, monitor.outcomes)
    if (
        monitor is None
        or unlisted is None
        or unlisted.records < sum(cell.records for cell in _list_labelled(labels))
    ):
        return
    rule = monitor.outcomes
    raise InvalidInput(
        "label",
        f"no label is among the monitor's outcomes: found {_join_values(unlisted.examples) or 'none'}; "
        f"favourable are {_join_values(rule.favourable)}, unfavourable {_join_values(rule.unfavourable)}",
    )


def _list_labelled(labels: Distribution) -> list[Cell]:
    return [cell for cell in labels.cells if cell.label is not None]


def _join_values(values: tuple[GroupValue, ...]) -> str:
    return join_first((f"{spelled(value):.{_MAX_SHOWN_CHARACTERS}}" for value in values), MAX_EXAMPLES)


UPLOAD_AGAIN = "upload the training data again"
NO_STRATA = "the monitor names no strata, within which it compares"


@frozen
class PresentTable:
    """Count table of labels for a comparison of the monitor as it is now; without one, `reason` says why.

    `no_strata` says why a table has no strata.
    """

    comparison: Comparison
    table: GroupCounts | None
    reason: str = ""
    no_strata: str = NO_STRATA


def build_present_tables(data: TrainingData, monitor: Monitor, schema: RecordSchema) -> list[PresentTable]:
    """Builds a table for each comparison of the monitor.

    A table counted from rows under the same outcomes, groups and strata is used as it is; any other is made
    from the distributions, if they show it exactly.
    """
    tables = []
    for attributes in list_compared_attributes(monitor):
        needed = build_counting_basis(monitor, attributes)
        counted_table = next(
            (table for table in data.tables if replace(table.counted_by, strata=needed.strata) == needed),
            None,
        )
        if counted_table is not None and counted_table.counted_by.strata == needed.strata:
            if counted_table.cells is None:
                tables.append(PresentTable(needed.comparison, None, counted_table.reason or ""))
            else:
                table = GroupCounts.from_json(counted_table.cells)
                tables.append(
                    PresentTable(needed.comparison, table, no_strata=counted_table.reason or NO_STRATA)
                )
            continue
        present_table = _make_table(data, monitor, schema, attributes)
        if present_table.table is None or (present_table.table.strata is None and needed.strata is not None):
            no_strata = (
                NO_STRATA
                if needed.strata is None
                else f"the labels were not counted within the values of {needed.strata}; {UPLOAD_AGAIN}"
            )
            present_table = replace(present_table, no_strata=no_strata)
            if counted_table is not None and counted_table.cells is not None:
                table = replace(GroupCounts.from_json(counted_table.cells), strata=None)
                present_table = PresentTable(needed.comparison, table, no_strata=no_strata)
        tables.append(present_table)
    return tables


def _make_table(
    data: TrainingData, monitor: Monitor, schema: RecordSchema, attributes: tuple[MonitoredAttribute, ...]
) -> PresentTable:
    comparison = Comparison(tuple(attribute.feature for attribute in attributes))
    reason = f"how the labels fall between the groups of {comparison.label} was not counted; {UPLOAD_AGAIN}"
    for strata in dict.fromkeys([monitor.strata, None]):
        needed = {*comparison.features, *filter(None, [strata])}
        for distribution in data.distributions:
            if distribution.cells and needed <= set(distribution.columns):
                try:
                    return PresentTable(
                        comparison, build_table(distribution, attributes, monitor, schema, strata=strata)
                    )
                except InexactDistribution as error:
                    reason = f"{error}; {UPLOAD_AGAIN}"
    return PresentTable(comparison, None, reason)


def process_distributions(
    distributions: Sequence[Distribution],
    *,
    deployment: Deployment,
    label: str,
    received_at: datetime,
    monitor: Monitor | None = None,
) -> TrainingData:
    """Raises InvalidInput with its problems."""
    problems = (
        problem
        for number, distribution in enumerate(distributions)
        for problem in _find_problems(f"distributions[{number}]", distribution, deployment)
    )
    refuse(list(islice(problems, MAX_REPORTED_PROBLEMS)))
    refuse(list(islice(_find_contradictions(distributions), MAX_REPORTED_PROBLEMS)))
    counts = _count_labels(distributions[0])
    labels_by_text = {_name_label(cell): cell.label for cell in distributions[0].cells}
    labels = Distribution((), tuple(Cell((), label, counts[text]) for text, label in labels_by_text.items()))
    require_outcomes(labels, monitor)
    schema = deployment.schema
    column_names = {name for distribution in distributions for name in distribution.columns}
    summary = TrainingSummary(
        form=TrainingForm.DISTRIBUTION,
        label=label,
        weight=None,
        records=counts.total(),
        schema_version=schema.version,
        labels=labels,
        absent=tuple(column.name for column in schema.columns if column.name not in column_names),
        processed_at=received_at,
        processing_seconds=0.0,
    )
    return TrainingData(summary, tuple(distributions), ())


def _find_problems(path: str, distribution: Distribution, deployment: Deployment) -> Iterator[FieldProblem]:
    columns = [deployment.schema.column(name) for name in distribution.columns]
    known_columns = [column for column in columns if column is not None]
    for position, (name, column) in enumerate(zip(distribution.columns, columns, strict=True)):
        if column is None:
            yield FieldProblem(
                f"{path}.columns[{position}]",
                f"{name!r:.210} is neither a feature nor a meta field of the deployment",
            )
    if len(set(distribution.columns)) < len(distribution.columns):
        yield FieldProblem(f"{path}.columns", "names a column twice")
    if not 1 <= len(distribution.columns) <= MAX_DISTRIBUTION_COLUMNS:
        yield FieldProblem(
            f"{path}.columns",
            f"must name 1 to {MAX_DISTRIBUTION_COLUMNS} columns, found {len(distribution.columns)}",
        )
    if len(known_columns) < len(columns):
        return
    first_numbers: dict[tuple[object, ...], int] = {}
    for number, cell in enumerate(distribution.cells):
        field = f"{path}.counts[{number}]"
        yield from _find_cell_problems(field, cell, known_columns, deployment.problem_type)
        first = first_numbers.setdefault(
            tuple(None if value is None else name_value(value) for value in (*cell.values, cell.label)),
            number,
        )
        if first != number:
            yield FieldProblem(field, f"is of the same values and label as counts[{first}]")


def _find_cell_problems(
    path: str, cell: Cell, columns: Sequence[Column], problem_type: ProblemType
) -> Iterator[FieldProblem]:
    if len(cell.values) != len(columns):
        yield FieldProblem(
            f"{path}.values",
            f"must hold one value for each of the {len(columns)} columns, found {len(cell.values)}",
        )
        return
    for position, (value, column) in enumerate(zip(cell.values, columns, strict=True)):
        problem = None if value is None else _find_value_problem(value, column)
        if problem:
            yield FieldProblem(f"{path}.values[{position}]", problem)

    problem = None if cell.label is None else _find_bounds_problem(cell.label)
    if isinstance(cell.label, Range) and problem_type is not ProblemType.REGRESSION:
        problem = "must be a class label, not a range"
    elif isinstance(cell.label, str | bool) and problem_type is ProblemType.REGRESSION:
        problem = "must be a number or a range [lo, hi]"
    if problem:
        yield FieldProblem(f"{path}.label", problem)


def _find_value_problem(value: GroupValue, column: Column) -> str | None:
    if isinstance(value, Range):
        return (
            _find_bounds_problem(value)
            if is_quantity(column)
            else f"{column.name!r} is categorical; ranges are for numeric columns only"
        )
    if not fits_type(value, column):
        return (
            f"must be of the type {column.type.value} like the column {column.name!r}, found {value!r:.100}"
        )
    return find_stored_form_problem(value, column) or _find_bounds_problem(value)


def _find_bounds_problem(value: GroupValue) -> str | None:
    if isinstance(value, Range):
        if not (math.isfinite(value.lo) and math.isfinite(value.hi)):
            return "the ends of a range must be finite numbers"
        return "lo is above hi" if value.lo > value.hi else None
    if isinstance(value, str):
        return character_problem(value) or (
            f"must have at most {MAX_VALUE_CHARACTERS} characters"
            if len(value) > MAX_VALUE_CHARACTERS
            else None
        )
    return find_number_problem(value)


def _find_contradictions(distributions: Sequence[Distribution]) -> Iterator[FieldProblem]:
    expected = _count_labels(distributions[0])
    if not 1 <= expected.total() <= MAX_RECORD_COUNT:
        message = f"must count 1 to {MAX_RECORD_COUNT:,} records together, found {expected.total():,}"
        yield FieldProblem("distributions[0].counts", message)
    for number, distribution in enumerate(distributions[1:], 1):
        counts = _count_labels(distribution)
        for label in dict.fromkeys([*expected, *counts]):
            if counts[label] != expected[label]:
                which = "without a label" if label is None else f"of the label {label!r}"
                yield FieldProblem(
                    f"distributions[{number}].counts",
                    f"has {counts[label]:,} records {which}, but distributions[0] has {expected[label]:,}: "
                    "both must count all records",
                )


def _name_label(cell: Cell) -> str | None:
    return None if cell.label is None else name_value(cell.label)


def _count_labels(distribution: Distribution) -> "Counter[str | None]":
    counts = Counter[str | None]()
    for cell in distribution.cells:
        counts[_name_label(cell)] += cell.records
    return counts
