"""The template of a request's address, which holds no ids."""

from starlette.types import Scope

NO_ROUTE = "(none)"
"""Template of an address that no route has."""


def route_of(scope: Scope) -> str:
    """Returns the template of the route that a request was passed to; `NO_ROUTE` where there is none, or none was found yet."""
    template: str = scope.get("route_template") or getattr(scope.get("route"), "path", None) or NO_ROUTE
    return template
