"""Callers of routes that answer without the database."""

import hashlib

from ...access.gate.caller import Services
from ...access.principals import Principal
from ...base.clock import utc_now
from ...base.errors import NotFound, Unauthenticated
from ..hot_routes.hot_route import Bodies, HotRoute
from .call_plans import CallPlan, LastAnswers
from .service import Gateway


class KnownCallerRoute(HotRoute):
    """Answers callers that the database knew without it."""

    def __init__(self, services: Services, name: str, gateway: Gateway) -> None:
        super().__init__(services, name, Bodies())
        self._callers: LastAnswers[bytes, Principal] = LastAnswers()
        self._gateway = gateway

    async def _authenticate(self, authorization: str | None) -> Principal:
        # By a hash: the keys themselves are in memory for no longer than a request.
        key = hashlib.sha256((authorization or "").encode()).digest()
        principal = await self._callers.ask(key, lambda: self._authenticator.authenticate(authorization))
        # The answer may be from before the database was away.
        if principal.expires_at is not None and principal.expires_at <= utc_now():
            raise Unauthenticated("This API key or token has expired.")
        return principal

    async def _find_plan(self, principal: Principal, deployment_id: str) -> CallPlan:
        plan = await self._gateway.plans.current(deployment_id)
        if not principal.sees(plan.deployment.no):
            raise NotFound("deployment", deployment_id)  # the same words as for an id that does not exist
        return plan
