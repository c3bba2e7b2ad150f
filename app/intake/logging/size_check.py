"""Records over the size limit."""

from collections.abc import Mapping

import msgspec

from ...domain.record import Rejection
from .checked_records import OPTIONAL_COLUMNS, Checked
from .ingest_plan import MAX_RECORD_BYTES

_ENCODER = msgspec.json.Encoder()
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
