"""Scenes and readers that the tests of the pages of checks share."""

import html
import re

from sqlalchemy import update

from app.database.tables import CheckRow
from app.domain.check import CheckRun
from tests.builders.applicants import applicants
from tests.scenes import NOON, Scene

CHECKS = "/deployments/a-model/checks"
HOSTILE = "<script>alert('x')</script> & \"so\" on"


def checked(stage: Scene) -> CheckRun:
    """A check of 20 men, of whom all are approved, and 30 women, of whom 6 are."""
    stage.log(applicants(20, 30, 6), NOON)
    return stage.check(NOON).run


def set_check(stage: Scene, check: CheckRun, **values: object) -> None:
    with stage.database.transaction() as session:
        session.execute(update(CheckRow).where(CheckRow.no == check.no).values(values))


def figures(text: str) -> list[str]:
    """The addresses of the figures on a page."""
    found = [html.unescape(address) for address in re.findall(r'href="([^"]*/figure\?[^"]*)"', text)]
    return list(dict.fromkeys(address if address.startswith("/") else f"{CHECKS}/{address}" for address in found))
