"""Parts that the sheets of a report on a period are made from, and forms that their tables share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.values import canonical, frozen, frozen_by_name, name_value, quote_names
from ...database.engine import ArrowReader
from ...domain.check import Span
from ...domain.deployment import Column, Deployment, FieldKind
from ...domain.groups import NEITHER, GroupWords, find_group_positions, list_groups
from ...domain.monitor import Monitor, MonitoredAttribute, Outcome
from ...sources.arrays.favourable_scores import (
    CodedCells,
    classify_answers,
    read_favourable_scores,
    read_stored_cells,
)
from ...sources.arrays.read_records import group_records
from ...sources.stored.window_queries import RevisionCount, WindowQuery, count_combinations, name_values
from ...statistics.group_labels import MISSING, Codes, IntArray
from ...statistics.selections.category_people import (
    AttributeCategories,
    CategoryMapping,
    Control,
    CountedPeople,
    divide_numbers,
    has_many_numbers,
)
from ...statistics.selections.lending_sheet import bound_categories
from ..document import ABSENT, Json, ReportTable, write_interval, write_number
from ..report_source import ReportSource
from .clauses import ToolKind

MAX_CATEGORIES = 100
"""Of one attribute; a column of ids has more."""


@frozen
class PeopleOrder:
    """Order to count people: attributes and controls by name. `has_chosen_attributes`: a caller named them.

    `with_scores` takes as many rows as there are different scores.
    """

    attributes: tuple[str, ...]
    controls: tuple[str, ...]
    with_scores: bool
    categories: tuple[CategoryMapping, ...]
    tool: ToolKind
    has_chosen_attributes: bool


def read_people(
    reader: ArrowReader, deployment: Deployment, monitor: Monitor, span: Span, order: PeopleOrder
) -> CountedPeople:
    """Counts the people of the period as the monitor reads them.

    Raises:
        InvalidInput: an attribute is not a column or has too many categories, or the period is too long.
    """
    schema = deployment.schema
    weights = [name for category in order.categories for name in category.weights]
    names = tuple(dict.fromkeys((*order.attributes, *order.controls, *weights)))
    columns = {}
    for name in names:
        column = schema.column(name)
        if column is None:
            raise InvalidInput("attribute", f"{name!r} is not a column of the deployment")
        columns[name] = column
    has_scores = order.with_scores and deployment.outputs.probability is not None
    query = WindowQuery(deployment.no, schema, names, with_probabilities=has_scores)
    table = count_combinations(reader, query, span)
    values = name_values(table, names)
    records = np.asarray(table["records"].to_numpy(), dtype=np.int64)
    group_words = GroupWords.of(monitor)
    watched = [attribute for attribute in monitor.attributes if attribute.feature in order.attributes]
    outcomes = classify_answers(table["outcome"], monitor.outcomes)
    scores = None
    reason = "the deployment's model answers no probability"
    if has_scores:
        column_of_scores = read_favourable_scores(
            table["probability"], table["outcome"], outcomes, monitor.outcomes
        )
        scores = column_of_scores.values
        reason = column_of_scores.reason
    return CountedPeople(
        records,
        outcomes,
        tuple(
            map_categories(
                categorise(attribute, columns[attribute.feature], values[attribute.feature], group_words),
                order.categories,
            )
            for attribute in watched
        ),
        tuple(divide_control(columns[name], values[name], records) for name in order.controls),
        scores,
        reason,
        tuple(
            bound_people(category, columns, values, records, outcomes)
            for category in order.categories
            if category.weights
        ),
    )


def bound_people(
    mapping: CategoryMapping,
    columns: Mapping[str, Column],
    values: Mapping[str, pa.ChunkedArray],
    records: IntArray,
    outcomes: Codes,
) -> Json:
    """Bounds the rates of categories by the probabilities in a mapping's columns.

    Raises:
        InvalidInput: the columns hold no probabilities.
    """
    numbers = []
    for name in mapping.weights:
        probabilities = read_stored_cells(values[name], columns[name]).floats()
        if probabilities is None:
            raise InvalidInput(
                f"categories.{mapping.attribute}", f"{name!r} holds values that are no numbers"
            )
        numbers.append(probabilities)
    has_outcome = outcomes != int(Outcome.UNCLASSIFIED)
    selected = outcomes[has_outcome] == int(Outcome.FAVOURABLE)
    return bound_categories(mapping, np.array(numbers)[:, has_outcome], records[has_outcome], selected)


def map_categories(
    attribute: AttributeCategories, mappings: Sequence[CategoryMapping]
) -> AttributeCategories:
    """Applies the attribute's mapping, if any. A value that it does not name is unknown.

    A category of values with different roles in the monitor has no role.
    """
    mapping = next(
        (mapping for mapping in mappings if mapping.values and mapping.attribute == attribute.feature), None
    )
    if mapping is None:
        return attribute
    categories = [mapping.values.get(value) for value in attribute.values]
    labels = tuple(sorted({label for label in categories if label is not None}))
    codes = np.array(
        [MISSING if name is None else labels.index(name) for name in categories] + [MISSING], dtype=np.int64
    )
    roles = []
    for label in labels:
        label_roles = {role for role, name in zip(attribute.roles, categories, strict=True) if name == label}
        roles.append(label_roles.pop() if len(label_roles) == 1 else None)
    # MISSING is -1, which reads the last code.
    return AttributeCategories(attribute.feature, labels, tuple(roles), codes[attribute.codes], labels)


def categorise(
    attribute: MonitoredAttribute, column: Column, values: pa.ChunkedArray, names: GroupWords
) -> AttributeCategories:
    """Codes an attribute's categories.

    Raises:
        InvalidInput: there are too many.
    """
    feature = attribute.feature
    roles: list[str | None]
    if column.kind is FieldKind.NUMERIC:
        grouping = group_records(attribute, column, values)
        labels = [group.label for group in grouping.groups]
        roles = [group.role for group in grouping.groups]
        codes = grouping.codes
    else:
        coded = read_stored_cells(values, column).coded()
        # An empty text is an unknown category, as in a file.
        filled = [value for value in coded.values if canonical(value).strip()]
        if len(filled) > MAX_CATEGORIES:
            raise InvalidInput(
                "attribute",
                f"{feature} has {len(filled):,} different values where at most {MAX_CATEGORIES} "
                "categories are expected",
            )
        groups = list_groups(attribute, column, filled)
        positions = dict(
            zip(map(name_value, filled), find_group_positions(groups, column, filled), strict=True)
        )
        labels = sorted(positions)
        roles = [
            None if position == NEITHER else groups[position].role
            for position in map(positions.__getitem__, labels)
        ]
        codes = code_labels(coded, labels)
    shown = tuple(names.label(feature, label) for label in labels)
    return AttributeCategories(feature, shown, tuple(roles), codes, tuple(labels))


def code_labels(coded: CodedCells, labels: Sequence[str]) -> Codes:
    """Codes each record's value by its position among the labels, or MISSING."""
    code_by_label = {label: code for code, label in enumerate(labels)}
    return coded.spread(
        (code_by_label.get(name_value(value), MISSING) for value in coded.values), missing=MISSING
    )


def divide_control(column: Column, values: pa.ChunkedArray, records: IntArray) -> Control:
    """Divides the records by the values of a control; numbers with many values are cut into fifths."""
    cells = read_stored_cells(values, column)
    numbers = cells.floats() if column.kind is FieldKind.NUMERIC else None
    if numbers is not None and has_many_numbers(numbers):
        return divide_numbers(column.name, numbers, records)
    coded = cells.coded()
    labels = tuple(sorted(set(map(name_value, coded.values))))
    return Control(column.name, labels, code_labels(coded, labels))


def choose_attributes(monitor: Monitor, names: Sequence[str]) -> tuple[str, ...]:
    """Chooses attributes, in the monitor's order; all without names. No law asks for groups by a rule.

    Raises:
        InvalidInput: one is not watched.
    """
    watched = tuple(attribute.feature for attribute in monitor.attributes if attribute.rule is None)
    for name in names:
        if name not in watched:
            raise InvalidInput(
                "attribute",
                f"{name!r} is no column that the monitor watches, which watches {quote_names(watched)}",
            )
    return tuple(name for name in watched if not names or name in names)


MAX_ROWS = 60
"""Of a table for people; CSV and JSON have all."""


@frozen_by_name
class SheetParts:
    """Data that sheets are made from; `logged` are all records, `no_counts` why people cannot be counted."""

    session: Session
    reader: ArrowReader
    monitor: Monitor
    order: PeopleOrder
    people: CountedPeople
    source: ReportSource
    logged: Sequence[RevisionCount]
    no_counts: str | None


def say_cut(rows: Sequence[Any]) -> str:
    """Says that a table does not have all rows; empty if it has."""
    if len(rows) <= MAX_ROWS:
        return ""
    return f" The first {MAX_ROWS} of {len(rows):,} rows; CSV and JSON have all."


def cut_table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str = "",
    *,
    is_last_wide: bool = False,
) -> ReportTable:
    note = f"{note}{say_cut(rows)}".strip()
    return ReportTable(caption, columns, rows[:MAX_ROWS], note or None, is_last_wide)


def write_ends_or_dash(low: float | None, high: float | None) -> str:
    return ABSENT if low is None and high is None else write_interval(low, high)


def append_ends(figure: str, ends: str) -> str:
    return figure if ends == ABSENT else f"{figure} ({ends})"


def write_number_and_ends(value: float | None, low: float | None, high: float | None) -> str:
    return append_ends(write_number(value), write_ends_or_dash(low, high))
