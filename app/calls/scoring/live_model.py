"""Calls a model while a caller waits: connections kept open, one deadline over everything."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from ...base.errors import ScoringFailed
from ...base.frozen import frozen
from ...base.telemetry.prometheus import model_rows
from ...domain.deployment import Endpoint, FieldType, OutputFields
from ...payloads.codec import Asking
from ...payloads.read_predictions import Answer, fit_probability
from ...payloads.registry import bind_codec
from ...payloads.repeated_inputs import put_in_order
from ...payloads.wire import Rows
from ..egress_policy import EgressPolicy
from ..pinned_transport import PinnedTransport
from .ask_page import Asker, Timing

LIVE_ATTEMPTS = 3
"""Only attempts that fit into the time left are made."""

MOST_MODELS = 200
"""Max models with connections in a process; those unused for longest are closed."""


@frozen
class ModelKey:
    endpoint: Endpoint
    outputs: OutputFields
    columns: tuple[str, ...]
    types: tuple[FieldType, ...] = ()


class LiveModel:
    """Scores rows by one endpoint, in one event loop; `concurrency` bounds all requests. Raises
    EndpointRefused and ScoringFailed.
    """

    def __init__(self, key: ModelKey, policy: EgressPolicy, *, timing: Timing | None = None) -> None:
        self._key = key
        self._codec = bind_codec(key.endpoint)
        self._asker = Asker(key.endpoint, timing or Timing(), quotes=policy.shows_answers)
        endpoint = key.endpoint
        self._transport = PinnedTransport(policy, connections=endpoint.concurrency, tls=endpoint.tls)
        self._callers = 0
        self._is_retired = False

    async def score(self, rows: Rows, *, deadline: float, attempts: int = LIVE_ATTEMPTS) -> Answer:
        """Returns the answer to the rows, in order, by `deadline` on the monotonic clock. Raises
        ScoringFailed.
        """
        size = self._key.endpoint.page_size
        starts = range(0, len(rows), size)
        if len(starts) == 1:
            return await self._score_page(rows, 0, 1, deadline, attempts)
        tasks = [
            asyncio.ensure_future(
                self._score_page(rows[start : start + size], page, len(starts), deadline, attempts)
            )
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

    async def _score_page(self, rows: Rows, page: int, pages: int, deadline: float, attempts: int) -> Answer:
        message = self._codec.write_message(
            self._key.columns, rows, asking=Asking(outputs=self._key.outputs, types=self._key.types)
        )
        model_rows.inc(len(rows))
        answer = await self._asker.ask(
            self._transport, message, page=page, deadline=deadline, attempts=attempts
        )
        try:
            read = self._codec.read_answer(answer, outputs=self._key.outputs, expected_rows=len(rows))
            ordered = put_in_order(read, self._key.columns, rows, self._key.outputs)
            return replace(ordered, predictions=list(map(fit_probability, ordered.predictions)))
        except ScoringFailed as error:
            raise self._asker.unusable(error, answer, page=page, pages=pages) from error


@dataclass
class _Kept:
    key: ModelKey
    model: LiveModel
    users: int = 0
    is_given_up: bool = False


class LiveModels:
    """The models of one process. Belongs to one event loop."""

    def __init__(self, policy: EgressPolicy) -> None:
        self._policy = policy
        self._kept: dict[int, _Kept] = {}

    @asynccontextmanager
    async def using(self, deployment_no: int, key: ModelKey) -> AsyncIterator[LiveModel]:
        """Yields the deployment's model until the block ends; one with another key is dropped. Raises
        ScoringFailed.
        """
        previous = self._kept.get(deployment_no)
        entry = (
            previous
            if previous is not None and previous.key == key
            else _Kept(key, LiveModel(key, self._policy))
        )
        replaced = [previous] if previous is not None and previous is not entry else []
        self._kept.pop(deployment_no, None)
        self._kept[deployment_no] = entry  # the last used comes last
        entry.users += 1
        try:
            unused_longest = [self._kept.pop(no) for no in list(self._kept)[:-MOST_MODELS]]
            await _give_up([*unused_longest, *replaced])
            yield entry.model
        finally:
            entry.users -= 1
            if entry.is_given_up:
                await _close_unused(entry)

    async def close(self) -> None:
        given_up, self._kept = list(self._kept.values()), {}
        await _give_up(given_up)


async def _give_up(models: Iterable[_Kept]) -> None:
    for entry in models:
        entry.is_given_up = True
        await _close_unused(entry)


async def _close_unused(entry: _Kept) -> None:
    """Its last user closes a model in use."""
    if entry.users == 0:
        await entry.model.close()
