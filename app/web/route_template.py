"""The template of a request's address, which holds no ids."""

from starlette.types import Scope

NO_ROUTE = "(none)"


def name_route(scope: Scope) -> str:
    template: str = scope.get("route_template") or getattr(scope.get("route"), "path", None) or NO_ROUTE
    return template
