"""Checked records as lines to copy into the database; those that are too large as lines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import msgspec

from ...base.clock import floor_to_hour, floor_to_minute
from ...domain.record import Rejection
from ...sources.stored.window_queries import is_counted
from ..writing.write_batches import Batch, PayloadBatch
from ..writing.writer import FEEDBACK_COLUMNS, KEY_COLUMNS, RECORD_COLUMNS
from .ingest_plan import MAX_RECORD_BYTES, OPTIONAL_COLUMNS, Checked, CheckedPayload, IngestPlan, StatedTimes

NULL = "\\N"

_ENCODER = msgspec.json.Encoder()
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_text(text: str) -> str:
    return text.translate(_ESCAPES)


def json_lines(values: Sequence[Any]) -> list[str]:
    """None becomes JSON's null, not SQL's."""
    is_one = len(values) == 1  # half the time of making and splitting lines
    text = (_ENCODER.encode(values[0]) if is_one else _ENCODER.encode_lines(values)).decode()
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return [text] if is_one else text.split("\n")[:-1]


def payload_batch(
    checked: CheckedPayload,
    plan: IngestPlan,
    moments: StatedTimes,
    ids: Sequence[str],
    numbers: Sequence[int],
) -> PayloadBatch:
    """`ids` and `numbers` (ascending) have one per record; absent times become the receipt's."""
    target = plan.target
    no = plan.target.no
    times = _write_moments(checked.times, moments.now)
    cells = {
        "deployment_no": repeat(str(no)),
        "record_no": list(map(str, numbers)),
        "record_id": list(map(copy_text, ids)),
        "schema_version": repeat(str(target.schema.version)),
        "model_revision": repeat(copy_text(target.model_revision)),
        "scored_at": times,
        "features": json_lines(checked.features),
        "meta": _write_optional(checked.meta),
        "prediction": json_lines(checked.predictions),
        "mitigated": _write_optional(checked.mitigated),
        "logged_at": times,
    }
    for column in OPTIONAL_COLUMNS:
        cells[column.name] = _write_optional(getattr(checked, column.values), is_text=column.is_text)

    stated = checked.times if moments.historical else []
    minutes = Counter(floor_to_minute(time or moments.now) for time in stated)
    return PayloadBatch(
        deployment_no=no,
        row_version=target.row_version,
        numbers=numbers,
        keys=_join_cells(cells, KEY_COLUMNS, moments),
        lines=_join_cells(cells, RECORD_COLUMNS, moments),
        scored_at_sent=[time is not None and not moments.first_counts for time in checked.times],
        historical=moments.historical,
        # Their hours may have been counted already.
        hours=sorted({floor_to_hour(time or moments.now) for time in stated}),
        minutes={minute: records for minute, records in minutes.items() if is_counted(minute, moments.now)},
        source=checked.source,
    )


def feedback_batch(
    checked: Checked,
    plan: IngestPlan,
    moments: StatedTimes,
    ids: Sequence[str],
    numbers: Sequence[int],
) -> Batch:
    target = plan.target
    revision = copy_text(plan.target.model_revision)
    cells = {
        "deployment_no": repeat(str(target.no)),
        "feedback_no": map(str, numbers),
        "feedback_id": map(copy_text, ids),
        "schema_version": repeat(str(target.schema.version)),
        "features": _write_optional(checked.features),
        "meta": _write_optional(checked.meta),
        "label": json_lines(checked.labels),
        "predicted": _write_optional(checked.predictions),
        "predicted_probability": _write_optional(checked.probabilities),
        "predicted_revision": [NULL if value is None else revision for value in checked.predictions],
        "logged_at": _write_moments(checked.times, moments.now),
    }
    return Batch(
        deployment_no=target.no,
        row_version=target.row_version,
        numbers=numbers,
        lines=_join_cells(cells, FEEDBACK_COLUMNS, moments),
        historical=moments.historical,
        source=checked.source,
    )


def _join_cells(cells: dict[str, Iterable[str]], columns: Sequence[str], moments: StatedTimes) -> bytes:
    placed = (*columns, "logged_at") if moments.historical else columns
    # A repeated cell has no end.
    lines = zip(*(cells[name] for name in placed), strict=False)
    return "".join([f"{line}\n" for line in map("\t".join, lines)]).encode()


def _write_optional(values: Sequence[Any], *, is_text: bool = False) -> Iterable[str]:
    """None is SQL's NULL: no other value is the bare word null in JSON. Endless without values."""
    if values.count(None) == len(values):
        return repeat(NULL)
    if is_text:
        return [NULL if value is None else copy_text(value) for value in values]
    return [NULL if cell == "null" else cell for cell in json_lines(values)]


def _write_moments(times: list[datetime | None], now: datetime) -> list[str]:
    absent = times.count(None)
    default = now.astimezone(UTC).isoformat() if absent else ""
    if absent == len(times):
        return [default] * absent
    return [default if cell == "null" else cell[1:-1] for cell in json_lines(times)]


_VALUES = ("ids", "features", "meta", "predictions", "probabilities", "labels")
_PLACED = {"indexes", "times", "mitigated", *_VALUES, *(column.values for column in OPTIONAL_COLUMNS)}


def size_problem(size: int) -> str | None:
    if size <= MAX_RECORD_BYTES:
        return None
    return (
        f"has {size:,} bytes as JSON without the columns' names; a record may have at most "
        f"{MAX_RECORD_BYTES:,}"
    )


def measure_size(*values: object) -> int:
    return len(_ENCODER.encode(values))


def find_large(checked: Checked, lines: bytes) -> Mapping[int, str]:
    if len(lines) <= MAX_RECORD_BYTES:
        return {}
    # A line holds a record's JSON and more: a short one needs no second look.
    lengths = list(map(len, lines.split(b"\n")))
    if max(lengths) <= MAX_RECORD_BYTES:
        return {}
    long = [position for position, length in enumerate(lengths) if length > MAX_RECORD_BYTES]
    columns = [getattr(checked, name) for name in _VALUES]
    problems = {
        position: size_problem(measure_size(*(column[position] for column in columns))) for position in long
    }
    return {position: problem for position, problem in problems.items() if problem is not None}


def reject(checked: Checked, problems: Mapping[int, str], *, field: str = "record") -> None:
    checked.rejections += [
        Rejection(checked.indexes[position], field, problem) for position, problem in problems.items()
    ]
    checked.rejections.sort(key=lambda rejection: rejection.index)
    for name in _PLACED:
        values = getattr(checked, name, None)
        if values:
            setattr(
                checked, name, [value for position, value in enumerate(values) if position not in problems]
            )
