"""Calls a model while a caller waits: connections kept open, one deadline over everything."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from ...base.errors import ScoringFailed
from ...payloads.read_predictions import Answer, fit_probability
from ...payloads.wire import Rows
from ..egress_policy import EgressPolicy
from ..pinned_transport import PinnedTransport
from .ask_page import ModelKey, PageScorer, Timing

LIVE_ATTEMPTS = 3

MAX_MODELS = 200


class LiveModel:
    """A model that is asked while a caller waits. Belongs to one event loop; `concurrency` bounds all
    requests. Raises EndpointRefused and ScoringFailed.
    """

    def __init__(self, key: ModelKey, policy: EgressPolicy, *, timing: Timing | None = None) -> None:
        endpoint = key.endpoint
        self._scorer = PageScorer(key, policy, timing)
        self._page_size = endpoint.page_size
        self._transport = PinnedTransport(policy, connections=endpoint.concurrency, tls=endpoint.tls)

    async def score(self, rows: Rows, *, deadline: float, attempts: int = LIVE_ATTEMPTS) -> Answer:
        """`deadline` is on the monotonic clock. Raises ScoringFailed."""
        size = self._page_size
        starts = range(0, len(rows), size)
        score = partial(
            self._scorer.score,
            self._transport,
            fit=_fit_probabilities,
            pages=len(starts),
            deadline=deadline,
            attempts=attempts,
        )
        tasks = [
            asyncio.ensure_future(score(rows[start : start + size], page=page))
            for page, start in enumerate(starts)
        ]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        fields = answers[0].fields
        for number, answer in enumerate(answers, start=1):
            if answer.fields != fields:
                raise ScoringFailed(
                    f"The model's endpoint gave other columns on page {number} than on page 1."
                )
        return Answer(
            fields,
            [row for answer in answers for row in answer.rows],
            [prediction for answer in answers for prediction in answer.predictions],
        )

    async def close(self) -> None:
        await self._transport.aclose()


def _fit_probabilities(answer: Answer) -> Answer:
    return replace(answer, predictions=list(map(fit_probability, answer.predictions)))


@dataclass
class _ModelEntry:
    key: ModelKey
    model: LiveModel
    users: int = 0
    is_given_up: bool = False


class LiveModels:
    """Models of deployments, kept open while they are used. Belongs to one event loop."""

    def __init__(self, policy: EgressPolicy) -> None:
        self._policy = policy
        self._entries: dict[int, _ModelEntry] = {}

    @asynccontextmanager
    async def using(self, deployment_no: int, key: ModelKey) -> AsyncIterator[LiveModel]:
        """Drops one with another key. Raises ScoringFailed."""
        previous = self._entries.get(deployment_no)
        entry = (
            previous if previous and previous.key == key else _ModelEntry(key, LiveModel(key, self._policy))
        )
        replaced = [previous] if previous and previous is not entry else []
        self._entries.pop(deployment_no, None)
        self._entries[deployment_no] = entry  # the last used comes last
        entry.users += 1
        try:
            unused_longest = [self._entries.pop(no) for no in list(self._entries)[:-MAX_MODELS]]
            await _give_up([*unused_longest, *replaced])
            yield entry.model
        finally:
            entry.users -= 1
            if entry.is_given_up:
                await _close_unused(entry)

    async def close(self) -> None:
        given_up, self._entries = list(self._entries.values()), {}
        await _give_up(given_up)


async def _give_up(models: Iterable[_ModelEntry]) -> None:
    for entry in models:
        entry.is_given_up = True
        await _close_unused(entry)


async def _close_unused(entry: _ModelEntry) -> None:
    if entry.users == 0:
        await entry.model.close()
