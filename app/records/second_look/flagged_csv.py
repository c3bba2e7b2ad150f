"""Flagged records as a CSV that comes back as feedback.

Texts that look like a formula get an apostrophe before them, unless the caller wants them raw; the id never
does, because feedback finds its record by it.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ...base.spreadsheets import escape_formula
from ...base.values import canonical
from ...domain.deployment import RecordSchema
from ...mitigation.window.flag_queries import FlaggedPayload
from ..record_list import name_values
from .words import find_known_gap

_FLAG_COLUMNS = (
    "logged_at",
    "attribute",
    "group",
    "kind",
    "direction",
    "prediction",
    "probability",
    "own_score",
    "reference_score",
    "gap",
)


def build_csv_header(schema: RecordSchema, *, is_raw: bool = False) -> list[str]:
    """A name of ours is changed if the record has it. The id is called as `POST …/feedback-records` reads it."""
    return name_columns(schema, _FLAG_COLUMNS, [("label", "observed_label")], is_raw=is_raw)


def name_columns(
    schema: RecordSchema, before: Iterable[str], after: Iterable[Sequence[str]], *, is_raw: bool
) -> list[str]:
    """The id, our columns before those of the record, and ours after them; each of the latter has
    alternatives.
    """
    columns = [column.name for column in schema.columns]
    used = set(columns)
    names = [take_free_name(used, "id", "record_id"), *(take_free_name(used, name) for name in before)]
    names += [*columns, *(take_free_name(used, *alternatives) for alternatives in after)]
    return names if is_raw else list(map(escape_formula, names))


def write_csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def build_csv_row(flagged: FlaggedPayload, schema: RecordSchema, *, is_raw: bool = False) -> list[str]:
    flag = flagged.flag
    values = name_values(flagged.schema, flagged.features, flagged.meta)
    cells = [
        *(flag.logged_at, flag.attribute, flag.group, flag.kind, flag.direction),
        # In the spelling in which people write the label.
        flagged.prediction if flagged.label is None else flagged.label,
        flagged.probability,
        flag.own_score,
        flag.reference_score,
        find_known_gap(flag),
        *(values.get(column.name) for column in schema.columns),
    ]
    return [flagged.record_id, *(write_cell(cell, is_raw=is_raw) for cell in cells), ""]


def take_free_name(used: set[str], *names: str) -> str:
    name = next((name for name in names if name not in used), f"flagged_{names[0]}")
    while name in used:
        name = f"flagged_{name}"
    used.add(name)
    return name


def write_cell(value: Any, *, is_raw: bool) -> str:  # noqa: ANN401 - whatever a record holds
    if value is None:
        return ""
    if isinstance(value, str):
        return value if is_raw else escape_formula(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else canonical(value)
