"""Style, scripts and the chart library of the pages, served from this very service.

An address holds a digest of all files, so that browsers may keep it permanently; files refer to each other by relative addresses. The
chart library comes out of the installed vl-convert, the same that draws exported charts; building it takes a second, once in a process.
"""

import hashlib
import threading
from functools import cache
from importlib.metadata import version
from importlib.resources import files

import vl_convert
from fastapi import APIRouter, Request, Response

from ..charts.rendering import VEGA_LITE
from ..errors import NotFound
from ..web.compressing import file_response
from ..web.gate import ASSETS

router = APIRouter(include_in_schema=False)

_STATIC = files(__package__) / "static"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_DIGEST_LENGTH = 12
_VEGA = "vega.js"
_EXPORTS = "window.vegaEmbed = vegaEmbed;"
_BUILDING = threading.Lock()


def asset_url(name: str) -> str:
    """Returns the address of a file, for a template."""
    return f"{ASSETS}{_release()}/{name}"


@router.get(ASSETS + "{release}/{name}")
def asset(release: str, name: str, request: Request) -> Response:
    """Returns a file of the pages."""
    if name not in _names() or release != _release():
        raise NotFound("file of the pages", name)
    kind = name.rpartition(".")[2]
    if name == _VEGA:
        # The cache alone would let two requests build it at once.
        with _BUILDING:
            content = _chart_library()
    else:
        content = _file(name)
    return file_response(request.scope, content, _TYPES[kind], cache_control="public, max-age=31536000, immutable")


@cache
def _names() -> frozenset[str]:
    return frozenset({_VEGA, *(file.name for file in _STATIC.iterdir() if file.name.rpartition(".")[2] in _TYPES)})


@cache
def _release() -> str:
    # The chart library counts by its version: a page that links to it does not wait until it is built.
    sources = (_file(name) for name in sorted(_names() - {_VEGA}))
    content = b"".join((version("vl-convert-python").encode(), VEGA_LITE.encode(), *sources))
    return hashlib.sha256(content).hexdigest()[:_DIGEST_LENGTH]


@cache
def _file(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


@cache
def _chart_library() -> bytes:
    return vl_convert.javascript_bundle(_EXPORTS, VEGA_LITE).encode()
