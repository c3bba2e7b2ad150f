"""Errors as pages."""

import json

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from ..access.gate.gate import is_read_by_a_person
from ..web import problems
from .render import page


def install(pages: FastAPI) -> None:
    """Answers every error with a page, or with a problem document to what shows no pages."""
    problems.install(pages, _answer)


def _answer(request: Request, error: Exception) -> Response:
    document = problems.answer_error(request, error)
    if not is_read_by_a_person(request.scope):
        return document
    values = {"errors": (), "method": request.method} | json.loads(bytes(document.body))
    shown = page(request, "failure.html", values, status=document.status_code)
    if "allow" in document.headers:
        shown.headers["allow"] = document.headers["allow"]
    return shown
