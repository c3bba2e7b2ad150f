"""Compressed answers, only for files that are the same for everybody.

A caller's data next to another's text could reveal itself by its length (BREACH).
"""

import gzip
from functools import lru_cache, partial

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

MAX_CACHED_FILES = 128


def build_file_response(scope: Scope, content: bytes, media_type: str, *, cache_control: str) -> Response:
    """Compressed where the caller reads gzip."""
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    if _accepts_gzip(Headers(scope=scope).get("accept-encoding", "")):
        content = _compress(content)
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=media_type, headers=headers)


# No time in it, so that every process makes the same bytes.
_compress = lru_cache(maxsize=MAX_CACHED_FILES)(partial(gzip.compress, mtime=0))


def _accepts_gzip(sent: str) -> bool:
    for coding in sent.lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            # A weight of zero, however it is written, refuses the form.
            return not weight.strip().startswith("q=") or weight.strip(" q=0.") != ""
    return False
