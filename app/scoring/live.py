"""A model asked while somebody waits for the answer: connections kept open, one deadline over everything. Stores nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.domain.deployments import Endpoint, OutputFields
from app.errors import ScoringFailed
from app.scoring.asking import Asker
from app.scoring.egress import EgressPolicy
from app.scoring.formats.answers import Answer
from app.scoring.formats.registry import codec_for
from app.scoring.formats.wire import Rows
from app.scoring.pacing import Timing
from app.scoring.transport import PinnedTransport, Resolver, resolve
from app.telemetry.metrics import model_rows

LIVE_ATTEMPTS = 3
"""Per page; only those that fit into the time there is."""

MOST_MODELS = 200
"""Whose connections one process keeps; beyond that, those unused for longest are closed."""


@dataclass(frozen=True, slots=True)
class ModelKey:
    """What a model is asked with; another key is another model."""

    endpoint: Endpoint
    outputs: OutputFields
    columns: tuple[str, ...]


class LiveModel:
    """Scores rows by one endpoint. Belongs to one event loop; rate limit and connections hold over its life.

    The endpoint's `concurrency` bounds the requests under way, over all callers.

    Raises:
        EndpointRefused: the endpoint's URL is not one that may be called.
        ScoringFailed: its credentials cannot be sent.
    """

    def __init__(self, key: ModelKey, policy: EgressPolicy, *, timing: Timing | None = None, resolver: Resolver = resolve) -> None:
        self._key = key
        self._codec = codec_for(key.endpoint.payload_format)
        self._asker = Asker(key.endpoint, timing or Timing())
        self._transport = PinnedTransport(policy, connections=key.endpoint.concurrency, resolver=resolver)
        self._callers = 0
        self._is_retired = False

    async def score(self, rows: Rows, *, deadline: float, attempts: int = LIVE_ATTEMPTS) -> Answer:
        """The model's answer to the rows, in their order, by `deadline` on the monotonic clock; pages are asked side by side.

        Raises:
            ScoringFailed: a page could not be scored in time; the others are given up.
        """
        size = self._key.endpoint.page_size
        starts = range(0, len(rows), size)
        if len(starts) == 1:
            return await self._page(rows, (0, 1), deadline, attempts)
        pages = [self._page(rows[start : start + size], (page, len(starts)), deadline, attempts) for page, start in enumerate(starts)]
        return _joined(await _all_or_none([asyncio.ensure_future(page) for page in pages]))

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()

    async def _page(self, rows: Rows, place: tuple[int, int], deadline: float, attempts: int) -> Answer:
        page, pages = place
        body = self._codec.encode_request(self._key.columns, rows)
        model_rows.inc(len(rows))
        answer = await self._asker.ask(self._transport, body, page=page, deadline=deadline, attempts=attempts)
        try:
            return self._codec.read_answer(answer, outputs=self._key.outputs, expected_rows=len(rows))
        except ScoringFailed as error:
            raise self._asker.unusable(error, answer, page=page, pages=pages) from error


@dataclass(slots=True)
class _Kept:
    """A model, and how many are using it."""

    key: ModelKey
    model: LiveModel
    users: int = 0
    is_given_up: bool = False


class LiveModels:
    """The models of one process, whose connections are kept between requests. Belongs to one event loop."""

    def __init__(self, policy: EgressPolicy, *, most: int = MOST_MODELS) -> None:
        self._policy = policy
        self._most = most
        self._kept: dict[int, _Kept] = {}

    @asynccontextmanager
    async def using(self, deployment_no: int, key: ModelKey) -> AsyncIterator[LiveModel]:
        """The model of that deployment, until the block ends; one that was asked with another key is given up.

        Raises:
            ScoringFailed: as `LiveModel`.
        """
        found = self._kept.get(deployment_no)
        kept = found if found is not None and found.key == key else _Kept(key, LiveModel(key, self._policy))
        replaced = [found] if found is not None and found is not kept else []
        self._kept.pop(deployment_no, None)
        self._kept[deployment_no] = kept  # the last used stands last
        kept.users += 1
        try:
            await _give_up([*self._beyond(), *replaced])
            yield kept.model
        finally:
            kept.users -= 1
            if kept.is_given_up:
                await _close_unused(kept)

    async def close(self) -> None:
        """Gives up all of them."""
        given_up, self._kept = list(self._kept.values()), {}
        await _give_up(given_up)

    def _beyond(self) -> list[_Kept]:
        return [self._kept.pop(no) for no in list(self._kept)[: -self._most]]


async def _give_up(models: Iterable[_Kept]) -> None:
    for kept in models:
        kept.is_given_up = True
        await _close_unused(kept)


async def _close_unused(kept: _Kept) -> None:
    """Closes a model that nobody is using; the last to use it does otherwise."""
    if kept.users == 0:
        await kept.model.close()


async def _all_or_none(pages: "Sequence[asyncio.Future[Answer]]") -> list[Answer]:
    """The answers of all pages; the first failure cancels the rest."""
    try:
        return await asyncio.gather(*pages)
    finally:
        for page in pages:
            page.cancel()
        await asyncio.gather(*pages, return_exceptions=True)


def _joined(answers: Sequence[Answer]) -> Answer:
    """The pages' answers as one.

    Raises:
        ScoringFailed: a page has other columns than the first.
    """
    fields = answers[0].fields
    for number, answer in enumerate(answers, start=1):
        if answer.fields != fields:
            raise ScoringFailed(f"The model's endpoint gave other columns on page {number} than on page 1.")
    return Answer(fields, [row for answer in answers for row in answer.rows], [one for answer in answers for one in answer.predictions])
