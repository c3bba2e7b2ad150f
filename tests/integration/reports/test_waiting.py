"""Reports that wait for their turn keep nothing from other requests."""

import asyncio
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import httpx
import pytest

from app.reports.making import AT_ONCE, WAITING_OF_KEY, Order, ReportMaker
from app.services.open import REQUESTS_AT_ONCE
from app.store.database.engine import Database
from tests.builders.bodies import deployment
from tests.integration.reports.reported import Reported
from tests.service import running_service


@pytest.mark.thorough
def test_many_reports_that_wait_leave_the_api_its_threads_and_connections(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Semaphore(0), threading.Event()

    async def make(_maker: ReportMaker, _order: Order) -> bytes:
        begun.release()
        await asyncio.to_thread(may_end.wait)
        return b"done"

    monkeypatch.setattr(ReportMaker, "make", make)
    taken_on = AT_ONCE + WAITING_OF_KEY
    assert taken_on > 2 * REQUESTS_AT_ONCE
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
        answers = sorted(one.result().status_code for one in reports)

    assert others == [200, 200, 200]
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert answers == [200] * taken_on + [503]


@pytest.mark.thorough
def test_a_report_whose_process_is_ended_is_answered_503_and_the_next_one_is_made(reported: Reported) -> None:
    address = "/v1/deployments/a-model/report.html"
    with httpx.Client(base_url=reported.service.base_url, headers=reported.service.client.headers, timeout=None) as client:
        before = client.get(address).status_code
        for process in multiprocessing.active_children():
            process.kill()
        ended, after = client.get(address), client.get(address).status_code

    assert (before, ended.status_code, after) == (200, 503, 200)
    assert "Ask for the report again" in ended.text
