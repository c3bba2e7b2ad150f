"""Counts the files of app/ that run while a page, a fairness check and a POST are served, and the SQL statements of the page.

On a small example in a database of its own. Each is done four times. The first time does not count, because it reads what later ones need
not; of the others the one with the fewest files counts, which leaves out what the service does by itself meanwhile.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType

import pytest
import structlog

import app
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.domain.check import CheckRun, Span, Trigger
from app.domain.deployment import Endpoint
from scripts.arguments import make_parser
from scripts.benchmarks.staging import own_database
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.evidence_worlds import update
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.progress import lift_limits
from tests.scenes import Scene, scene
from tests.service import running_service

APP = f"{Path(app.__file__).parent}{os.sep}"
TIMES, RECORDS = 4, 500
PAGE = "pages/deployment/page.py"
GLOSSARY = "pages/manual.py"
RECORD = "intake/logging/service.py"
"""Modules of the code that pages and a POST of records are for. What runs before the glossary is in front of every page; before the page of
a deployment also what reads the deployment and the range of time in its address."""

_ran: dict[str, None] | None = None


def _note(frame: FrameType, event: str, _argument: object) -> None:
    name = frame.f_code.co_filename
    if _ran is not None and event == "call" and name.startswith(APP) and name.endswith(".py"):
        _ran.setdefault(name.removeprefix(APP))


def trace(acts: Iterable[Callable[[], object]]) -> list[str]:
    """The files of which a function runs in the shortest of several acts, in the order of their first ones."""
    global _ran  # noqa: PLW0603 - functions of every thread note their files in it
    runs = []
    for act in acts:
        _ran = {}
        act()
        runs.append(list(_ran))
        _ran = None
    return min(runs[1:], key=len)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--list", action="store_true", help="print the files, in the order in which they run")
    options = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    lift_limits()
    # Before the service starts its threads.
    threading.setprofile(_note)
    sys.setprofile(_note)
    with ExitStack() as stack:
        database, folder = stack.enter_context(own_database())
        model = stack.enter_context(serve(RuleScorer()))
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=model.url))
        let_a_worker_answer(database)
        for hours in (3, 2, 1):
            stage.perform(log_hour(stage, hours))
        check = trace(partial(stage.perform, log_hour(stage, hours)) for hours in range(4, 4 + TIMES))
        update(stage, floor_to_hour(utc_now()))
        service = stack.enter_context(running_service(database, folder / "service"))
        browser = stack.enter_context(service.new_client(headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}))
        browser.post("/login", data={"key": service.admin_key})
        records = [{"features": {"sex": "male", "income": 1, "age": 40}, "prediction": 1, "probability": 0.9}]

        def show() -> None:
            browser.get("/deployments/a-model").raise_for_status()

        def post() -> None:
            service.client.post("/v1/deployments/a-model/payload-records", json={"records": records}).raise_for_status()

        def show_glossary() -> None:
            browser.get("/glossary").raise_for_status()

        page, of_post, glossary = trace([show] * TIMES), trace([post] * TIMES), trace([show_glossary] * TIMES)
        with counted(pytest.MonkeyPatch()) as statements:
            show()
    for name, files, further in (
        ("page of a deployment", page, f", {page.index(PAGE)} before the route's own; {len(statements)} SQL statements"),
        ("glossary", glossary, f", {glossary.index(GLOSSARY)} before the route's own"),
        (f"check of {RECORDS} records with an endpoint", check, ""),
        ("POST of a record", of_post, f", {of_post.index(RECORD)} before the route's own"),
    ):
        print(f"{name}: {len(files)} files of app/{further}")
        if options.list:
            print("".join(f"    {file}\n" for file in files), end="")


def log_hour(stage: Scene, hours: int) -> CheckRun:
    """Logs the records of an hour, counted back from this one, and returns its check, which a worker would perform now."""
    start = floor_to_hour(utc_now()) - hours * HOUR
    stage.log(applicants(RECORDS // 2, RECORDS // 2, RECORDS // 10, prefix=f"{hours}-"), start)
    return stage.queue(Span(start=start, end=start + HOUR), Trigger.SCHEDULE)


if __name__ == "__main__":
    main()
