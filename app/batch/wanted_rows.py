"""The rows that are wanted of a table: those of a span, and of some ids."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from ..domain.checks import Span

ALL_TIMES = Span(start=datetime(1970, 1, 1, tzinfo=UTC), end=datetime(2200, 1, 1, tzinfo=UTC))
"""Every time of a row; one in nanoseconds ends in 2262."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOf:
    """The rows whose `column`, spelled as text, is one of the ids."""

    column: str
    ids: pa.Array
