"""Indirect bias: how strongly each logged column goes with each attribute, and with the outcome.

A postcode can carry a difference although the model never sees the attribute. Strengths are corrected for chance.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from ...domain.category_schemes import CategoryMapping
from ...domain.checks import Span
from ...domain.deployments import Column, Deployment, FieldKind
from ...domain.group_words import GroupWords
from ...domain.monitors import Monitor
from ...domain.outcomes import Outcome
from ...domain.training_data import RECOMMENDED_ABOVE
from ...frozen import frozen
from ...metrics.groups import FloatArray
from ...metrics.values import Undefined
from ...records.association import Strength
from ...records.cells import MISSING, Codes, stored_cells
from ...records.outcomes import outcome_codes
from ...records.strengths import associate
from ...store.database.arrow import ArrowReader
from ...store.records.period_counts import sample_period
from ...store.records.window import WindowQuery, name_values
from .people import categorise, map_categories

Json: TypeAlias = dict[str, Any]

MOST_CELLS: Final = 2_000_000
"""Max values read: records times columns."""

MOST_VALUES: Final = 1_000
"""Max different values of a compared column; one of ids has more."""

NO_RECORDS = "no record of the period has the present schema"
ALL_ATTRIBUTES = "the deployment has no column but the attributes of the report"
TOO_MANY_VALUES = "it has {found:,} different values where at most {most:,} are compared"


@frozen
class ComparedColumn:
    """Places of a column's categories, or numbers; None where `reason` says why it is not compared."""

    column: Column
    values: Codes | FloatArray | None
    is_sent: bool
    reason: str | None = None


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
    others = [one for one in (*schema.features, *schema.meta) if one.name not in attributes]
    names = (*attributes, *(one.name for one in others))
    if not others or not records:
        return {"records": 0, "one_in": 1, "tables": [], "reason": ALL_ATTRIBUTES if records else NO_RECORDS}
    one_in = max(1, -(-records * len(names) // MOST_CELLS))
    table = sample_period(reader, WindowQuery(deployment.no, schema, names), span, one_in=one_in)
    values = name_values(table, names)
    sent = {one.name for one in schema.features}
    compared = [read_column(one, values[one.name], is_sent=one.name in sent) for one in others]
    outcomes = outcome_codes(table["outcome"], monitor.outcomes)
    # With outcomes of neither list missing, the others are the places 0 and 1.
    selected = np.where(outcomes == int(Outcome.UNCLASSIFIED), MISSING, outcomes == int(Outcome.FAVOURABLE)).astype(np.int64)
    with_outcome = {one.column.name: measure(one, selected) for one in compared}
    tables = []
    for watched in (one for one in monitor.attributes if one.feature in attributes):
        column = next(one for one in (*schema.features, *schema.meta) if one.name == watched.feature)
        attribute = map_categories(categorise(watched, column, values[watched.feature], GroupWords.of(monitor)), categories)
        rows = list(list_strengths(compared, attribute.codes, with_outcome))
        rows.sort(key=lambda row: (1.0 if row["strength"] is None else -row["strength"], row["column"]))
        tables.append({"attribute": watched.feature, "rows": rows})
    return {"records": table.num_rows, "one_in": one_in, "limit": RECOMMENDED_ABOVE, "tables": tables, "reason": None}


def read_column(column: Column, values: pa.ChunkedArray, *, is_sent: bool) -> ComparedColumn:
    cells = stored_cells(values, column)
    numbers = cells.floats() if column.kind is FieldKind.NUMERIC else None
    if numbers is not None:
        return ComparedColumn(column, numbers, is_sent)
    coded = cells.coded()
    if len(coded.values) > MOST_VALUES:
        return ComparedColumn(column, None, is_sent, TOO_MANY_VALUES.format(found=len(coded.values), most=MOST_VALUES))
    return ComparedColumn(column, coded.codes, is_sent)


def measure(one: ComparedColumn, codes: Codes) -> Strength | Undefined:
    return Undefined(one.reason or "", 0) if one.values is None else associate(codes, one.values).strength()


def list_strengths(compared: Sequence[ComparedColumn], codes: Codes, with_outcome: Mapping[str, Strength | Undefined]) -> Iterator[Json]:
    """Yields each column's association with `codes`; `reveals` if it is above 0.1 and above chance."""
    for one in compared:
        row: Json = {"column": one.column.name, "sent_to_model": one.is_sent}
        found, outcome = measure(one, codes), with_outcome[one.column.name]
        if isinstance(found, Undefined):
            row |= {"strength": None, "chance_level": None, "reveals": None, "reason": found.reason}
        else:
            reveals = found.corrected > max(RECOMMENDED_ABOVE, found.chance_level)
            row |= {"strength": found.corrected, "chance_level": found.chance_level, "reveals": reveals, "reason": None}
        row["outcome_strength"] = None if isinstance(outcome, Undefined) else outcome.corrected
        row["outcome_chance_level"] = None if isinstance(outcome, Undefined) else outcome.chance_level
        yield row
