"""Deployments and their models' connections, kept while the database is away."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...base.clock import monotonic_seconds
from ...base.errors import Conflict, EvenhandError, ScoringFailed, Unavailable
from ...base.values import frozen_arrays
from ...calls.egress_policy import EgressPolicy
from ...database.engine import Database, Sealer
from ...deployments.queries import Deployments
from ...domain.deployment import Deployment, Endpoint
from ...payloads.codec import Codec
from ...payloads.registry import bind_codec
from .forward import ForwardedModel

PATIENCE_SECONDS = 0.5

QUIET_SECONDS = 1.0

MAX_AGE_SECONDS = 24 * 3600.0

_MOST_KEPT = 10_000

_T = TypeVar("_T")
_K = TypeVar("_K")


@dataclass(slots=True)
class _Known(Generic[_T]):
    value: _T
    answered_at: float
    quiet_until: float = 0.0


class LastAnswers(Generic[_K, _T]):
    """Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._known: dict[_K, _Known[_T]] = {}

    async def ask(self, key: _K, look_up: Callable[[], Awaitable[_T]]) -> _T:
        """Falls back to the last answer if the database gives none in time. Raises Unavailable without a
        young one; any other error of `look_up` forgets it.
        """
        remembered = self._known.get(key)
        now = self._clock()
        if remembered is not None and now < remembered.quiet_until:
            return remembered.value
        try:
            async with asyncio.timeout(None if remembered is None else PATIENCE_SECONDS):
                value = await look_up()
        except (Unavailable, TimeoutError):
            if remembered is None or now - remembered.answered_at > MAX_AGE_SECONDS:
                self._known.pop(key, None)
                raise
            remembered.quiet_until = self._clock() + QUIET_SECONDS
            return remembered.value
        except EvenhandError:
            self._known.pop(key, None)
            raise
        if remembered is None and len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[key] = _Known(value, now)
        return value


KEPT_SECONDS = 1.0

MOST_MODELS = 1000


@frozen_arrays
class CallPlan:
    """`codec` and `model` are None without an endpoint called by HTTP; a `model` may be why it cannot be
    called.
    """

    deployment: Deployment
    codec: Codec | None
    model: ForwardedModel | ScoringFailed | None

    def require_model(self) -> ForwardedModel:
        """Raises Conflict without an endpoint called by HTTP, ScoringFailed if it cannot be called."""
        if isinstance(self.model, ScoringFailed):
            raise self.model
        if self.deployment.endpoint is not None and self.deployment.endpoint.is_loaded:
            raise Conflict(
                f"Deployment {self.deployment.id} has an MLflow model that only checks load, so no call can "
                "be passed on to it. Serve the model, and give its URL as the endpoint."
            )
        if self.model is None:
            raise Conflict(
                f"Deployment {self.deployment.id} has no endpoint, so nothing can be passed on to its "
                "model; give it one."
            )
        return self.model


class CallPlans:
    """Belongs to one event loop."""

    def __init__(self, database: Database, sealer: Sealer, policy: EgressPolicy) -> None:
        self._database = database
        self.sealer = sealer
        self._policy = policy
        self._fresh: dict[str, tuple[CallPlan, float]] = {}
        self._running: dict[str, asyncio.Task[CallPlan]] = {}
        self._last: LastAnswers[str, CallPlan] = LastAnswers()
        self._models: dict[int, ForwardedModel] = {}

    async def current(self, deployment_id: str) -> CallPlan:
        """The last plan while the database is away. Raises NotFound, and Unavailable without
        an earlier plan.
        """
        cached = self._fresh.get(deployment_id)
        if cached is not None and monotonic_seconds() < cached[1]:
            return cached[0]
        return await self._last.ask(deployment_id, lambda: self._read_shared(deployment_id))

    async def stop(self) -> None:
        for model in self._models.values():
            await model.retire()

    async def _read_shared(self, deployment_id: str) -> CallPlan:
        task = self._running.get(deployment_id)
        if task is None:
            task = self._running[deployment_id] = asyncio.create_task(self._read(deployment_id))
            task.add_done_callback(lambda ended: self._end(deployment_id, ended))
        # A caller that goes away must not end the look-up for the others.
        return await asyncio.shield(task)

    async def _read(self, deployment_id: str) -> CallPlan:
        def read_deployment() -> Deployment:
            with self._database.transaction() as session:
                return Deployments(session, self.sealer).get(deployment_id)

        asked_at = monotonic_seconds()
        deployment = await asyncio.to_thread(read_deployment)
        endpoint = deployment.endpoint
        plan = CallPlan(deployment, None, None)
        if endpoint is not None and not endpoint.is_loaded:
            plan = CallPlan(deployment, bind_codec(endpoint), await self._model(deployment.no, endpoint))
        if len(self._fresh) >= MOST_MODELS:
            self._fresh.clear()
        self._fresh[deployment_id] = (plan, asked_at + KEPT_SECONDS)
        return plan

    async def _model(self, deployment_no: int, endpoint: Endpoint) -> ForwardedModel | ScoringFailed:
        present = self._models.get(deployment_no)
        if present is not None and present.endpoint == endpoint:
            return present
        try:
            model = ForwardedModel(endpoint, self._policy)
        except ScoringFailed as error:
            return error
        self._models[deployment_no] = model
        if present is not None:
            await present.retire()
        if len(self._models) > MOST_MODELS:
            await self._models.pop(next(iter(self._models))).retire()
        return model

    def _end(self, deployment_id: str, task: "asyncio.Task[CallPlan]") -> None:
        if not task.cancelled():
            task.exception()  # or asyncio logs it where every waiting caller has gone
        self._running.pop(deployment_id, None)
