"""Rows to a deployment's model and predictions back, in order: pages, side by side, all or nothing. Stores nothing."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from app.domain.deployments import Endpoint, OutputFields
from app.domain.records import Prediction
from app.errors import CheckCancelled, ScoringFailed
from app.scoring.asking import Asker
from app.scoring.egress import EgressPolicy
from app.scoring.formats.registry import codec_for
from app.scoring.formats.wire import Rows
from app.scoring.pacing import Timing
from app.scoring.transport import PinnedTransport, Resolver, resolve
from app.telemetry.metrics import model_rows

OnPage: TypeAlias = Callable[[int, int], None]
"""Told after each page: rows scored so far, rows in all."""

ShouldStop: TypeAlias = Callable[[], bool | None]
"""Asked before each page and about once a second: true, or an error of its own, ends the scoring."""

_POLL_SECONDS = 1.0


class ScoringClient:
    """Scores rows by one endpoint. The rate limit holds over the client's life, connections over one call of `score`.

    `columns` are the features in the order of every row; `allowlist` the operator's entries, empty for the default policy.

    Raises:
        EndpointRefused: the endpoint's URL is not one that may be called.
        ScoringFailed: its credentials cannot be sent.
        SetupError: the allow-list cannot be read.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        outputs: OutputFields,
        columns: Sequence[str],
        *,
        allowlist: Sequence[str] = (),
        timing: Timing | None = None,
        resolver: Resolver = resolve,
    ) -> None:
        self._endpoint = endpoint
        self._outputs = outputs
        self._columns = tuple(columns)
        self._policy = EgressPolicy.of(allowlist)
        self._resolver = resolver
        self._codec = codec_for(endpoint.payload_format)
        self._asker = Asker(endpoint, timing or Timing())

    def score(self, rows: Rows, *, on_page: OnPage | None = None, should_stop: ShouldStop | None = None) -> list[Prediction]:
        """One prediction per row, in the order of the rows; equal rows are each asked for.

        Blocks; not to be called from a running event loop. The callbacks run on the calling thread while requests are under way, so
        they should be quick; what they raise ends the scoring and is raised here.

        Raises:
            ScoringFailed: a page could not be scored; the other pages are given up.
            CheckCancelled: `should_stop` answered true.
        """
        if not rows:
            return []
        return asyncio.run(self._score(_Job(rows, self._endpoint.page_size, on_page, should_stop)))

    async def _score(self, job: "_Job") -> list[Prediction]:
        lanes = min(self._endpoint.concurrency, job.pages)
        transport = PinnedTransport(self._policy, connections=lanes, resolver=self._resolver)
        async with transport:
            await _together([asyncio.create_task(self._lane(transport, job)) for _ in range(lanes)], job)
        return job.in_order()

    async def _lane(self, transport: PinnedTransport, job: "_Job") -> None:
        for page, rows in job.remaining:
            job.check_stop()
            model_rows.inc(len(rows))
            answer = await self._asker.ask(transport, self._codec.encode_request(self._columns, rows), page=page)
            try:
                predictions = self._codec.decode_response(answer, outputs=self._outputs, expected_rows=len(rows))
            except ScoringFailed as error:
                raise self._asker.unusable(error, answer, page=page, pages=job.pages) from error
            job.finish(page, predictions)


@dataclass(slots=True)
class _Job:
    """The pages of one call: handed out once each, collected by number."""

    rows: Rows
    page_size: int
    on_page: OnPage | None
    should_stop: ShouldStop | None
    done_rows: int = 0
    scored: dict[int, list[Prediction]] = field(default_factory=dict)
    remaining: Iterator[tuple[int, Rows]] = field(init=False)

    def __post_init__(self) -> None:
        starts = range(0, len(self.rows), self.page_size)
        self.remaining = ((page, self.rows[start : start + self.page_size]) for page, start in enumerate(starts))

    @property
    def pages(self) -> int:
        return -(-len(self.rows) // self.page_size)

    def check_stop(self) -> None:
        if self.should_stop is not None and self.should_stop():
            raise CheckCancelled("The check was cancelled while its copies were being scored.")

    def finish(self, page: int, predictions: list[Prediction]) -> None:
        self.scored[page] = predictions
        self.done_rows += len(predictions)
        if self.on_page is not None:
            self.on_page(self.done_rows, len(self.rows))

    def in_order(self) -> list[Prediction]:
        return [prediction for page in range(self.pages) for prediction in self.scored[page]]


async def _together(lanes: list[asyncio.Task[None]], job: _Job) -> None:
    """Waits for all lanes; the first failure, or a wish to stop, cancels the rest."""
    waiting = set(lanes)
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
            for lane in done:
                lane.result()
            if waiting:
                job.check_stop()
    finally:
        for lane in lanes:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
