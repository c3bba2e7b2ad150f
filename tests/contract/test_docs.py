"""The documentation against the code: blocks are run against a real service, and tables, links and addresses are looked up."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.base.settings import Settings
from app.database.engine import Database
from app.statistics.catalogue import CATALOGUE, Metric
from app.web.problems import INTERNAL, KINDS
from tests.builders.docs_pages import (
    DOCS,
    PAGES,
    REPOSITORY,
    RUN,
    TUTORIAL,
    addresses,
    anchors,
    blocks,
    how_to_pages,
    links,
    name_of,
    pages_before,
    steps,
    table,
    tables,
)
from tests.builders.docs_steps import TOOLS, everything, run, run_and_compare
from tests.contract.refused_monitors import REFUSALS
from tests.service import running_service

LANGUAGES = {*RUN, "json", "mermaid", "py", "text", "yaml"}
"""`py` is Python for other machines: a test of its own runs it with stand-ins."""
OUTSIDE_THE_DOCUMENT = ("/docs", "/openapi.json", "/v1/preauth/validateAuth")
"""Addresses for browsers and for scripts written for OpenScale, which the OpenAPI document leaves out."""


RUN_ELSEWHERE = {TUTORIAL, *how_to_pages()}
"""The tutorial is run by `test_readme.py`, which also compares the point that it shows; the how-to pages are run in their order by
`test_how_to.py`."""

RUNNABLE = [page for page in PAGES if page.is_relative_to(DOCS) and page not in RUN_ELSEWHERE and steps(page)]


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_every_block_runs_and_prints_what_the_page_shows(page: Path, database: Database, tmp_path: Path) -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the page's blocks need {', '.join(missing)}")
    with everything(database, tmp_path) as environment:
        for earlier in pages_before(page):
            for step in steps(earlier):
                run(step, environment, tmp_path)
        for step in steps(page):
            run_and_compare(step, environment, tmp_path)


def test_a_block_is_of_a_known_language_and_json_is_json(subtests: pytest.Subtests) -> None:
    for page in PAGES:
        with subtests.test(page=name_of(page)):
            for block in blocks(page):
                assert page.name == "README.md" or not page.is_relative_to(DOCS) or block.language in LANGUAGES, block
                if block.language == "json":
                    json.loads(block.body)


def test_links_lead_somewhere() -> None:
    broken = {name_of(page): wrong for page in PAGES if (wrong := _broken_links(page))}

    assert broken == {}


def _broken_links(page: Path) -> list[str]:
    broken = []
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    return broken


def test_every_page_of_the_documentation_is_reached_from_its_beginning() -> None:
    seen: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link.partition("#")[0] and ":" not in link]

    assert [name_of(page) for page in PAGES if page.is_relative_to(DOCS) and page not in seen] == []


def test_addresses_exist(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        paths: dict[str, dict[str, Any]] = service.client.get("/openapi.json").json()["paths"]
    templates = {re.compile(re.sub(r"\{\w+\}", r"[^/]+", path)): item for path, item in paths.items()}

    unknown = []
    for page in PAGES:
        for method, path in addresses(page):
            item = next((item for template, item in templates.items() if template.fullmatch(path)), None)
            known = path.startswith(OUTSIDE_THE_DOCUMENT) or (item is not None and (method is None or method.lower() in item))
            if not known:
                unknown.append((name_of(page), method, path))
    assert unknown == []


def test_the_settings_table_is_that_of_the_code() -> None:
    expected = {}
    for name, field in Settings.model_fields.items():
        variable = str(field.validation_alias or f"EVENHAND_{name.upper()}")
        expected[variable] = "by cores" if field.default_factory else "" if field.default in (None, "") else str(field.default)

    assert {row[0]: row[1] for row in table(DOCS / "operations" / "settings.md", "Variable")} == expected


def test_the_telemetry_table_is_what_the_service_exposes(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        service.client.get("/health/ready")
        text = service.client.get("/metrics").text
    # `…_created` is when a counter began; it is there in a process by itself, and not under a supervisor.
    families = {
        family.name: family
        for family in text_string_to_metric_families(text)
        if family.name.startswith("evenhand_") and not family.name.endswith("_created")
    }
    written = {row[0]: row[1] for row in table(DOCS / "operations" / "monitoring.md", "Name")}

    assert written == {f"{name}_total" if family.type == "counter" else name: family.type for name, family in families.items()}


def test_the_table_of_errors_is_that_of_the_code() -> None:
    written = {(int(row[0]), row[1]) for row in table(DOCS / "reference.md", "Status")}

    assert written <= {(kind.status, kind.type) for kind in (*KINDS.values(), INTERNAL)}


def test_the_tables_of_metrics_are_the_catalogue() -> None:
    page = DOCS / "concepts" / "metrics.md"
    written = {row[0]: (row[1], row[2]) for row in tables(page, "Key")}

    assert written == {metric.key: (metric.formula, _limits_in_words(metric)) for metric in CATALOGUE.values()}


def _limits_in_words(metric: Metric) -> str:
    lower, upper = metric.limits
    if lower is not None and upper is not None:
        return f"{lower:g} to {upper:g}"
    return f"from {lower:g}" if lower is not None else f"to {upper:.4g}" if upper is not None else ""


def test_the_rooms_are_those_of_the_import_contract() -> None:
    page = DOCS / "ARCHITECTURE.md"
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(block for block in blocks(page) if block.word == "layers").body.splitlines()

    assert layers == next(contract["layers"] for contract in contracts if contract["id"] == "rooms")


def test_every_change_of_a_monitor_that_is_refused_names_field_and_fault(database: Database, tmp_path: Path) -> None:
    page = DOCS / "how-to" / "set-a-monitor.md"
    accepted = json.loads(re.search(r"<<'JSON'\n(.*?)\nJSON", steps(page)[0].run.body, re.DOTALL)[1])  # type: ignore[index]
    with everything(database, tmp_path) as environment:
        for earlier in pages_before(page):
            run(steps(earlier)[0], environment, tmp_path)
        headers = {"Authorization": f"Bearer {environment['KEY']}"}
        with httpx.Client(base_url=environment["EVENHAND"], headers=headers) as client:
            for change, field, message in REFUSALS:
                answer = client.put("/v1/deployments/small-loans/fairness-monitor", json=_changed(accepted, json.loads(change)))

                assert answer.status_code == 422, change
                assert {"field": field, "message": message} in answer.json()["errors"], (change, answer.json()["errors"])


def _changed(monitor: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(monitor))
    for name, value in change.items():
        place = re.fullmatch(r"attributes\[(\d)\]", name)
        if place:
            changed["attributes"][int(place[1])] |= value
        else:
            changed[name] = value
    return changed
