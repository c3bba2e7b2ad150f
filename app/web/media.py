"""Which forms of bodies the ordinary routes read: JSON, unless a route says that it reads others."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request

from app.errors import UnsupportedMediaType

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_TAKEN: dict[Callable[..., Any], tuple[str, ...]] = {}


def takes(*media_types: str) -> Callable[[_Endpoint], _Endpoint]:
    """Marks a route's function as one that reads bodies of these types beside JSON."""

    def mark(endpoint: _Endpoint) -> _Endpoint:
        _TAKEN[endpoint] = media_types
        return endpoint

    return mark


async def understood_only(request: Request) -> None:
    """Returns if there is no body, or one that says it is JSON, or what the route takes besides.

    Raises:
        UnsupportedMediaType: the body says it is something else, or nothing of itself.
    """
    if request.method not in _WITH_BODY or not _has_body(request):
        return
    sent = request.headers.get("content-type", "")
    media_type = sent.partition(";")[0].strip().lower()
    others = _TAKEN.get(request.scope["endpoint"], ())
    if media_type not in others and not is_json(media_type):
        wanted = (
            f"one of the content types application/json, {', '.join(others)}" if others else "JSON with the content type application/json"
        )
        raise UnsupportedMediaType(f"Send {wanted}; found {media_type or 'none'!r}.")


def is_json(media_type: str) -> bool:
    """Whether a content type is that of JSON."""
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
