"""Sends rows to a model and returns predictions, in order: several pages at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import httpx

from ...base.errors import CheckCancelled, PageRefused, ScoringFailed
from ...base.telemetry.prometheus import model_rows
from ...domain.deployment import Endpoint, FieldType, OutputFields
from ...domain.record import Prediction
from ...payloads.codec import Asking
from ...payloads.read_predictions import fit_probability
from ...payloads.registry import bind_codec
from ...payloads.repeated_inputs import put_in_order
from ...payloads.wire import Rows
from ..egress_policy import OPEN, EgressPolicy
from ..pinned_transport import PinnedTransport, Resolver, resolve
from ..request_pace import Timing
from .ask_page import MAX_ATTEMPTS, Asker
from .loaded_model import LoadedModel, ModelProcesses
from .refused_records import Refusal, RefusalSearch, Scored

OnPage = Callable[[int, int], None]
"""Called after each page: rows scored so far, rows in all."""

OnScored = Callable[[int, Sequence[Scored]], None]
"""Called with each page's answers and the place of its first row, before `OnPage`."""

ShouldStop = Callable[[], bool | None]
"""Called before each page and about once a second: true, or an error of its own, ends the scoring."""

_POLL_SECONDS = 1.0


class ScoringClient:
    """Scores rows by one endpoint. The rate limit holds over its life, connections over one `score`.

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
        self._outputs = outputs
        self._columns = tuple(columns)
        self._policy = policy
        self._resolver = resolver
        self._codec = bind_codec(endpoint)
        self._asking = Asking(outputs=outputs, types=tuple(types))
        self._asker = Asker(endpoint, timing or Timing(), quotes=policy.shows_answers)
        self._search = RefusalSearch(self._columns)
        self._loaded = loaded or (
            ModelProcesses(endpoint.uri, policy.model_prefixes) if endpoint.is_loaded else None
        )

    def close(self) -> None:
        """Ends the processes of a loaded model."""
        if self._loaded is not None:
            self._loaded.close()

    @property
    def refused(self) -> int:
        """Records that the model did not take so far; see `score_each`."""
        return self._search.refused

    def score(
        self,
        rows: Rows,
        *,
        on_page: OnPage | None = None,
        should_stop: ShouldStop | None = None,
        attempts: int = MAX_ATTEMPTS,
    ) -> list[Scored]:
        """Returns one prediction per row, in order, or a refusal where its probability is none; equal rows
        are each sent.

        Blocks; do not call from a running event loop. Callbacks run on the calling thread; what they raise
        ends the scoring.

        Raises:
            EndpointDown: the endpoint gave no answer to a page, or answered that it cannot now.
            ScoringFailed: a page could not be scored for another reason.
            CheckCancelled: `should_stop` returned true.
        """
        if not rows:
            return []
        job = _Job(rows, self._endpoint.page_size, on_page, should_stop, attempts)
        return asyncio.run(self._score(job, partial(self._page, job)))

    def score_each(
        self,
        rows: Rows,
        *,
        on_page: OnPage | None = None,
        should_stop: ShouldStop | None = None,
        on_scored: OnScored | None = None,
    ) -> list[Scored]:
        """Returns the same, with a refusal also in place of each record that the model does not take.

        Raises:
            PageRefused: the model took no record, or refuses too many to find each of them.
            ScoringFailed, CheckCancelled: as `score`.
        """
        if not rows:
            return []
        job = _Job(rows, self._endpoint.page_size, on_page, should_stop, MAX_ATTEMPTS, on_scored)
        turn = asyncio.Lock()

        async def score_page(transport: httpx.AsyncBaseTransport, page: int, rows: Rows) -> list[Scored]:
            return await self._search.score(rows, lambda chunk: self._page(job, transport, page, chunk), turn)

        scored = asyncio.run(self._score(job, score_page))
        if isinstance(scored[0], Refusal) and not self._search.is_answered:
            raise scored[0].error
        return scored

    async def _score(
        self,
        job: "_Job",
        score_page: Callable[[httpx.AsyncBaseTransport, int, Rows], Awaitable[list[Scored]]],
    ) -> list[Scored]:
        concurrency = (
            self._endpoint.concurrency
            if self._loaded is None
            else min(self._endpoint.concurrency, self._loaded.most_at_once)
        )
        lanes = min(concurrency, job.pages)
        transport: httpx.AsyncBaseTransport | None = self._loaded
        if transport is None:
            transport = PinnedTransport(
                self._policy, connections=lanes, tls=self._endpoint.tls, resolver=self._resolver
            )
        async with transport:
            tasks = [asyncio.create_task(_work(job, partial(score_page, transport))) for _ in range(lanes)]
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
        return job.in_order()

    async def _page(
        self, job: "_Job", transport: httpx.AsyncBaseTransport, page: int, rows: Rows
    ) -> list[Scored]:
        job.check_stop()
        model_rows.inc(len(rows))
        message = self._codec.write_message(self._columns, rows, asking=self._asking)
        answer = await self._asker.ask(transport, message, page=page, attempts=job.attempts)
        try:
            read = self._codec.read_answer(answer, outputs=self._outputs, expected_rows=len(rows))
            ordered = put_in_order(read, self._columns, rows, self._outputs)
        except ScoringFailed as error:
            raise self._asker.unusable(error, answer, page=page, pages=job.pages) from error
        return list(map(_fit_or_refuse, ordered.predictions))


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
    on_scored: OnScored | None = None
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
        if self.should_stop is not None and self.should_stop():
            raise CheckCancelled("The check was cancelled while its copies were being scored.")

    def finish(self, page: int, predictions: list[Scored]) -> None:
        self.scored[page] = predictions
        self.done_rows += len(predictions)
        if self.on_scored is not None:
            self.on_scored(page * self.page_size, predictions)
        if self.on_page is not None:
            self.on_page(self.done_rows, len(self.rows))

    def in_order(self) -> list[Scored]:
        return [prediction for page in range(self.pages) for prediction in self.scored[page]]


async def _work(job: _Job, score_page: Callable[[int, Rows], Awaitable[list[Scored]]]) -> None:
    for page, rows in job.remaining:
        job.finish(page, await score_page(page, rows))
