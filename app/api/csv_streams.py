"""CSVs of any length, sent while they are read."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from .flagged_csv import csv_lines

PIECE = 1000

Item = TypeVar("Item")
Place = TypeVar("Place")
RowLimit = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="How many rows at most. Left out: all.")]
Raw = Annotated[bool, Query(description="Texts as they were logged, also those that a spreadsheet would take for formulas.")]


@dataclass(frozen=True, slots=True)
class CsvPiece(Generic[Item, Place]):
    """A piece of a list; None in `next_place` is the end. It may be empty and have a next."""

    items: Sequence[Item]
    next_place: Place | None


class CsvAnswer(StreamingResponse):
    media_type = "text/csv"


class CsvExport(ABC, Generic[Item, Place]):
    @abstractmethod
    def header(self) -> Sequence[str]: ...

    @abstractmethod
    def rows(self, items: Sequence[Item]) -> Iterable[Sequence[str]]: ...

    @abstractmethod
    def read_after(self, place: Place, limit: int) -> CsvPiece[Item, Place]:
        """At most `limit` items, in a transaction of their own."""


async def stream_csv(
    export: CsvExport[Item, Place], first: CsvPiece[Item, Place], *, turns: asyncio.Semaphore, limit: int | None = None
) -> AsyncIterator[bytes]:
    """Yields pieces: a slow reader holds neither a connection nor a snapshot of the database."""

    def write(items: Sequence[Item]) -> bytes:
        return csv_lines(export.rows(items))

    piece, sent = first, 0
    yield csv_lines([export.header()])
    while True:
        if piece.items:
            yield await run_in_threadpool(write, piece.items)
        sent += len(piece.items)
        most = PIECE if limit is None else min(PIECE, limit - sent)
        if not most or piece.next_place is None:
            return
        async with turns:
            piece = await run_in_threadpool(export.read_after, piece.next_place, most)
