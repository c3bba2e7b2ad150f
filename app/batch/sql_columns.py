"""Columns of a database that SQLAlchemy reads: their values as Arrow has them, and comparisons of times that hold to the microsecond."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ColumnElement, Text, case, cast, func, literal, types

from ..domain.checks import Span

TIMES = pa.timestamp("us", "UTC")

LONG_DIGITS = 18
"""Max digits of a decimal without places that a 64-bit integer holds."""

_TEXT_TIME = "%Y-%m-%d %H:%M:%S.%f"


def arrow_type(kind: types.TypeEngine[Any]) -> pa.DataType:
    """Returns the type in which the values of a column are read."""
    if isinstance(kind, types.Boolean):
        return pa.bool_()
    if isinstance(kind, types.Integer):
        return pa.int64()
    if isinstance(kind, types.Float):
        return pa.float64()
    if isinstance(kind, types.Numeric):
        is_whole = kind.scale == 0 and kind.precision is not None and kind.precision <= LONG_DIGITS
        return pa.int64() if is_whole else pa.float64()
    return TIMES if isinstance(kind, types.DateTime) else pa.string()


def as_arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Returns values that a driver gave as an array of that type. Times without a zone are in UTC."""
    if pa.types.is_timestamp(kind):
        return pa.array([_in_utc(one) for one in values], kind)
    if pa.types.is_string(kind):
        return pa.array([None if one is None else _spelled(one) for one in values], kind)
    convert = {pa.bool_(): bool, pa.int64(): int, pa.float64(): float}[kind]
    return pa.array([None if one is None else convert(one) for one in values], kind)


def _in_utc(value: Any) -> datetime | None:  # noqa: ANN401 - what a driver gives
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _spelled(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value.isoformat() if isinstance(value, date) else str(value)


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column of times. SQLite stores them as text in several forms, so it compares them by one that sorts."""

    column: ColumnElement[Any]
    is_text: bool

    @property
    def key(self) -> ColumnElement[Any]:
        """Returns the expression that is selected, compared and sorted."""
        return sortable_text(self.column) if self.is_text else self.column

    def value(self, moment: datetime) -> object:
        """Returns a moment as the key has it."""
        if self.is_text:
            return moment.astimezone(UTC).strftime(_TEXT_TIME)
        return moment if getattr(self.column.type, "timezone", False) else moment.astimezone(UTC).replace(tzinfo=None)

    def within(self, span: Span) -> ColumnElement[bool]:
        """Returns the condition that the time lies in the span."""
        key = self.key
        return (key >= self.value(span.start)) & (key < self.value(span.end))

    def read(self, values: Sequence[Any]) -> pa.Array:
        """Returns selected keys as times."""
        if not self.is_text:
            return as_arrow(values, TIMES)
        return pc.assume_timezone(pa.array(values, pa.string()).cast(pa.timestamp("us")), "UTC")


def sortable_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Returns SQLite's text of a time as `2026-03-02 12:00:00.000000` in UTC, which may have another zone or fewer digits; else null."""
    raw = cast(column, Text)
    last = func.substr(raw, -6, 1)
    # strftime rounds to milliseconds, so it gets the seconds only.
    zone = case(((func.length(raw) > 19) & last.in_(["+", "-"]), func.substr(raw, -6)), else_="")  # noqa: PLR2004 - digits of a time
    seconds = func.strftime("%Y-%m-%d %H:%M:%S.", func.substr(raw, 1, 19).concat(zone))
    digits = func.substr(raw, func.instr(raw, ".") + 1, 6)
    micros = cast(func.round(cast(literal("0.", Text).concat(digits), types.REAL) * 1_000_000), types.INTEGER)
    fraction = func.printf("%06d", case((func.instr(raw, ".") > 0, micros), else_=0))
    return seconds.concat(fraction)
