"""Which forms of bodies the ordinary routes read: JSON only."""

from fastapi import Request

from app.errors import UnsupportedMediaType

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


async def json_only(request: Request) -> None:
    """Returns if there is no body, or one that says it is JSON.

    Raises:
        UnsupportedMediaType: the body says it is something else, or nothing of itself.
    """
    if request.method not in _WITH_BODY or not _has_body(request):
        return
    sent = request.headers.get("content-type", "")
    media_type = sent.partition(";")[0].strip().lower()
    if media_type != "application/json" and not (media_type.startswith("application/") and media_type.endswith("+json")):
        raise UnsupportedMediaType(f"Send JSON with the content type application/json; found {media_type or 'none'!r}.")


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
