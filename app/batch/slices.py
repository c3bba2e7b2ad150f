"""Slices of time of a table of a database, which are worked on like the files of a table."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from ..clock import HOUR
from ..domain.checks import Span
from .pieces import FilePiece

MICROSECOND = timedelta(microseconds=1)


class SpanOfRows(msgspec.Struct, frozen=True):
    """How many rows a span has, and the times of its oldest and newest."""

    rows: int
    oldest: datetime
    newest: datetime


def cut_slices(location: str, found: SpanOfRows | None, rows_a_piece: int) -> list[FilePiece]:
    """Returns slices of the time between the oldest and the newest row, of so many rows each, where these are spread evenly."""
    if found is None:
        return []
    rows, oldest, newest = found.rows, found.oldest, found.newest
    count = -(-rows // rows_a_piece)
    edges = [oldest + (newest - oldest) * no / count for no in range(count)]
    ends = [*(edge - MICROSECOND for edge in edges[1:]), newest]
    slices = enumerate(zip(edges, ends, strict=True))
    return [FilePiece(location, no, rows // count, start, end) for no, (start, end) in slices if start <= end]


def within(piece: FilePiece, span: Span) -> Span:
    """Returns the part of the span that a slice is."""
    start = span.start if piece.oldest is None else max(span.start, piece.oldest)
    end = span.end if piece.newest is None else min(span.end, piece.newest + MICROSECOND)
    return Span(start=start, end=end)


def hours_between(start: datetime, end: datetime) -> Sequence[datetime]:
    """Returns the beginnings of the hours from one that is a whole hour."""
    return [start + no * HOUR for no in range(-(-(end - start) // HOUR))]
