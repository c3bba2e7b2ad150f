"""Finds the records that a model does not take: a refused page is sent again in parts.

They are divided by the places of their nulls, or else halved.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from ..domain.records import Prediction
from ..errors import PageRefused
from ..frozen import frozen
from ..payloads.wire import Rows

MOST_CALLS = 400
"""Max refused calls of a check, besides one for each page answered as a whole; beyond it the refusal counts for the check."""

MOST_CALLS_UNANSWERED = 40
"""The same until a record is answered: enough to find the last good half of the largest page."""

_ENOUGH_TO_INFER = 3
"""Min records with the same nulls for which three decide, unless one was answered."""


@frozen
class Refusal:
    nulls: tuple[str, ...]
    error: PageRefused


Scored: TypeAlias = "Prediction | Refusal"

Ask: TypeAlias = Callable[[Rows], Awaitable[Sequence[Scored]]]
"""Sends rows, all or nothing; raises PageRefused."""

_Nulls: TypeAlias = frozenset[int]


class RefusalSearch:
    """Sends pages and separates refused records. Refused nulls are remembered for later pages."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._calls = 0
        self._whole_pages = 0
        self._is_answered = False
        self.refused = 0
        self._refused_nulls: dict[_Nulls, PageRefused] = {}
        self._answered_nulls: set[_Nulls] = set()

    @property
    def is_answered(self) -> bool:
        return self._is_answered

    async def score(self, rows: Rows, ask: Ask, turn: asyncio.Lock) -> list[Scored]:
        """Returns the result for each row; `turn` lets one page at a time be searched. Raises PageRefused."""
        # Rows with refused nulls go apart, each kind by itself.
        known: dict[_Nulls, list[int]] = {nulls: [] for nulls in self._refused_nulls}
        others: list[int] = []
        for place, row in enumerate(rows):
            (known.get(_nulls(row), others) if known else others).append(place)

        found: dict[int, Scored] = {}
        for part in (others, *known.values()):
            if part:
                await self._score_part(rows, part, ask, turn, found)
        self.refused += sum(isinstance(one, Refusal) for one in found.values())
        return [found[place] for place in range(len(rows))]

    async def _score_part(self, rows: Rows, part: Sequence[int], ask: Ask, turn: asyncio.Lock, found: dict[int, Scored]) -> None:
        try:
            found |= zip(part, await self._ask(rows, part, ask), strict=True)
            self._whole_pages += 1
        except PageRefused as error:
            nulls = _nulls(rows[part[0]])
            if nulls in self._refused_nulls and all(_nulls(rows[place]) == nulls for place in part):
                found |= dict.fromkeys(part, self._refusal(nulls, error))
                return
            self._spend(error)
            async with turn:
                await self._search(rows, part, error, ask, found)

    async def _search(self, rows: Rows, part: Sequence[int], error: PageRefused, ask: Ask, found: dict[int, Scored]) -> None:
        nulls = _nulls(rows[part[0]])
        if len(part) == 1:
            found[part[0]] = self._refusal(nulls, error)
            return
        # A few decide if all have these nulls and no record with them was answered.
        is_unanswered = bool(nulls) and nulls not in self._answered_nulls
        if is_unanswered and len(part) >= _ENOUGH_TO_INFER and all(_nulls(rows[place]) == nulls for place in part):
            samples = (part[0], part[len(part) // 2], part[-1])
            alone = [(place, await self._refused(rows, [place], ask, found)) for place in samples]
            if all(refused is not None for _, refused in alone):
                self._refused_nulls[nulls] = error
                found |= dict.fromkeys(part, self._refusal(nulls, error))
                return
            found |= {place: self._refusal(nulls, refused) for place, refused in alone if refused is not None}
            part = [place for place in part if place not in samples]
        for half in _halve(rows, part):
            refused = await self._refused(rows, half, ask, found)
            if refused is not None:
                await self._search(rows, half, refused, ask, found)

    async def _refused(self, rows: Rows, part: Sequence[int], ask: Ask, found: dict[int, Scored]) -> PageRefused | None:
        """None where the part was answered, or is empty."""
        if not part:
            return None
        try:
            found |= zip(part, await self._ask(rows, part, ask), strict=True)
        except PageRefused as error:
            self._spend(error)
            return error
        return None

    def _spend(self, error: PageRefused) -> None:
        """Counts a refusal that does not show the records at fault."""
        self._calls += 1
        if self._calls > (MOST_CALLS + self._whole_pages if self._is_answered else MOST_CALLS_UNANSWERED):
            message = (
                f"{error} Parts of pages were refused {self._calls} times while the refused records were looked for:"
                " there are too many of them."
            )
            raise PageRefused(message, quotation=error.quotation, answer=error.answer) from error

    async def _ask(self, rows: Rows, part: Sequence[int], ask: Ask) -> Sequence[Scored]:
        answers = await ask([rows[place] for place in part] if len(part) < len(rows) else rows)
        self._is_answered = True
        answered = {_nulls(rows[place]) for place in part}
        self._answered_nulls |= answered
        for nulls in answered & self._refused_nulls.keys():
            del self._refused_nulls[nulls]  # the refused records had another fault
        return answers

    def _refusal(self, nulls: _Nulls, error: PageRefused) -> Refusal:
        return Refusal(tuple(self._columns[position] for position in sorted(nulls)), error)


def _nulls(row: Sequence[object]) -> _Nulls:
    return frozenset(position for position, cell in enumerate(row) if cell is None)


def _halve(rows: Rows, part: Sequence[int]) -> Iterable[Sequence[int]]:
    """Divides by the nulls that do so best, or in two halves where nulls are alike."""
    nulls = {place: _nulls(rows[place]) for place in part}
    counted = Counter(position for each in nulls.values() for position in each)
    with_any = [place for place in part if nulls[place]]
    if 0 < len(with_any) < len(part):
        return [place for place in part if not nulls[place]], with_any
    dividing = [position for position, count in counted.items() if count < len(part)]
    if dividing:
        best = min(dividing, key=lambda position: abs(len(part) - 2 * counted[position]))
        return [place for place in part if best not in nulls[place]], [place for place in part if best in nulls[place]]
    middle = len(part) // 2
    return part[:middle], part[middle:]
