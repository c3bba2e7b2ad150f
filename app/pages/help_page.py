"""The documentation, for everyone who is logged in, and the glossary of the pages."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ..access.gate.caller import AnyKey, Reader
from ..base.errors import NotFound
from ..statistics.catalogue import CATALOGUE
from ..web.compress import file_response
from .manual import HELP, ManualPage, address_of, list_pages, read_page, read_picture, search
from .render import page
from .terms import TERMS

router = APIRouter(include_in_schema=False)


@router.get(HELP)
def help_start(
    request: Request, _: AnyKey, q: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    return _show(request, manual=read_page("") if q is None else None, query=q or "")


@router.get(HELP + "/{name:path}")
def help_page(name: str, request: Request, _: AnyKey) -> Response:
    picture = read_picture(name)
    if picture is not None:
        return file_response(request.scope, picture, "image/svg+xml", cache_control="private, max-age=3600")
    manual = read_page(name)
    if manual is None:
        raise NotFound("page of the documentation", name)
    return _show(request, manual=manual, query="")


@router.get("/glossary")
def glossary_page(request: Request, _: Reader) -> Response:
    metrics = sorted(CATALOGUE.items(), key=lambda item: item[1].title)
    return page(request, "glossary.html", {"terms": TERMS, "metrics": metrics})


def _show(request: Request, *, manual: ManualPage | None, query: str) -> Response:
    values = {"manual": manual, "query": query, "results": search(query), "folders": list_pages()}
    return page(request, "help.html", values | {"address_of": address_of})
