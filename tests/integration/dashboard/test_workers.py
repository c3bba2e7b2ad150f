"""Every page and REST say that no worker answers, to everybody who has logged in and to nobody else."""

import re
from datetime import UTC, datetime

import httpx
import pytest

from app.access.principals import Role
from tests.builders.bodies import deployment
from tests.builders.heartbeats import let_a_worker_answer, silence_workers
from tests.service import RunningService

PAGES = (
    *("/", "/alerts", "/alerts/channels", "/activity", "/settings", "/glossary", "/register", "/nowhere"),
    *("/deployments/credit-risk" + part for part in ("", "/checks", "/transactions", "/alerts", "/configure", "/nowhere")),
)
SINCE = datetime(2026, 3, 2, 12, tzinfo=UTC)
RUNBOOK = 'href="/help/operations/runbook#no-worker-answers"'
SENTENCE = "No worker has answered since 2026-03-02 12:00:00 UTC."


def notice(text: str) -> str:
    """What a page says in the place of the notice."""
    found = re.search(r'<div id="workers"[^>]*>(.*?)</div>\s*<template', text, re.DOTALL)
    return "" if found is None else found[1].strip()


@pytest.mark.nightly
def test_every_page_tells_since_when_no_worker_answers_and_stops_when_one_does(service: RunningService, reader: httpx.Client) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    never = {path: notice(reader.get(path).text) for path in PAGES}
    let_a_worker_answer(service.database)
    answering = {path: notice(reader.get(path).text) for path in PAGES}
    silence_workers(service.database, since=SINCE)
    silent = {path: notice(reader.get(path).text) for path in PAGES}

    assert [path for path, text in never.items() if "No worker has answered yet." not in text] == []
    assert [path for path, text in answering.items() if text] == []
    assert [path for path, text in silent.items() if SENTENCE not in text or RUNBOOK not in text] == []


@pytest.mark.parametrize("role", [Role.READ, Role.MANAGE])
def test_people_who_have_logged_in_see_it_and_strangers_do_not(service: RunningService, browser: httpx.Client, role: Role) -> None:
    stranger = browser.get("/login").text
    browser.post("/login", data={"key": service.key(role)})

    assert "worker" not in stranger
    assert "No worker has answered yet." in notice(browser.get("/").text)
    assert 'id="worker"' in browser.get("/glossary").text


def test_rest_tells_the_same_to_keys_that_may_read(service: RunningService) -> None:
    never = service.client.get("/v1/workers").json()
    let_a_worker_answer(service.database)
    answering = service.client.get("/v1/workers", headers=service.as_(Role.READ)).json()
    silence_workers(service.database, since=SINCE)
    silent = service.client.get("/v1/workers").json()

    assert (never["state"], never["answering"], never["last_seen_at"]) == ("never_seen", 0, None)
    assert (answering["state"], answering["answering"], answering["sentence"], answering["next_step"]) == ("answering", 1, None, None)
    assert (silent["state"], silent["last_seen_at"]) == ("silent", "2026-03-02T12:00:00Z")
    assert silent["sentence"].startswith(SENTENCE)
    assert silent["runbook"] == "docs/operations/runbook.md#no-worker-answers"
    assert service.client.get("/v1/workers", headers=service.as_(Role.INGEST)).status_code == 403
    assert httpx.get(service.base_url + "/v1/workers").status_code == 401


def test_the_routes_of_health_tell_strangers_nothing_of_workers(service: RunningService) -> None:
    silence_workers(service.database, since=SINCE)

    assert [httpx.get(f"{service.base_url}/health/{part}").json() for part in ("live", "ready")] == [{"status": "ok"}] * 2


def test_prometheus_counts_the_workers_that_answer(service: RunningService) -> None:
    before = service.client.get("/metrics").text
    let_a_worker_answer(service.database)

    assert "evenhand_workers_answering 0.0" in before
    assert "evenhand_workers_answering 1.0" in service.client.get("/metrics").text
