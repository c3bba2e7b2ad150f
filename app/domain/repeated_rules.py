"""Rules of several kinds of configuration."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from ..base.errors import FieldProblem

_INT64 = 2**63


def check_names(
    field: str, names: Sequence[str], known_names: Collection[str], describe_unknown: Callable[[str], str]
) -> Iterator[FieldProblem]:
    """A name that is not known, or that was listed before.

    `field` is formatted with the index; `describe_unknown` ends a sentence that begins with the name.
    """
    listed = set()
    for index, name in enumerate(names):
        # Names are cut, because a caller may send megabytes of one.
        if name not in known_names:
            yield FieldProblem(field.format(index), f"{name!r:.100} {describe_unknown(name)}")
        elif name in listed:
            yield FieldProblem(field.format(index), f"{name!r:.100} is listed twice")
        listed.add(name)


def check_bounds(field: str, number: int, limit: int, *, least: int = 1) -> list[FieldProblem]:
    return (
        []
        if least <= number <= limit
        else [FieldProblem(field, f"must be between {least} and {limit:,}, found {number}")]
    )


def number_problem(value: float) -> str | None:
    if isinstance(value, int):
        return None if -_INT64 <= value < _INT64 else "must be a signed 64-bit integer"
    return None if math.isfinite(value) else "must be a finite number"
