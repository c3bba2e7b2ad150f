"""Flagged records as the lines of a CSV that comes back as feedback: one line a flag, and an empty column for the label.

Values stand there as they were logged. Nothing is put in front of texts that begin with `=`, `+`, `-` or `@`, which a spreadsheet may
take for formulas: the file would no longer say what was logged, and would not come back as it went.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from app.api.schemas.flagged_records import known_gap
from app.domain.deployments import RecordSchema
from app.domain.values import canonical
from app.store.flagged_records import FlaggedPayload

_FLAG_COLUMNS = (
    *("logged_at", "attribute", "group", "kind", "direction"),
    *("prediction", "probability", "own_score", "reference_score", "gap"),
)


def csv_header(schema: RecordSchema) -> list[str]:
    """The names of the columns. Those of the record keep theirs; one of ours that is taken gets another.

    The id is called as `POST …/feedback-records` reads it.
    """
    columns = [column.name for column in (*schema.features, *schema.meta)]
    taken = set(columns)
    header = [_free(taken, "id", "record_id"), *(_free(taken, name) for name in _FLAG_COLUMNS)]
    return [*header, *columns, _free(taken, "label", "observed_label")]


def csv_lines(rows: Iterable[Sequence[str]]) -> bytes:
    """The rows as CSV in UTF-8."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def csv_row(found: FlaggedPayload, schema: RecordSchema) -> list[str]:
    """The cells of one flag, in the columns of `schema`; a column that the record was logged without is empty."""
    flag = found.flag
    values = dict(zip((column.name for column in found.schema.features), found.features, strict=True))
    values |= dict(zip((column.name for column in found.schema.meta), found.meta, strict=True))
    cells = [
        *(found.record_id, flag.logged_at.isoformat(), flag.attribute, flag.group, flag.kind, flag.direction),
        # In the spelling of the monitor's outcomes, in which the label is to be written.
        *(found.prediction if found.label is None else found.label, found.probability),
        *(flag.own_score, flag.reference_score, known_gap(flag)),
        *(values.get(column.name) for column in (*schema.features, *schema.meta)),
    ]
    return [*(_cell(cell) for cell in cells), ""]


def _free(taken: set[str], *names: str) -> str:
    """The first of the names that is free, or else one made of the first; it is taken from then on."""
    name = next((name for name in names if name not in taken), f"flagged_{names[0]}")
    while name in taken:
        name = f"flagged_{name}"
    taken.add(name)
    return name


def _cell(value: Any) -> str:  # noqa: ANN401 - whatever a record holds
    if value is None:
        return ""
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else canonical(value)
