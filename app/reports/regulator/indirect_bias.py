"""Sheet of a report on a period: how strongly each logged column goes with each attribute.

A postcode can carry a difference although the model never sees the attribute. Strengths are corrected for
chance.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ...deployments.training.queries import RECOMMENDED_ABOVE
from ...domain.deployment import Column, FieldKind
from ...domain.groups import GroupWords
from ...domain.monitor import Outcome
from ...sources.arrays.association import associate
from ...sources.arrays.favourable_scores import classify_answers, read_stored_cells
from ...sources.stored.window_queries import WindowQuery, name_values, sample_period
from ...statistics.group_labels import MISSING, Codes, FloatArray
from ...statistics.intervals.verdicts import Undefined
from ..document import ABSENT, Block, Json, Paragraph, write_count, write_number
from .sheet_parts import SheetParts, categorise, cut_table, map_categories

MAX_CELLS = 2_000_000
"""Values that are read: records times columns."""

MAX_VALUES = 1_000
"""Different values of a compared column; one of ids has more."""

NO_RECORDS = "no record of the period has the present schema"
ALL_ATTRIBUTES = "the deployment has no column but the attributes of the report"
TOO_MANY_VALUES = "it has {found:,} different values where at most {most:,} are compared"


def make_indirect_bias(parts: SheetParts) -> Json:
    """Measures the columns for each attribute, strongest first.

    Of more than `MAX_CELLS` values only an even part of the records is read.
    """
    if parts.no_counts is not None:
        return {"tables": [], "reason": parts.no_counts}
    monitor = parts.monitor
    order = parts.order
    deployment = parts.source.deployment
    schema = deployment.schema
    records = sum(logged.records for logged in parts.logged if logged.schema_version == schema.version)
    columns = {column.name: column for column in (*schema.features, *schema.meta)}
    compared = [name for name in columns if name not in order.attributes]
    names = (*order.attributes, *compared)
    if not compared or not records:
        return {"records": 0, "one_in": 1, "tables": [], "reason": ALL_ATTRIBUTES if records else NO_RECORDS}
    one_in = max(1, -(-records * len(names) // MAX_CELLS))
    table = sample_period(
        parts.reader, WindowQuery(deployment.no, schema, names), parts.source.span, one_in=one_in
    )
    values = name_values(table, names)
    feature_names = {feature.name for feature in schema.features}
    cells_by_name = {name: read_column(columns[name], values[name]) for name in compared}
    outcomes = classify_answers(table["outcome"], monitor.outcomes)
    # With outcomes of neither list missing, the others are the codes 0 and 1.
    selected = np.where(
        outcomes == int(Outcome.UNCLASSIFIED), MISSING, outcomes == int(Outcome.FAVOURABLE)
    ).astype(np.int64)
    strengths = {name: measure_column(cells, selected) for name, cells in cells_by_name.items()}
    tables = []
    for watched in (attribute for attribute in monitor.attributes if attribute.feature in order.attributes):
        feature = watched.feature
        attribute = map_categories(
            categorise(watched, columns[feature], values[feature], GroupWords.of(monitor)), order.categories
        )
        rows: list[Json] = [
            {"column": name, "sent_to_model": name in feature_names}
            | measure_column(cells, attribute.codes)
            | {f"outcome_{member}": strengths[name][member] for member in ("strength", "chance_level")}
            for name, cells in cells_by_name.items()
        ]
        rows.sort(key=lambda row: (1.0 if row["strength"] is None else -row["strength"], row["column"]))
        tables.append({"attribute": feature, "rows": rows})
    return {
        "records": table.num_rows,
        "one_in": one_in,
        "limit": RECOMMENDED_ABOVE,
        "tables": tables,
        "reason": None,
    }


def read_column(column: Column, values: pa.ChunkedArray) -> Codes | FloatArray | Undefined:
    """Reads a column: codes of its categories, or numbers, or why it is not compared."""
    cells = read_stored_cells(values, column)
    numbers = cells.floats() if column.kind is FieldKind.NUMERIC else None
    if numbers is not None:
        return numbers
    coded = cells.coded()
    if len(coded.values) > MAX_VALUES:
        return Undefined(TOO_MANY_VALUES.format(found=len(coded.values), most=MAX_VALUES), 0)
    return coded.codes


def measure_column(cells: Codes | FloatArray | Undefined, codes: Codes) -> Json:
    """Measures a column's association with `codes`; `reveals` if it is above 0.1 and above chance."""
    strength = cells if isinstance(cells, Undefined) else associate(codes, cells).strength()
    if isinstance(strength, Undefined):
        return {"strength": None, "chance_level": None, "reveals": None, "reason": strength.reason}
    return {
        "strength": strength.corrected,
        "chance_level": strength.chance_level,
        "reveals": strength.corrected > max(RECOMMENDED_ABOVE, strength.chance_level),
        "reason": None,
    }


def write_indirect_bias(sheet: Json) -> Iterator[Block]:
    sample = "" if sheet["one_in"] == 1 else f", about one in {sheet['one_in']} of the period, evenly spread"
    yield Paragraph(
        "A column that goes together with an attribute, such as a postcode, can carry a difference into "
        "decisions although the model never sees the attribute. It may also be a legitimate reason: these "
        "figures do not tell. Strengths of association are from 0 to 1, corrected for chance, of "
        f"{write_count(sheet['records'])} records{sample}. Columns that reveal an attribute only together "
        "are not found."
    )
    for table in sheet["tables"]:
        rows = [
            (
                row["column"],
                "yes" if row["sent_to_model"] else "no",
                write_number(row["strength"]),
                write_number(row["chance_level"]),
                write_number(row["outcome_strength"]),
                row["reason"] or ("reveals it" if row["reveals"] else ABSENT),
            )
            for row in table["rows"]
        ]
        columns = (
            "Column",
            "Sent to the model",
            "Strength",
            "Level of chance",
            "With the outcome",
            "Remarks",
        )
        note = (
            f"Reveals it: a strength above {sheet['limit']:g}, a small effect by convention, and above "
            "chance."
        )
        yield cut_table(
            f"Columns that go together with {table['attribute']}", columns, rows, note, is_last_wide=True
        )
