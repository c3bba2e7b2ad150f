"""The API's documentation page; every file of it needs a key."""

from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from ..access.gate.caller import AnyKey
from ..base.errors import NotFound
from ..web.compress import file_response

router = APIRouter(include_in_schema=False)

_STATIC = files("fastapi_offline") / "static"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API · Evenhand</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/docs.css">
</head>
<body>
<header class="top">
<a class="brand" href="/">Evenhand</a>
<h1>API</h1>
<nav aria-label="Main"><a href="/">Back to the overview</a></nav>
</header>
<main id="swagger-ui">
<noscript><p>This page needs JavaScript. The same as a file: <a href="openapi.json">openapi.json</a></p></noscript>
</main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/docs.js"></script>
</body>
</html>
"""

_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

_ASSETS = {
    "docs.js": ((files(__package__) / "docs.js").read_bytes(), "text/javascript"),
    "swagger-ui-bundle.js": ((_STATIC / "swagger-ui-bundle.js").read_bytes(), "text/javascript"),
    "swagger-ui.css": ((_STATIC / "swagger-ui.css").read_bytes(), "text/css"),
    "docs.css": ((files(__package__) / "docs.css").read_bytes(), "text/css"),
}


@router.get("/docs")
async def docs(_principal: AnyKey) -> HTMLResponse:
    """Page."""
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _CONTENT_POLICY})


@router.get("/docs/{name}")
async def docs_asset(name: str, request: Request, _principal: AnyKey) -> Response:
    """A file of the page."""
    if name not in _ASSETS:
        raise NotFound("file of the documentation", name)
    content, media_type = _ASSETS[name]
    return file_response(request.scope, content, media_type, cache_control="private, max-age=3600")


@router.get("/openapi.json")
def openapi(request: Request, _principal: AnyKey) -> JSONResponse:
    """OpenAPI document."""
    return JSONResponse(request.app.openapi())
