"""Reports that wait for their turn keep nothing from other requests."""

import asyncio
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from typing import cast

import httpx
import pytest

from app.access.gate.caller import MAX_CONCURRENT_REQUESTS
from app.base.errors import ReportNotMade
from app.database.engine import Database
from app.reports import report_processes as making
from app.reports.document import ReportStamp
from app.reports.regulator.regulator_report import ReportOrder
from app.reports.regulator.sheets import ReportKind, SheetSelection
from app.reports.report_processes import MAX_CONCURRENT, MAX_WAITING_OF_KEY, ReportMaker
from app.web.problems import problem_response
from tests.builders.bodies import deployment
from tests.integration.reports.reported import Reported
from tests.progress import wait_until
from tests.scenes import NOON
from tests.service import running_service


@pytest.mark.nightly
def test_many_reports_that_wait_leave_the_api_its_threads_and_connections(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Semaphore(0), threading.Event()

    async def make(_maker: ReportMaker, _order: ReportOrder, _form: str) -> bytes:
        begun.release()
        await asyncio.to_thread(may_end.wait)
        return b"done"

    monkeypatch.setattr(ReportMaker, "make", make)
    taken_on = MAX_CONCURRENT + MAX_WAITING_OF_KEY
    assert taken_on > 2 * MAX_CONCURRENT_REQUESTS
    with running_service(database, tmp_path) as service, ThreadPoolExecutor(taken_on + 1) as pool:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        headers = dict(service.client.headers)
        address = f"{service.base_url}/v1/deployments/credit-risk/report.html"

        def ask() -> httpx.Response:
            return httpx.get(address, headers=headers, timeout=None)

        try:
            reports = [pool.submit(ask) for _ in range(taken_on + 1)]
            refused = next(as_completed(reports)).result()
            begun.acquire()
            others = [service.client.get("/v1/me").status_code for _ in range(3)]
        finally:
            may_end.set()
        answers = sorted(report.result().status_code for report in reports)

    assert others == [200, 200, 200]
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert answers == [200] * taken_on + [503]


@pytest.mark.nightly
def test_a_report_whose_process_is_ended_is_answered_503_and_the_next_one_is_made(reported: Reported) -> None:
    address = "/v1/deployments/a-model/report.html"
    with httpx.Client(base_url=reported.service.base_url, headers=reported.service.client.headers, timeout=None) as client:
        before = client.get(address).status_code
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(client.get, address)
            wait_until(multiprocessing.active_children, "a process makes the report")
            for process in multiprocessing.active_children():
                process.kill()
            ended = answer.result()
        after = client.get(address).status_code

    assert (before, ended.status_code, after) == (200, 503, 200)
    assert ended.json()["type"] == "urn:evenhand:problem:report-not-made"
    assert ended.headers["retry-after"] == "60"
    assert "Ask for the report again" in ended.text


@pytest.mark.nightly
def test_the_process_of_a_report_that_takes_too_long_is_ended(reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MAX_WORK_SECONDS", 0.0)

    with pytest.raises(ReportNotMade, match="not ready") as late:
        asyncio.run(ReportMaker(reported.stage.database.url).make(order_of(reported), "pdf"))

    assert late.value.retry_after_seconds == 60
    wait_until(lambda: not multiprocessing.active_children(), "the process has ended")


@pytest.mark.nightly
def test_a_report_that_cannot_be_made_says_so_and_the_next_one_is_made(reported: Reported) -> None:
    maker, order = ReportMaker(reported.stage.database.url), order_of(reported)

    with pytest.raises(ReportNotMade, match="our fault") as failed:
        asyncio.run(maker.make(replace(order, wanted=cast("SheetSelection", None)), "pdf"))
    made = asyncio.run(maker.make(order, "pdf"))

    assert made.startswith(b"%PDF")
    assert problem_response(failed.value, None).status_code == 503
    assert "retry-after" not in problem_response(failed.value, None).headers


@pytest.mark.thorough
def test_a_page_that_offers_reports_is_shown_where_the_machine_refuses_their_process(
    reported: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(forkserver, "connect_to_new_process", refuse)
    monkeypatch.setattr("app.pages.report_page.ensure_running", refuse)

    page = reported.service.client.get("/deployments/a-model/reports").status_code
    with pytest.raises(ReportNotMade, match="The machine refused the process that makes reports: Resource temporarily unavailable"):
        asyncio.run(ReportMaker(reported.stage.database.url).make(order_of(reported), "pdf"))

    assert page == 200


def order_of(reported: Reported) -> ReportOrder:
    """An order for the report of the last check that counted, as PDF."""
    made = ReportStamp(at=NOON, by="tests")
    run = reported.checks[2].run
    wanted = SheetSelection(kind=ReportKind.CHECK, check_id=run.id)
    return ReportOrder(deployment=reported.stage.deployment, span=run.span, wanted=wanted, made=made)
