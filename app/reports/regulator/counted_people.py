"""People of a period by category, and how strongly each logged column goes with them, from counts of the log.

A category is a value of a categorical attribute, watched or not, or a monitor's group of a numeric one. A
postcode can carry a difference although the model never sees the attribute. Strengths are corrected for
chance.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ...base.errors import InvalidInput
from ...base.frozen import frozen
from ...base.values import canonical, name_value, quote_names
from ...database.engine import ArrowReader
from ...deployments.training.training_facts import RECOMMENDED_ABOVE
from ...domain.check import Span
from ...domain.deployment import Column, Deployment, FieldKind
from ...domain.groups import NEITHER, GroupWords, list_groups, positions
from ...domain.monitor import Monitor, MonitoredAttribute, Outcome
from ...sources.arrays.association import Strength
from ...sources.arrays.column_cells import outcome_codes, stored_cells
from ...sources.arrays.favourable_scores import favourable_scores
from ...sources.arrays.group_of_records import group_records
from ...sources.arrays.strengths import associate
from ...sources.stored.period_counts import count_combinations, sample_period
from ...sources.stored.window_queries import WindowQuery, name_values
from ...statistics.figure_values import Undefined
from ...statistics.group_labels import MISSING, Codes, FloatArray, IntArray
from ...statistics.selections.category_people import (
    AttributeCategories,
    Control,
    CountedPeople,
    divide_numbers,
    has_many_numbers,
)
from ...statistics.selections.category_schemes import CategoryMapping
from ...statistics.selections.probability_bounds import bound_categories
from ..document import Json

MOST_CATEGORIES = 100
"""Max categories of one attribute; a column of ids has more."""

MOST_CELLS = 2_000_000
"""Max values read: records times columns."""

MOST_VALUES = 1_000
"""Max different values of a compared column; one of ids has more."""

NO_RECORDS = "no record of the period has the present schema"
ALL_ATTRIBUTES = "the deployment has no column but the attributes of the report"
TOO_MANY_VALUES = "it has {found:,} different values where at most {most:,} are compared"


@frozen
class PeopleWanted:
    """Attributes and controls by name. Scores take as many rows as there are different ones."""

    attributes: tuple[str, ...]
    controls: tuple[str, ...]
    with_scores: bool
    categories: tuple[CategoryMapping, ...]


def read_people(
    reader: ArrowReader, deployment: Deployment, monitor: Monitor, span: Span, chosen: PeopleWanted
) -> CountedPeople:
    """Counts the people of the period as the monitor reads them.

    Raises:
        InvalidInput: an attribute is not a column or has too many categories, or the period is too long.
    """
    schema = deployment.schema
    weights = [name for category in chosen.categories for name in category.weights]
    names = tuple(dict.fromkeys((*chosen.attributes, *chosen.controls, *weights)))
    columns = {}
    for name in names:
        column = schema.column(name)
        if column is None:
            raise InvalidInput.of("attribute", f"{name!r} is not a column of the deployment")
        columns[name] = column
    has_scores = chosen.with_scores and deployment.outputs.probability is not None
    query = WindowQuery(deployment.no, schema, names, with_probabilities=has_scores)
    table = count_combinations(reader, query, span)
    values = name_values(table, names)
    records = np.asarray(table["records"].to_numpy(), dtype=np.int64)
    display = GroupWords.of(monitor)
    watched = [attribute for attribute in monitor.attributes if attribute.feature in chosen.attributes]
    outcomes = outcome_codes(table["outcome"], monitor.outcomes)
    scores, reason = None, "the deployment's model answers no probability"
    if has_scores:
        read = favourable_scores(table["probability"], table["outcome"], outcomes, monitor.outcomes)
        scores, reason = read.values, read.reason
    return CountedPeople(
        records,
        outcomes,
        tuple(
            map_categories(
                categorise(attribute, columns[attribute.feature], values[attribute.feature], display),
                chosen.categories,
            )
            for attribute in watched
        ),
        tuple(divide_control(columns[name], values[name], records) for name in chosen.controls),
        scores,
        reason,
        tuple(
            bound_people(category, columns, values, records, outcomes)
            for category in chosen.categories
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
    """Bounds of the categories of people with an outcome, by the probabilities in a mapping's columns.

    Raises:
        InvalidInput: the columns hold no probabilities.
    """
    numbers = []
    for name in mapping.weights:
        probabilities = stored_cells(values[name], columns[name]).floats()
        if probabilities is None:
            raise InvalidInput.of(
                f"categories.{mapping.attribute}", f"{name!r} holds values that are no numbers"
            )
        numbers.append(probabilities)
    assessed = outcomes != int(Outcome.UNCLASSIFIED)
    selected = outcomes[assessed] == int(Outcome.FAVOURABLE)
    return bound_categories(mapping, np.array(numbers)[:, assessed], records[assessed], selected)


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
    named = [mapping.values.get(value) for value in attribute.values]
    labels = tuple(sorted({label for label in named if label is not None}))
    codes = np.array(
        [MISSING if name is None else labels.index(name) for name in named] + [MISSING], dtype=np.int64
    )
    roles = []
    for label in labels:
        of_label = {role for role, name in zip(attribute.roles, named, strict=True) if name == label}
        roles.append(of_label.pop() if len(of_label) == 1 else None)
    # MISSING is -1, and so the place at the end.
    return AttributeCategories(attribute.feature, labels, tuple(roles), codes[attribute.codes], labels)


def categorise(
    attribute: MonitoredAttribute, column: Column, values: pa.ChunkedArray, names: GroupWords
) -> AttributeCategories:
    """Codes an attribute's categories.

    Raises:
        InvalidInput: there are too many.
    """
    feature = attribute.feature
    if column.kind is FieldKind.NUMERIC:
        grouping = group_records(attribute, column, values)
        labels = [names.label(feature, group.label) for group in grouping.groups]
        group_labels = tuple(group.label for group in grouping.groups)
        return AttributeCategories(
            feature,
            tuple(labels),
            tuple(group.role for group in grouping.groups),
            grouping.codes,
            group_labels,
        )
    coded = stored_cells(values, column).coded()
    # An empty text is an unknown category, as in a file.
    filled = [value for value in coded.values if canonical(value).strip()]
    if len(filled) > MOST_CATEGORIES:
        message = (
            f"{feature} has {len(filled):,} different values where at most {MOST_CATEGORIES} "
            "categories are expected"
        )
        raise InvalidInput.of("attribute", message)
    groups = list_groups(attribute, column, filled)
    roles = dict(zip(map(name_value, filled), positions(groups, column, filled), strict=True))
    labels = sorted(roles)
    code_of = {label: no for no, label in enumerate(labels)}
    codes = coded.spread((code_of.get(name_value(value), MISSING) for value in coded.values), missing=MISSING)
    of_group = tuple(None if roles[label] == NEITHER else groups[roles[label]].role for label in labels)
    return AttributeCategories(
        feature, tuple(names.label(feature, label) for label in labels), of_group, codes, tuple(labels)
    )


def divide_control(column: Column, values: pa.ChunkedArray, records: IntArray) -> Control:
    """Values of a control; a number with many is cut into fifths."""
    cells = stored_cells(values, column)
    numbers = cells.floats() if column.kind is FieldKind.NUMERIC else None
    if numbers is not None and has_many_numbers(numbers):
        return divide_numbers(column.name, numbers, records)
    coded = cells.coded()
    texts = [name_value(value) for value in coded.values]
    labels = tuple(sorted(set(texts)))
    code_of = {label: no for no, label in enumerate(labels)}
    return Control(column.name, labels, coded.spread((code_of[text] for text in texts), missing=MISSING))


def choose_attributes(monitor: Monitor, names: Sequence[str]) -> tuple[str, ...]:
    """Attributes in the monitor's order; all without names. No rule asks for groups by a rule.

    Raises:
        InvalidInput: one is not watched.
    """
    watched = tuple(attribute.feature for attribute in monitor.attributes if attribute.rule is None)
    for name in names:
        if name not in watched:
            raise InvalidInput.of(
                "attribute",
                f"{name!r} is no column that the monitor watches, which watches {quote_names(watched)}",
            )
    return tuple(name for name in watched if not names or name in names)


@frozen
class ComparedColumn:
    """Places of a column's categories, or numbers, or why it is not compared."""

    column: Column
    values: Codes | FloatArray | Undefined
    is_sent: bool


def indirect_sheet(
    reader: ArrowReader,
    deployment: Deployment,
    monitor: Monitor,
    span: Span,
    attributes: Sequence[str],
    *,
    records: int,
    categories: Sequence[CategoryMapping],
) -> Json:
    """Strengths by attribute, strongest first.

    `records` is the period's number; of more than `MOST_CELLS` values an even part of the records is read.
    """
    schema = deployment.schema
    columns = [column for column in (*schema.features, *schema.meta) if column.name not in attributes]
    names = (*attributes, *(column.name for column in columns))
    if not columns or not records:
        return {"records": 0, "one_in": 1, "tables": [], "reason": ALL_ATTRIBUTES if records else NO_RECORDS}
    one_in = max(1, -(-records * len(names) // MOST_CELLS))
    table = sample_period(reader, WindowQuery(deployment.no, schema, names), span, one_in=one_in)
    values = name_values(table, names)
    sent = {feature.name for feature in schema.features}
    compared = [read_column(column, values[column.name], is_sent=column.name in sent) for column in columns]
    outcomes = outcome_codes(table["outcome"], monitor.outcomes)
    # With outcomes of neither list missing, the others are the places 0 and 1.
    selected = np.where(
        outcomes == int(Outcome.UNCLASSIFIED), MISSING, outcomes == int(Outcome.FAVOURABLE)
    ).astype(np.int64)
    with_outcome = {column.column.name: measure(column, selected) for column in compared}
    tables = []
    for watched in (attribute for attribute in monitor.attributes if attribute.feature in attributes):
        column = next(column for column in (*schema.features, *schema.meta) if column.name == watched.feature)
        attribute = map_categories(
            categorise(watched, column, values[watched.feature], GroupWords.of(monitor)), categories
        )
        rows = list(list_strengths(compared, attribute.codes, with_outcome))
        rows.sort(key=lambda row: (1.0 if row["strength"] is None else -row["strength"], row["column"]))
        tables.append({"attribute": watched.feature, "rows": rows})
    return {
        "records": table.num_rows,
        "one_in": one_in,
        "limit": RECOMMENDED_ABOVE,
        "tables": tables,
        "reason": None,
    }


def read_column(column: Column, values: pa.ChunkedArray, *, is_sent: bool) -> ComparedColumn:
    cells = stored_cells(values, column)
    numbers = cells.floats() if column.kind is FieldKind.NUMERIC else None
    if numbers is not None:
        return ComparedColumn(column, numbers, is_sent)
    coded = cells.coded()
    if len(coded.values) > MOST_VALUES:
        return ComparedColumn(
            column, Undefined(TOO_MANY_VALUES.format(found=len(coded.values), most=MOST_VALUES), 0), is_sent
        )
    return ComparedColumn(column, coded.codes, is_sent)


def measure(column: ComparedColumn, codes: Codes) -> Strength | Undefined:
    return (
        column.values if isinstance(column.values, Undefined) else associate(codes, column.values).strength()
    )


def list_strengths(
    compared: Sequence[ComparedColumn], codes: Codes, with_outcome: Mapping[str, Strength | Undefined]
) -> Iterator[Json]:
    """Yields each column's association with `codes`; `reveals` if it is above 0.1 and above chance."""
    for column in compared:
        row: Json = {"column": column.column.name, "sent_to_model": column.is_sent}
        strength, outcome = measure(column, codes), with_outcome[column.column.name]
        if isinstance(strength, Undefined):
            row |= {"strength": None, "chance_level": None, "reveals": None, "reason": strength.reason}
        else:
            reveals = strength.corrected > max(RECOMMENDED_ABOVE, strength.chance_level)
            row |= {
                "strength": strength.corrected,
                "chance_level": strength.chance_level,
                "reveals": reveals,
                "reason": None,
            }
        row["outcome_strength"] = None if isinstance(outcome, Undefined) else outcome.corrected
        row["outcome_chance_level"] = None if isinstance(outcome, Undefined) else outcome.chance_level
        yield row
