"""Callers of routes that answer without the database."""

import base64
import hashlib

from starlette.types import ASGIApp, Scope

from ...access.gate.caller import Services
from ...access.gate.gate import require_own_page
from ...access.principals import Permission, Principal
from ...base.clock import utc_now
from ...base.errors import NotFound, Unauthenticated
from ..hot_routes.body_bounds import Bodies
from .call_plans import CallPlan, LastAnswers
from .service import Gateway


class KnownCallerRoutes:
    """Routes that answer callers that the database knew without it; `app` answers everything else."""

    def __init__(self, app: ASGIApp, services: Services, gateway: Gateway) -> None:
        self._app = app
        self._authenticator = services.authenticator
        self._callers: LastAnswers[bytes, Principal] = LastAnswers()
        self._gateway = gateway
        self._limits = services.limits
        self._bodies = Bodies()

    async def _require_logger(self, scope: Scope) -> Principal:
        """Caller, who may log.

        Raises:
            Unauthenticated, Forbidden: the key is unknown, or may not log.
            Unavailable: the database does not answer, and this key was not used before.
        """
        authorization = read_header(scope, b"authorization") or None
        require_own_page(scope, authorization)
        # By a hash: the keys themselves are in memory for no longer than a request.
        key = hashlib.sha256((authorization or "").encode()).digest()
        principal = await self._callers.ask(
            key, lambda: self._authenticator.authenticate_async(authorization)
        )
        # The answer may be from before the database was away.
        if principal.expires_at is not None and principal.expires_at <= utc_now():
            raise Unauthenticated("This API key or token has expired.")
        principal.require_role(Permission.LOG)
        return principal

    async def _find_plan(self, principal: Principal, deployment_id: str) -> CallPlan:
        plan = await self._gateway.plans.current(deployment_id)
        if not principal.sees(plan.deployment.no):
            raise NotFound("deployment", deployment_id)  # the same words as for an id that does not exist
        return plan


def read_header(scope: Scope, name: bytes) -> str:
    """A header as text; empty where it was not sent, the last of several."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[-1].decode("latin-1") if values else ""


def read_user_name(scope: Scope) -> str:
    """User name of HTTP Basic; empty where there is none."""
    scheme, _, credentials = read_header(scope, b"authorization").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[0]
    except ValueError:
        return ""
