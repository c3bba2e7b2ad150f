"""The media types of bodies of ordinary routes."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request

from ..base.errors import UnsupportedMediaType
from ..base.strict_json import require_strict

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_TAKEN: dict[Callable[..., Any], tuple[str, ...]] = {}
_READ_BY_THEMSELVES: set[Callable[..., Any]] = set()


def takes(*media_types: str) -> Callable[[_Endpoint], _Endpoint]:
    """Marks a route's function that reads these types in addition to JSON."""

    def mark(endpoint: _Endpoint) -> _Endpoint:
        _TAKEN[endpoint] = media_types
        return endpoint

    return mark


def reads_body(endpoint: _Endpoint) -> _Endpoint:
    """Marks a route's function as one that reads its JSON itself, as strictly."""
    _READ_BY_THEMSELVES.add(endpoint)
    return endpoint


async def understood_only(request: Request) -> None:
    """Refuses a body that is neither strict JSON nor of another type of the route."""
    has_body = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    if request.method not in _WITH_BODY or not has_body:
        return
    sent = request.headers.get("content-type", "")
    media_type = sent.partition(";")[0].strip().lower()
    media_types = _TAKEN.get(request.scope["endpoint"], ())
    if media_type not in media_types and not is_json(media_type):
        expected = (
            f"one of the content types application/json, {', '.join(media_types)}"
            if media_types
            else "JSON with the content type application/json"
        )
        raise UnsupportedMediaType(f"Send {expected}; found {media_type or 'none'!r}.")
    # The route reads the body itself: it may be too large for memory.
    if not media_types and request.scope["endpoint"] not in _READ_BY_THEMSELVES:
        require_strict(await request.body())


def is_json(media_type: str) -> bool:
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""Content-Security-Policy of a file for people."""
