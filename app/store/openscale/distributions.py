"""Numbers of records by the values of some of their fields, and figures of other fields in each of these groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from .record_searches import RecordField, RecordSearch, SearchedTable, json_of, search_statement

FUNCTIONS: Mapping[str, str] = {"sum": "sum", "min": "min", "max": "max", "avg": "avg", "stddev": "stddev_pop"}
"""Aggregations of numbers, and their names in SQL."""


@dataclass(frozen=True, slots=True)
class FieldFigure:
    """A function of the numbers of a field."""

    field: RecordField
    function: str


def count_groups(
    session: Session,
    table: SearchedTable,
    deployment_no: int,
    wanted: RecordSearch,
    *,
    fields: Sequence[RecordField],
    figures: Sequence[FieldFigure],
    limit: int,
) -> list[list[Any]]:
    """Returns a row for each group of records with equal values: these values, the number of records, and the figures. Largest first.

    Figures are of those values that are numbers; None where there is none.
    """
    statement = search_statement(table, deployment_no, wanted)
    # A value that is null and one that is absent are one group.
    grouped = [f"nullif({json_of(table, field, f'group_{no}', statement)}, 'null')" for no, field in enumerate(fields)]
    numbers = []
    for no, figure in enumerate(figures):
        value = json_of(table, figure.field, f"figure_{no}", statement)
        # As decimals: the sum of floats depends on their order.
        number = f"CASE WHEN jsonb_typeof({value}) = 'number' THEN CAST({value} #>> '{{}}' AS numeric) END"
        numbers.append(f"CAST({FUNCTIONS[figure.function]}({number}) AS float8)")
    places = ", ".join(str(no + 1) for no in range(len(fields)))
    query = (
        f"SELECT {', '.join([*grouped, 'count(*)', *numbers])} FROM {table.tables} WHERE {statement.where}"  # noqa: S608 - constants
        f" GROUP BY {places} ORDER BY {len(fields) + 1} DESC, {places} LIMIT :limit"
    )
    return [list(row) for row in session.execute(text(query), statement.values | {"limit": limit})]
