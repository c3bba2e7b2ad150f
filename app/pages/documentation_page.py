"""The reference of the API, for every key."""

from collections.abc import Mapping
from functools import cache

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from ..access.gate.caller import AnyKey
from ..base.errors import NotFound
from .api_reference import ApiTag, describe_type, read_tags
from .markdown import render_line, render_text
from .render import page

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def docs(request: Request, _principal: AnyKey) -> Response:
    """Page."""
    return _show(request, None)


@router.get("/docs/{name}")
def docs_of_tag(name: str, request: Request, _principal: AnyKey) -> Response:
    """Page of the operations with that tag."""
    if name not in _read_tags(request.app):
        raise NotFound("page of the API's reference", name)
    return _show(request, name)


@router.get("/openapi.json")
def openapi(request: Request, _principal: AnyKey) -> JSONResponse:
    """OpenAPI document."""
    return JSONResponse(request.app.openapi())


def _show(request: Request, name: str | None) -> Response:
    tags = _read_tags(request.app)
    described = {"describe_type": describe_type, "render_line": render_line, "render_text": render_text}
    return page(request, "api.html", described | {"tags": tags, "tag": tags[name] if name else None})


@cache
def _read_tags(app: FastAPI) -> Mapping[str, ApiTag]:
    return read_tags(app.openapi())
