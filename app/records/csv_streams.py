"""CSVs of any length, sent while they are read."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from ..access.gate.caller import Services
from ..base.values import frozen
from .second_look.flagged_csv import write_csv_lines

MAX_PIECE_ROWS = 1000

Item = TypeVar("Item")
Place = TypeVar("Place")
RowLimit = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="How many rows at most. Left out: all.")
]
RawTexts = Annotated[
    bool,
    Query(description="Texts as they were logged, also those that a spreadsheet would take for formulas."),
]


@frozen
class CsvPiece(Generic[Item, Place]):
    """Rows that are sent together. None in `next_place` is the end; an empty piece may have a next one."""

    items: Sequence[Item]
    next_place: Place | None


class CsvAnswer(StreamingResponse):
    media_type = "text/csv"


def send_csv(
    services: Services,
    session: Session,
    name: str,
    header: Sequence[str],
    write_row: Callable[[Item], Iterable[str]],
    read_piece: Callable[[Session, Place | None, int], CsvPiece[Item, Place]],
    *,
    limit: int | None = None,
) -> CsvAnswer:
    """`read_piece` gives at most so many items after a place; None: the beginning."""
    # Before the answer begins: a fault is still a problem document and no broken CSV.
    first = read_piece(session, None, MAX_PIECE_ROWS if limit is None else min(limit, MAX_PIECE_ROWS))

    def read_next(place: Place, size: int) -> CsvPiece[Item, Place]:
        # In a transaction of its own: a slow reader holds neither a connection nor a snapshot of the
        # database.
        with services.database.transaction() as own_session:
            return read_piece(own_session, place, size)

    async def stream() -> AsyncIterator[bytes]:
        piece = first
        sent = 0
        yield write_csv_lines([header])
        while True:
            if piece.items:
                yield await run_in_threadpool(write_csv_lines, map(write_row, piece.items))
            sent += len(piece.items)
            size = MAX_PIECE_ROWS if limit is None else min(MAX_PIECE_ROWS, limit - sent)
            if not size or piece.next_place is None:
                return
            async with services.turns:
                piece = await run_in_threadpool(read_next, piece.next_place, size)

    return CsvAnswer(stream(), headers={"Content-Disposition": f'attachment; filename="{name}.csv"'})
