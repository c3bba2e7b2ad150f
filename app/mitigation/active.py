"""The story of a live request: read, score, copy, score the copies, decide, log both outcomes, answer.

The model is asked once for the records and their copies together where these are few, else once for the records and once for all of
their copies. Nothing is random and no label is read.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from app.clock import monotonic_seconds
from app.domain.records import Prediction
from app.errors import InvalidInput, NotFound, ScoringFailed, Unavailable
from app.ingest import Ingestion
from app.mitigation.active_plan import ActivePlan, ActivePlans
from app.mitigation.answers import Answered, answer_document
from app.mitigation.cases import (
    Case,
    Groups,
    cases_of,
    copied_at_once,
    copies_for,
    decide,
    decide_at_once,
    give_up,
    groups_of,
    waiting_among,
)
from app.mitigation.copies import CopySet
from app.mitigation.debiasing import Debiased
from app.mitigation.logged import payload_of
from app.mitigation.requests import Asked, read_asked
from app.scoring.formats.answers import Answer
from app.scoring.live import LiveModel, LiveModels
from app.security.principals import Principal
from app.store.writing import StaleTarget
from app.telemetry.metrics import debiased_records

_ATTEMPTS = 5
"""How often a request is begun anew because its deployment changed under it."""

_PAUSE_SECONDS = 0.05

_RESERVE = 0.25
"""The part of the caller's time that the model does not get: it is for logging the records."""

_LARGEST_RESERVE_SECONDS = 1.0

_HEAD_START = 0.25
"""The part of the model's time after which the records are asked about alone, if the call with their copies is not answered yet."""

_INLINE_BYTES = 256 * 1024
_INLINE_COPIES = 2_000
"""Up to so much is done on the event loop (a few milliseconds); more in a thread, so that others get their turn."""


class LiveRequest(Struct, frozen=True, kw_only=True):
    """What was sent: the body with its Content-Encoding, when it began on the monotonic clock, and how long the whole may take."""

    body: bytes
    encoding: str
    began: float
    timeout_seconds: float

    @property
    def deadline(self) -> float:
        """When the whole answer must be there."""
        return self.began + self.timeout_seconds

    @property
    def model_deadline(self) -> float:
        """When the model must have answered."""
        return self.deadline - min(_RESERVE * self.timeout_seconds, _LARGEST_RESERVE_SECONDS)


class ActiveMitigation:
    """Debiased answers of one process. Belongs to one event loop."""

    def __init__(self, ingestion: Ingestion, plans: ActivePlans, models: LiveModels) -> None:
        self._ingestion = ingestion
        self._plans = plans
        self._models = models

    async def stop(self) -> None:
        """Closes the connections to models."""
        await self._models.close()

    async def answer(self, deployment_id: str, request: LiveRequest, *, caller: Principal, now: datetime) -> dict[str, Any]:
        """The debiased answers to the request's records in the form in which they came, after both outcomes are stored durably.

        Raises:
            NotFound: there is no such deployment, as far as the caller may know.
            Conflict: it has no endpoint or no monitor, or nothing of it is mitigated.
            InvalidInput, TooLarge, UnsupportedMediaType: the request cannot be read; nothing was asked and nothing stored.
            ScoringFailed: the model gave no usable answer to the records themselves; nothing was stored.
            Unavailable: they could not be stored in time, or nobody knows whether they were; send the same records again.
        """
        try:
            async with asyncio.timeout(request.deadline - monotonic_seconds()):
                return await self._answer_in_time(deployment_id, request, caller, now)
        except TimeoutError as error:
            raise Unavailable(
                "The time was too short. Whether the records were stored in it is not known: send them again with their ids."
            ) from error

    async def _answer_in_time(self, deployment_id: str, request: LiveRequest, caller: Principal, now: datetime) -> dict[str, Any]:
        if not caller.sees((await self._ingestion.plan(deployment_id)).target.no):
            raise NotFound("deployment", deployment_id)  # the same words as for an id that does not exist
        for _ in range(_ATTEMPTS):
            plan = await self._plans.current(deployment_id)
            try:
                return await self._answer(plan, request, now)
            except StaleTarget:
                self._plans.forget(deployment_id)
                await asyncio.sleep(_PAUSE_SECONDS)
        raise Unavailable("The deployment is being changed or deleted. Send the records again in a moment.")

    async def _answer(self, plan: ActivePlan, request: LiveRequest, now: datetime) -> dict[str, Any]:
        asked = await self._read(plan, request)
        async with self._models.using(plan.deployment.no, plan.model) as model:
            groups = groups_of(plan, asked)
            own, copied = await _score(plan, asked, groups, model, request)
            cases = cases_of(plan, asked, groups, own.predictions)
            if copied:
                decide_at_once(plan, cases, copied)
            warning = await _debias(plan, cases, model, request.model_deadline)
        debiased = [case.decided for case in cases if case.decided is not None]
        checked = payload_of(plan, asked, own.predictions, debiased)
        ids, outcome = await self._ingestion.store(checked, plan.records, now=now)
        _count(debiased)
        return answer_document(plan, asked, Answered(own, debiased, ids, outcome, warning))

    async def _read(self, plan: ActivePlan, request: LiveRequest) -> Asked:
        try:
            if len(request.body) < _INLINE_BYTES and not request.encoding:
                return read_asked(request.body, request.encoding, plan.records)
            return await asyncio.to_thread(read_asked, request.body, request.encoding, plan.records)
        except InvalidInput:
            if await self._plans.is_outdated(plan):
                raise StaleTarget([]) from None
            raise


async def _score(
    plan: ActivePlan, asked: Asked, groups: Sequence[Groups], model: LiveModel, request: LiveRequest
) -> tuple[Answer, dict[int, list[Prediction]]]:
    """The model's answer to the records and, where they could be asked about together, those to their copies by record.

    If that fails, in one attempt, or takes long, the records are asked about alone, too: the copies may be at fault. What is answered
    first counts, so a slow model loses none of its time.
    """
    at_once, deadline = copied_at_once(plan, asked, groups), request.model_deadline
    if not at_once:
        return await model.score(asked.features, deadline=deadline), {}
    copies = [row for place, of_record in at_once.items() for row in of_record.rows(asked.features[place])]
    together = asyncio.ensure_future(model.score([*asked.features, *copies], deadline=deadline, attempts=1))
    calls = [together]
    try:
        await asyncio.wait(calls, timeout=_HEAD_START * (deadline - monotonic_seconds()))
        if not together.done() or together.exception() is not None:
            calls.append(asyncio.ensure_future(model.score(asked.features, deadline=deadline)))
        first = await _first_answered(calls)
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    return _split(first.result(), len(asked), at_once) if first is together else (first.result(), {})


async def _first_answered(calls: "Sequence[asyncio.Future[Answer]]") -> "asyncio.Future[Answer]":
    """The call that is answered first, of two that are there the earlier; where all fail, the last."""
    waiting = set(calls)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        answered = next((call for call in calls if call in done and call.exception() is None), None)
        if answered is not None:
            return answered
    return calls[-1]


def _split(answer: Answer, count: int, at_once: dict[int, CopySet]) -> tuple[Answer, dict[int, list[Prediction]]]:
    """The answer to the first `count` rows, which are the records, and the answers to the copies behind them."""
    copied, start = {}, count
    for place, copies in at_once.items():
        copied[place] = answer.predictions[start : start + copies.count]
        start += copies.count
    return Answer(answer.fields, answer.rows[:count], answer.predictions[:count]), copied


async def _debias(plan: ActivePlan, cases: Sequence[Case], model: LiveModel, deadline: float) -> str | None:
    """Decides the rest of the cases by one call for all of their copies; why it could not, where the model did not answer."""
    waiting = waiting_among(cases)
    if not waiting:
        return None
    is_few = sum(copies.count for _, copies in waiting) <= _INLINE_COPIES
    rows = copies_for(waiting) if is_few else await asyncio.to_thread(copies_for, waiting)
    try:
        answer = await model.score(rows, deadline=deadline)
    except ScoringFailed as error:
        give_up(waiting)
        return f"The copies could not be scored, so {len(waiting):,} of the answers are the model's own. {error}"
    if is_few:
        decide(plan, waiting, answer.predictions)
    else:
        await asyncio.to_thread(decide, plan, waiting, answer.predictions)
    return None


def _count(debiased: Sequence[Debiased]) -> None:
    for debiasing, count in Counter(one.debiasing for one in debiased).items():
        debiased_records.labels(debiasing.value).inc(count)
