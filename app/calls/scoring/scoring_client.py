"""Sends rows to a model and returns predictions, in order: several pages at a time.

A refused page is sent again in parts, divided by the places of nulls, or else halved, to find the refused
records.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import httpx

from ...base.errors import CheckCancelled, PageRefused, ScoringFailed
from ...base.values import frozen
from ...domain.deployment import Endpoint, FieldType, OutputFields
from ...domain.record import Prediction
from ...payloads.read_predictions import Answer, fit_probability
from ...payloads.wire import Rows
from ..egress_policy import OPEN, EgressPolicy
from ..pinned_transport import PinnedTransport, Resolver, resolve
from .ask_page import MAX_ATTEMPTS, ModelKey, PageScorer, Timing
from .loaded_model import LoadedModel, ModelProcesses

MAX_REFUSED_CALLS = 400
"""Of a check, besides one for each page answered as a whole; beyond it the refusal counts for the check."""

MAX_REFUSED_CALLS_UNANSWERED = 40
"""Enough to find the last good half of the largest page, until a record is answered."""

_MIN_RECORDS_TO_INFER = 3
"""With the same nulls: so many decide, unless one was answered."""


@frozen
class Refusal:
    """Record that the model does not take; `nulls` are the columns in which it has no value."""

    nulls: tuple[str, ...]
    error: PageRefused


Scored = Prediction | Refusal

AskModel = Callable[[Rows], Awaitable[Sequence[Scored]]]

_NullPositions = frozenset[int]


class RefusalSearch:
    """Search for the records of a page that the model does not take; remembers which nulls it refuses."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._calls = 0
        self._whole_pages = 0
        self.is_answered = False
        self.refused = 0
        self._refused_nulls: dict[_NullPositions, PageRefused] = {}
        self._answered_nulls: set[_NullPositions] = set()

    async def score(self, rows: Rows, ask: AskModel, turn: asyncio.Lock) -> list[Scored]:
        """`turn` lets one page at a time be searched. Raises PageRefused."""
        # Rows with refused nulls go apart, each kind by itself.
        positions_by_nulls: dict[_NullPositions, list[int]] = {nulls: [] for nulls in self._refused_nulls}
        unmatched: list[int] = []
        for position, row in enumerate(rows):
            (positions_by_nulls.get(_find_nulls(row), unmatched) if positions_by_nulls else unmatched).append(
                position
            )

        results: dict[int, Scored] = {}
        for positions in (unmatched, *positions_by_nulls.values()):
            if positions:
                await self._score_part(rows, positions, ask, turn, results)
        self.refused += sum(isinstance(result, Refusal) for result in results.values())
        return [results[position] for position in range(len(rows))]

    async def _score_part(
        self,
        rows: Rows,
        positions: Sequence[int],
        ask: AskModel,
        turn: asyncio.Lock,
        results: dict[int, Scored],
    ) -> None:
        try:
            results |= zip(positions, await self._ask(rows, positions, ask), strict=True)
            self._whole_pages += 1
        except PageRefused as error:
            nulls = _find_nulls(rows[positions[0]])
            if nulls in self._refused_nulls and all(
                _find_nulls(rows[position]) == nulls for position in positions
            ):
                results |= dict.fromkeys(positions, self._build_refusal(nulls, error))
                return
            self._spend(error)
            async with turn:
                await self._search(rows, positions, error, ask, results)

    async def _search(
        self,
        rows: Rows,
        positions: Sequence[int],
        error: PageRefused,
        ask: AskModel,
        results: dict[int, Scored],
    ) -> None:
        nulls = _find_nulls(rows[positions[0]])
        if len(positions) == 1:
            results[positions[0]] = self._build_refusal(nulls, error)
            return
        # A few decide if all have these nulls and no record with them was answered.
        is_unanswered = nulls and nulls not in self._answered_nulls
        if (
            is_unanswered
            and len(positions) >= _MIN_RECORDS_TO_INFER
            and all(_find_nulls(rows[position]) == nulls for position in positions)
        ):
            samples = (positions[0], positions[len(positions) // 2], positions[-1])
            results_alone = [
                (position, await self._find_refusal(rows, [position], ask, results)) for position in samples
            ]
            if all(refused for _, refused in results_alone):
                self._refused_nulls[nulls] = error
                results |= dict.fromkeys(positions, self._build_refusal(nulls, error))
                return
            results |= {
                position: self._build_refusal(nulls, refused)
                for position, refused in results_alone
                if refused
            }
            positions = [position for position in positions if position not in samples]
        for half in _halve(rows, positions):
            refused = await self._find_refusal(rows, half, ask, results)
            if refused:
                await self._search(rows, half, refused, ask, results)

    async def _find_refusal(
        self, rows: Rows, positions: Sequence[int], ask: AskModel, results: dict[int, Scored]
    ) -> PageRefused | None:
        if not positions:
            return None
        try:
            results |= zip(positions, await self._ask(rows, positions, ask), strict=True)
        except PageRefused as error:
            self._spend(error)
            return error
        return None

    def _spend(self, error: PageRefused) -> None:
        self._calls += 1
        if self._calls > (
            MAX_REFUSED_CALLS + self._whole_pages if self.is_answered else MAX_REFUSED_CALLS_UNANSWERED
        ):
            message = (
                f"{error} Parts of pages were refused {self._calls} times while the refused records were "
                "looked for: there are too many of them."
            )
            raise PageRefused(message, quotation=error.quotation, answer=error.answer) from error

    async def _ask(self, rows: Rows, positions: Sequence[int], ask: AskModel) -> Sequence[Scored]:
        answers = await ask(
            [rows[position] for position in positions] if len(positions) < len(rows) else rows
        )
        self.is_answered = True
        answered_nulls = {_find_nulls(rows[position]) for position in positions}
        self._answered_nulls |= answered_nulls
        for nulls in answered_nulls & self._refused_nulls.keys():
            del self._refused_nulls[nulls]  # the refused records had another fault
        return answers

    def _build_refusal(self, nulls: _NullPositions, error: PageRefused) -> Refusal:
        return Refusal(tuple(self._columns[position] for position in sorted(nulls)), error)


def _find_nulls(row: Sequence[object]) -> _NullPositions:
    return frozenset(position for position, cell in enumerate(row) if cell is None)


def _halve(rows: Rows, positions: Sequence[int]) -> Iterable[Sequence[int]]:
    nulls = {position: _find_nulls(rows[position]) for position in positions}
    null_counts = Counter(position for null_columns in nulls.values() for position in null_columns)
    rows_with_nulls = [position for position in positions if nulls[position]]
    if 0 < len(rows_with_nulls) < len(positions):
        return [position for position in positions if not nulls[position]], rows_with_nulls
    dividing_columns = [position for position, count in null_counts.items() if count < len(positions)]
    if dividing_columns:
        best = min(dividing_columns, key=lambda position: abs(len(positions) - 2 * null_counts[position]))
        return [position for position in positions if best not in nulls[position]], [
            position for position in positions if best in nulls[position]
        ]
    middle = len(positions) // 2
    return positions[:middle], positions[middle:]


OnPage = Callable[[int, int], None]

OnScored = Callable[[int, Sequence[Scored]], None]

ShouldStop = Callable[[], bool | None]
"""Asked before each page and about once a second: true, or an error of its own, ends the scoring."""

_POLL_SECONDS = 1.0


class ScoringClient:
    """Client of a model during a check. The rate limit holds over its life, connections over one `score`.

    `columns` are the features in order; `policy` decides the allowed addresses. An MLflow model runs in
    processes of its own until `close`, unless it is `loaded`. Raises EndpointRefused and ScoringFailed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        outputs: OutputFields,
        columns: Sequence[str],
        *,
        types: Sequence[FieldType] = (),
        policy: EgressPolicy = OPEN,
        timing: Timing | None = None,
        resolver: Resolver = resolve,
        loaded: LoadedModel | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._policy = policy
        self._resolver = resolver
        self._scorer = PageScorer(ModelKey(endpoint, outputs, tuple(columns), tuple(types)), policy, timing)
        self._search = RefusalSearch(columns)
        self._loaded = loaded or (
            ModelProcesses(endpoint.uri, policy.model_prefixes) if endpoint.is_loaded else None
        )

    def close(self) -> None:
        if self._loaded:
            self._loaded.close()

    @property
    def refused(self) -> int:
        return self._search.refused

    def score(
        self,
        rows: Rows,
        *,
        on_page: OnPage | None = None,
        should_stop: ShouldStop | None = None,
        on_scored: OnScored | None = None,
        attempts: int = MAX_ATTEMPTS,
    ) -> list[Scored]:
        """Returns a prediction for each row, in order, or a refusal where the model does not take it, or its
        probability is none; equal rows are each sent.

        Blocks; do not call from a running event loop. Callbacks run on the calling thread; what they raise
        ends the scoring. Raises PageRefused (no record taken, or too many refused to find each),
        EndpointDown, ScoringFailed, CheckCancelled.
        """
        if not rows:
            return []
        scored = asyncio.run(
            self._score(_Job(rows, self._endpoint.page_size, on_page, should_stop, attempts, on_scored))
        )
        if isinstance(scored[0], Refusal) and not self._search.is_answered:
            self._search.refused -= len(scored)  # nobody gets them, so they do not count
            raise scored[0].error
        return scored

    async def _score(self, job: "_Job") -> list[Scored]:
        concurrency = (
            self._endpoint.concurrency
            if self._loaded is None
            else min(self._endpoint.concurrency, self._loaded.max_at_once)
        )
        lanes = min(concurrency, job.pages)
        transport: httpx.AsyncBaseTransport | None = self._loaded
        if transport is None:
            transport = PinnedTransport(
                self._policy, connections=lanes, tls=self._endpoint.tls, resolver=self._resolver
            )
        async with transport:
            turn = asyncio.Lock()
            tasks = [asyncio.create_task(self._work(job, transport, turn)) for _ in range(lanes)]
            waiting = set(tasks)
            try:
                while waiting:
                    finished, waiting = await asyncio.wait(
                        waiting, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION
                    )
                    for task in finished:
                        task.result()
                    if waiting:
                        job.check_stop()
            finally:
                # They are awaited, because they use the transport until their end.
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        return [prediction for page in range(job.pages) for prediction in job.scored[page]]

    async def _work(self, job: "_Job", transport: httpx.AsyncBaseTransport, turn: asyncio.Lock) -> None:
        for page, rows in job.remaining:

            async def ask(chunk: Rows, page: int = page) -> list[Scored]:
                job.check_stop()
                return await self._scorer.score(
                    transport, chunk, _fit_each, page=page, pages=job.pages, attempts=job.attempts
                )

            job.finish(page, await self._search.score(rows, ask, turn))


def _fit_each(answer: Answer) -> list[Scored]:
    return list(map(_fit_or_refuse, answer.predictions))


def _fit_or_refuse(prediction: Prediction) -> Scored:
    try:
        return fit_probability(prediction)
    except ScoringFailed as error:
        return Refusal((), PageRefused(str(error)))


@dataclass
class _Job:
    rows: Rows
    page_size: int
    on_page: OnPage | None
    should_stop: ShouldStop | None
    attempts: int
    on_scored: OnScored | None
    done_rows: int = 0
    scored: dict[int, list[Scored]] = field(default_factory=dict)
    remaining: Iterator[tuple[int, Rows]] = field(init=False)

    def __post_init__(self) -> None:
        starts = range(0, len(self.rows), self.page_size)
        self.remaining = (
            (page, self.rows[start : start + self.page_size]) for page, start in enumerate(starts)
        )

    @property
    def pages(self) -> int:
        return -(-len(self.rows) // self.page_size)

    def check_stop(self) -> None:
        if self.should_stop and self.should_stop():
            raise CheckCancelled("The check was cancelled while its copies were being scored.")

    def finish(self, page: int, predictions: list[Scored]) -> None:
        self.scored[page] = predictions
        self.done_rows += len(predictions)
        if self.on_scored:
            self.on_scored(page * self.page_size, predictions)
        if self.on_page:
            self.on_page(self.done_rows, len(self.rows))
