"""Checked records as lines to copy into the database; those that are too large as lines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import msgspec

from ...base.clock import floor_to_hour, floor_to_minute
from ...domain.record import Rejection
from ...sources.stored.minute_counts import is_counted
from ..writing.write_batches import Batch, PayloadBatch
from .checked_records import Checked, CheckedPayload
from .ingest_plan import MAX_RECORD_BYTES, IngestPlan, StatedTimes

NULL = "\\N"

_ENCODER = msgspec.json.Encoder()
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_text(text: str) -> str:
    """Returns a text cell; it must hold no NUL."""
    return text.translate(_ESCAPES)


def json_lines(values: Sequence[Any]) -> list[str]:
    """Returns one JSON cell per value. None becomes JSON's null, not SQL's."""
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
    target, id_cells = plan.target, list(map(copy_text, ids))
    no, number_cells = repeat(str(target.no)), list(map(str, numbers))
    times = _write_moments(checked.times, moments.now)
    placed = [times] if moments.historical else []
    lines = _join_columns(
        no,
        number_cells,
        id_cells,
        repeat(str(target.schema.version)),
        repeat(copy_text(target.model_revision)),
        times,
        json_lines(checked.features),
        _write_optional(checked.meta),
        json_lines(checked.predictions),
        _write_optional(checked.probabilities),
        _write_optional(checked.labels),
        json_lines(checked.mitigated) if checked.mitigated else repeat(NULL),
        [NULL if rate is None else repr(rate) for rate in checked.sample_rates] or repeat(NULL),
        *placed,
    )
    stated = checked.times if moments.historical else []
    minutes = Counter(floor_to_minute(time or moments.now) for time in stated)
    return PayloadBatch(
        deployment_no=target.no,
        row_version=target.row_version,
        numbers=numbers,
        keys=_join_columns(no, id_cells, number_cells, *placed),
        lines=lines,
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
    """Like `payload_batch`. A stated prediction is taken for one of the present model revision."""
    target, predictions = plan.target, _write_optional(checked.predictions)
    revision = copy_text(target.model_revision)
    placed = [_write_moments(checked.times, moments.now)] if moments.historical else []
    lines = _join_columns(
        repeat(str(target.no)),
        map(str, numbers),
        map(copy_text, ids),
        repeat(str(target.schema.version)),
        _write_optional(checked.features),
        _write_optional(checked.meta),
        json_lines(checked.labels),
        predictions,
        _write_optional(checked.probabilities),
        [NULL if prediction == NULL else revision for prediction in predictions],
        *placed,
    )
    return Batch(
        deployment_no=target.no,
        row_version=target.row_version,
        numbers=numbers,
        lines=lines,
        historical=moments.historical,
        source=checked.source,
    )


def _join_columns(*columns: Iterable[str]) -> bytes:
    """Lines in the order of the columns of `writer`; those that are repeated have no end."""
    return "".join(["\t".join(cells) + "\n" for cells in zip(*columns, strict=False)]).encode()


def _write_optional(values: list[Any]) -> list[str]:
    """None is SQL's NULL: no other value is the bare word null."""
    if values.count(None) == len(values):
        return [NULL] * len(values)
    return [NULL if cell == "null" else cell for cell in json_lines(values)]


def _write_moments(times: list[datetime | None], now: datetime) -> list[str]:
    absent = times.count(None)
    default = now.astimezone(UTC).isoformat() if absent else ""
    if absent == len(times):
        return [default] * absent
    return [default if cell == "null" else cell[1:-1] for cell in json_lines(times)]


_VALUES = ("ids", "features", "meta", "predictions", "probabilities", "labels")
_PLACED = ("indexes", "times", "mitigated", "sample_rates", *_VALUES)


def size_problem(size: int) -> str | None:
    if size <= MAX_RECORD_BYTES:
        return None
    return (
        f"has {size:,} bytes as JSON without the columns' names; a record may have at most "
        f"{MAX_RECORD_BYTES:,}"
    )


def measure_size(*values: object) -> int:
    """Bytes of a record's values as JSON in UTF-8."""
    return len(_ENCODER.encode(values))


def find_large(checked: Checked, lines: bytes) -> Mapping[int, str]:
    """Problems by position; `lines` are the records as they are to be copied."""
    if len(lines) <= MAX_RECORD_BYTES:
        return {}
    # A line holds a record's JSON and more: a short one needs no second look.
    lengths = list(map(len, lines.split(b"\n")))
    if max(lengths) <= MAX_RECORD_BYTES:
        return {}
    long = [position for position, length in enumerate(lengths) if length > MAX_RECORD_BYTES]
    columns = [getattr(checked, name) for name in _VALUES if hasattr(checked, name)]
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
