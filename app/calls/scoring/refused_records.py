"""Finds the records that a model does not take: a refused page is sent again in parts.

They are divided by the places of their nulls, or else halved.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from ...base.errors import PageRefused
from ...base.frozen import frozen
from ...domain.record import Prediction
from ...payloads.wire import Rows

MOST_CALLS = 400
"""Max refused calls of a check, besides one for each page answered as a whole; beyond it the refusal
counts for the check.
"""

MOST_CALLS_UNANSWERED = 40
"""The same until a record is answered: enough to find the last good half of the largest page."""

_ENOUGH_TO_INFER = 3
"""Min records with the same nulls for which three decide, unless one was answered."""


@frozen
class Refusal:
    nulls: tuple[str, ...]
    error: PageRefused


Scored: TypeAlias = "Prediction | Refusal"

Ask = Callable[[Rows], Awaitable[Sequence[Scored]]]
"""Sends rows, all or nothing; raises PageRefused."""

_Nulls = frozenset[int]


class RefusalSearch:
    """Sends pages and separates refused records. Refused nulls are remembered for later pages."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._calls = 0
        self._whole_pages = 0
        self.is_answered = False
        self.refused = 0
        self._refused_nulls: dict[_Nulls, PageRefused] = {}
        self._answered_nulls: set[_Nulls] = set()

    async def score(self, rows: Rows, ask: Ask, turn: asyncio.Lock) -> list[Scored]:
        """Returns the result for each row; `turn` lets one page at a time be searched. Raises PageRefused."""
        # Rows with refused nulls go apart, each kind by itself.
        by_nulls: dict[_Nulls, list[int]] = {nulls: [] for nulls in self._refused_nulls}
        unmatched: list[int] = []
        for position, row in enumerate(rows):
            (by_nulls.get(_nulls(row), unmatched) if by_nulls else unmatched).append(position)

        results: dict[int, Scored] = {}
        for positions in (unmatched, *by_nulls.values()):
            if positions:
                await self._score_part(rows, positions, ask, turn, results)
        self.refused += sum(isinstance(result, Refusal) for result in results.values())
        return [results[position] for position in range(len(rows))]

    async def _score_part(
        self, rows: Rows, positions: Sequence[int], ask: Ask, turn: asyncio.Lock, results: dict[int, Scored]
    ) -> None:
        try:
            results |= zip(positions, await self._ask(rows, positions, ask), strict=True)
            self._whole_pages += 1
        except PageRefused as error:
            nulls = _nulls(rows[positions[0]])
            if nulls in self._refused_nulls and all(
                _nulls(rows[position]) == nulls for position in positions
            ):
                results |= dict.fromkeys(positions, self._refusal(nulls, error))
                return
            self._spend(error)
            async with turn:
                await self._search(rows, positions, error, ask, results)

    async def _search(
        self, rows: Rows, positions: Sequence[int], error: PageRefused, ask: Ask, results: dict[int, Scored]
    ) -> None:
        nulls = _nulls(rows[positions[0]])
        if len(positions) == 1:
            results[positions[0]] = self._refusal(nulls, error)
            return
        # A few decide if all have these nulls and no record with them was answered.
        is_unanswered = nulls and nulls not in self._answered_nulls
        if (
            is_unanswered
            and len(positions) >= _ENOUGH_TO_INFER
            and all(_nulls(rows[position]) == nulls for position in positions)
        ):
            samples = (positions[0], positions[len(positions) // 2], positions[-1])
            alone = [(position, await self._refused(rows, [position], ask, results)) for position in samples]
            if all(refused is not None for _, refused in alone):
                self._refused_nulls[nulls] = error
                results |= dict.fromkeys(positions, self._refusal(nulls, error))
                return
            results |= {
                position: self._refusal(nulls, refused) for position, refused in alone if refused is not None
            }
            positions = [position for position in positions if position not in samples]
        for half in _halve(rows, positions):
            refused = await self._refused(rows, half, ask, results)
            if refused is not None:
                await self._search(rows, half, refused, ask, results)

    async def _refused(
        self, rows: Rows, positions: Sequence[int], ask: Ask, results: dict[int, Scored]
    ) -> PageRefused | None:
        """None where the part was answered, or is empty."""
        if not positions:
            return None
        try:
            results |= zip(positions, await self._ask(rows, positions, ask), strict=True)
        except PageRefused as error:
            self._spend(error)
            return error
        return None

    def _spend(self, error: PageRefused) -> None:
        """Counts a refusal that does not show the records at fault."""
        self._calls += 1
        if self._calls > (MOST_CALLS + self._whole_pages if self.is_answered else MOST_CALLS_UNANSWERED):
            message = (
                f"{error} Parts of pages were refused {self._calls} times while the refused records were "
                "looked for:"
                " there are too many of them."
            )
            raise PageRefused(message, quotation=error.quotation, answer=error.answer) from error

    async def _ask(self, rows: Rows, positions: Sequence[int], ask: Ask) -> Sequence[Scored]:
        answers = await ask(
            [rows[position] for position in positions] if len(positions) < len(rows) else rows
        )
        self.is_answered = True
        answered = {_nulls(rows[position]) for position in positions}
        self._answered_nulls |= answered
        for nulls in answered & self._refused_nulls.keys():
            del self._refused_nulls[nulls]  # the refused records had another fault
        return answers

    def _refusal(self, nulls: _Nulls, error: PageRefused) -> Refusal:
        return Refusal(tuple(self._columns[position] for position in sorted(nulls)), error)


def _nulls(row: Sequence[object]) -> _Nulls:
    return frozenset(position for position, cell in enumerate(row) if cell is None)


def _halve(rows: Rows, positions: Sequence[int]) -> Iterable[Sequence[int]]:
    """Divides by the nulls that do so best, or in two halves where nulls are alike."""
    nulls = {position: _nulls(rows[position]) for position in positions}
    counted = Counter(position for null_columns in nulls.values() for position in null_columns)
    with_any = [position for position in positions if nulls[position]]
    if 0 < len(with_any) < len(positions):
        return [position for position in positions if not nulls[position]], with_any
    dividing = [position for position, count in counted.items() if count < len(positions)]
    if dividing:
        best = min(dividing, key=lambda position: abs(len(positions) - 2 * counted[position]))
        return [position for position in positions if best not in nulls[position]], [
            position for position in positions if best in nulls[position]
        ]
    middle = len(positions) // 2
    return positions[:middle], positions[middle:]
