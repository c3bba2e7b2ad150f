"""Glossary of the pages."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..access.gate.caller import Reader
from ..statistics.catalogue import CATALOGUE
from .render import page
from .terms import TERMS

router = APIRouter(include_in_schema=False)


@router.get("/glossary")
def glossary_page(request: Request, _: Reader) -> Response:
    metrics = sorted(CATALOGUE.items(), key=lambda item: item[1].title)
    return page(request, "glossary.html", {"terms": TERMS, "metrics": metrics})
