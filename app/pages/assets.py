"""Style and scripts of the pages.

An address holds a digest of all files, so that browsers may keep it; files refer to each other by relative
addresses.
"""

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from ..access.gate.gate import ASSETS
from ..base.errors import NotFound
from ..web.compress import file_response

router = APIRouter(include_in_schema=False)

_STATIC = files(__package__) / "static"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_DIGEST_LENGTH = 12


def asset_url(name: str) -> str:
    return f"{ASSETS}{_release()}/{name}"


@router.get(ASSETS + "{release}/{name}")
def asset(release: str, name: str, request: Request) -> Response:
    if name not in _names() or release != _release():
        raise NotFound("file of the pages", name)
    kind = name.rpartition(".")[2]
    return file_response(
        request.scope, _file(name), _TYPES[kind], cache_control="public, max-age=31536000, immutable"
    )


@cache
def _names() -> frozenset[str]:
    return frozenset(file.name for file in _STATIC.iterdir() if file.name.rpartition(".")[2] in _TYPES)


@cache
def _release() -> str:
    return hashlib.sha256(b"".join(_file(name) for name in sorted(_names()))).hexdigest()[:_DIGEST_LENGTH]


@cache
def _file(name: str) -> bytes:
    return (_STATIC / name).read_bytes()
