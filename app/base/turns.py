"""Turns and room that callers (a key, an address) share fairly."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from .errors import Unavailable


class Turns:
    """Turns that callers take in order, one of each caller after the other. Belongs to one event loop."""

    def __init__(
        self,
        at_once: int,
        *,
        busy: str,
        waiting: int = 10_000,
        waiting_each: int = 10_000,
        wait_seconds: float | None = None,
    ) -> None:
        self._free = at_once
        self._busy = busy
        self._max_waiting = waiting
        self._max_waiting_of_caller = waiting_each
        self._wait_seconds = wait_seconds
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Raises Unavailable if too many wait, in total or of this caller, or for too long."""
        if self._free and not self._queues:
            self._free -= 1
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, caller: str) -> None:
        queue = self._queues.get(caller, deque())
        if (
            len(queue) >= self._max_waiting_of_caller
            or sum(map(len, self._queues.values())) >= self._max_waiting
        ):
            raise Unavailable(self._busy)
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._queues[caller] = queue
        try:
            async with asyncio.timeout(self._wait_seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            elif turn in (waiting := self._queues.get(caller, deque())):
                waiting.remove(turn)
                if not waiting:
                    del self._queues[caller]
            if isinstance(error, TimeoutError):
                raise Unavailable(self._busy) from error
            raise

    def _pass_on(self) -> None:
        while self._queues:
            caller, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[caller] = queue  # at the end: the other callers come first
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


@dataclass
class Room:
    """Units in use, in total and by caller; `busy` and `busy_each` refuse more."""

    total: int
    each: int
    busy: str
    busy_each: str
    _amounts: Counter[str] = field(default_factory=Counter)
    _total_amount: int = 0

    def take(self, caller: str, amount: int) -> None:
        """Takes units, even if `require` would refuse them; call `give_back` in either case."""
        self._total_amount += amount
        self._amounts[caller] += amount

    def give_back(self, caller: str, amount: int) -> None:
        self._total_amount -= amount
        self._amounts[caller] -= amount
        if not self._amounts[caller]:
            del self._amounts[caller]

    def require(self, caller: str) -> None:
        """Raises Unavailable if amounts in use exceed the bounds, in total or of this caller."""
        if self._amounts[caller] > self.each:
            raise Unavailable(self.busy_each)
        if self._total_amount > self.total:
            raise Unavailable(self.busy)

    @contextmanager
    def place(self, caller: str) -> Iterator[None]:
        """Raises Unavailable if no unit is free, in total or for this caller."""
        self.take(caller, 1)
        try:
            self.require(caller)
            yield
        finally:
            self.give_back(caller, 1)
