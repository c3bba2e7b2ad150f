"""What the pages lead to, fetch and send: addresses that their routes take whole, with every parameter."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx
import pytest
from fastapi.routing import APIRoute

from app import main
from app.access.gate.gate import ASSETS, is_of_programs
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.pages import application as pages
from app.pages.range_bar import COMMON_PARAMETERS
from app.web.middleware import list_declared_parameters
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.training import put_training
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Scene, scene

MOST_OF_A_ROUTE = 12
"""Pages of one route that are fetched: those of the records and figures are alike, and many."""

_NAMED = ("href", "src", "data-table", "data-path", "data-correlated-path", "data-api-path")


@dataclass
class Found(HTMLParser):
    """The addresses on a page, and those that its forms of the method GET make with one of each of their choices."""

    addresses: set[str] = field(default_factory=set)
    _form: str | None = None
    _fields: dict[str, str] = field(default_factory=dict)
    _select: str | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.addresses |= {given[name] for name in _NAMED if given.get(name)}
        if tag == "form" and given.get("method", "").lower() == "get":
            self._form, self._fields = given.get("action", ""), {}
        elif self._form is not None and tag in ("input", "select", "textarea") and given.get("name"):
            self._fields.setdefault(given["name"], given.get("value", ""))
            self._select = given["name"] if tag == "select" else None
        elif self._form is not None and tag == "option" and self._select:
            self._fields[self._select] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._form is not None:
            self.addresses.add(f"{self._form.partition('#')[0]}?{urlencode(self._fields)}")
            self._form = None


def _routes() -> Iterator[APIRoute]:
    for router in (*main._ROUTERS, *pages._ROUTERS):  # noqa: SLF001 - the two lists of all routes
        yield from (route for route in router.routes if isinstance(route, APIRoute))


def _matching(path: str) -> list[APIRoute]:
    return [route for route in _routes() if route.path_regex.match(path)]


def _problem(address: str) -> str | None:
    """What the address' query holds that its route does not take."""
    parts = urlsplit(address)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if name not in COMMON_PARAMETERS]
    known = [list_declared_parameters(route) for route in _matching(parts.path)]
    taken = any(set(names) <= set(one) and not any(names.count(name) > 1 and not one[name] for name in names) for one in known)
    return None if taken else f"{address}: takes only {[list(one) for one in known]}"


def _addresses(here: str, text: str) -> set[str]:
    """The addresses of this service that a page has, without their fragments."""
    found = Found()
    found.feed(text)
    parts = [urlsplit(urljoin(here, address)) for address in found.addresses]
    return {part._replace(fragment="").geturl() for part in parts if not part.scheme}


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """A watched deployment with training data, records and checks, the newest of which is unfair."""
    with serve(RuleScorer()) as server:
        staged = scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))
        put_training(staged, ("male", 20, 10), ("female", 10, 20))
        for hours in range(2):
            staged.log(applicants(20, 30, 6, prefix=f"h{hours}-"), NOON + hours * HOUR)
            staged.check(NOON + hours * HOUR)
        yield staged


@pytest.mark.nightly
@pytest.mark.usefixtures("stage")
def test_every_address_on_every_page_is_one_that_its_route_takes(reader: httpx.Client) -> None:
    waiting, seen, problems, fetched = ["/"], {"/"}, [], Counter[str]()
    while waiting:
        here = waiting.pop(0)
        route = _matching(urlsplit(here).path)[0].path
        fetched[route] += 1
        if fetched[route] > MOST_OF_A_ROUTE:
            continue
        answer = reader.get(here)
        assert answer.status_code == 200, f"{here}: {answer.text[:2000]}"
        for address in sorted(_addresses(here, answer.text) - seen):
            seen.add(address)
            problem = _problem(address)
            problems += [f"on {here}: {problem}"] if problem else []
            path = urlsplit(address).path
            if not problem and not is_of_programs(path) and not path.startswith(ASSETS):
                waiting.append(address)

    assert problems == []
    assert set(fetched) >= {"/", "/activity", "/alerts", "/deployments/{deployment_id}", "/deployments/{deployment_id}/checks/{check_id}"}
    assert any("cursor=" in address for address in seen)
    assert any("/figure?" in address for address in seen)
