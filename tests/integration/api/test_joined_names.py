"""Columns and values whose names hold the sign that joins names: measured, stored, listed and found like any others."""

import html
import re

import httpx
import pytest

from app.database.engine import Database
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import Comparison, MonitoredAttribute
from tests.builders.applicants import monitor_of
from tests.builders.check_results import read_results
from tests.scenes import HOUR, NOON, Result, Scene, scene
from tests.service import RunningService

FIRST, SECOND = "a × b", "c × d × e"
BOTH = f"{FIRST} × {SECOND}"
MONITORED, REFERENCE = "f × g", "m"
GROUP = f"{MONITORED} × x × y"
PATH = "/v1/deployments/a-model"


@pytest.fixture
def watched(database: Database) -> Scene:
    columns = [Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in (FIRST, SECOND)]
    attributes = [
        MonitoredAttribute(feature=FIRST, monitored=(MONITORED,), reference=(REFERENCE,)),
        MonitoredAttribute(feature=SECOND, monitored=("x × y",)),
    ]
    return scene(database, columns, monitor_of(*attributes, intersections=((FIRST, SECOND),)), endpoint=None)


@pytest.fixture
def checked(watched: Scene) -> Result:
    """Forty records, ten of each combination; of the monitored one two are favourable, of any other eight."""
    rows = [
        {FIRST: first, SECOND: second, "prediction": int(place < (2 if (first, second) == (MONITORED, "x × y") else 8))}
        for first in (MONITORED, REFERENCE)
        for second in ("x × y", "z")
        for place in range(10)
    ]
    watched.log([{**row, "id": str(number)} for number, row in enumerate(rows)], NOON)
    return watched.check(NOON)


@pytest.fixture
def reader(service: RunningService) -> httpx.Client:
    return service.client


def test_measurements_and_tables_keep_their_columns(watched: Scene, checked: Result) -> None:
    assert checked.value("favourable_rate", "as_logged", BOTH, GROUP) == 0.2
    compared = {Comparison((FIRST,)), Comparison((SECOND,)), Comparison((FIRST, SECOND))}
    assert {table.comparison for table in checked.tables} == compared
    assert {figure.comparison for figure in checked.measurements if figure.attribute} == compared

    carried = watched.check(NOON + HOUR)
    assert {figure.comparison for figure in carried.measurements if figure.attribute} == compared


def test_series_and_roll_ups_are_found_by_the_label(checked: Result, reader: httpx.Client) -> None:
    wanted = {"metric": "favourable_rate", "attribute": BOTH, "group": GROUP}
    found = [reader.get(f"{PATH}/measurements", params=wanted | more).json() for more in ({}, {"rollup": "day"})]

    assert [(check["measurements"][0]["attribute"], check["measurements"][0]["value"]) for check in found] == [(BOTH, 0.2)] * 2
    assert "columns_compared" not in str(found)
    detail = read_results(reader, f"{PATH}/checks/{checked.run.id}")
    assert {table["attribute"] for table in detail["tables"]} == {FIRST, SECOND, BOTH}
    assert "columns_compared" not in str(detail)


def test_the_views_of_a_check_list_the_columns(checked: Result, reader: httpx.Client) -> None:
    view = reader.get(f"{PATH}/checks/{checked.run.id}/views/as_logged").json()

    assert [(attribute["attribute"], attribute["features"]) for attribute in view["attributes"]] == [
        (FIRST, [FIRST]),
        (SECOND, [SECOND]),
        (BOTH, [FIRST, SECOND]),
    ]


def test_records_of_a_group_are_found(checked: Result, reader: httpx.Client) -> None:
    found = reader.get(f"{PATH}/payload-records", params={"check": checked.run.id, "attribute": BOTH, "group": GROUP}).json()

    assert {record["id"] for record in found["payload_records"]} == {str(number) for number in range(10)}


@pytest.mark.nightly
def test_every_page_opens_and_only_the_intersection_is_called_one(checked: Result, service: RunningService) -> None:
    paths = ["", "/checks", f"/checks/{checked.run.id}", "/transactions", "/transactions/1", "/configure"]
    with service.new_client(headers={"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}) as browser:
        browser.post("/login", data={"key": service.admin_key})
        pages = {path: browser.get(f"/deployments/a-model{path}") for path in paths}
        drawers = set(re.findall(r'href="(\?[^"]*)#drawer"', pages[f"/checks/{checked.run.id}"].text))
        said = {link: browser.get(f"/deployments/a-model/checks/{checked.run.id}{html.unescape(link)}").text for link in drawers}

    assert {path: page.status_code for path, page in pages.items()} == dict.fromkeys(paths, 200)
    assert sorted(text.count("no counterfactual figure of attributes") for text in said.values()) == [0, 0, 0, 0, 1]


@pytest.mark.usefixtures("checked")
def test_an_alert_rule_names_the_intersection(service: RunningService) -> None:
    condition = {"kind": "evidence", "attributes": [FIRST, BOTH, f"{FIRST} × c"]}
    answer = service.client.put(f"{PATH}/alert-rules/mine", json={"name": "Mine", "condition": condition})

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["condition.attributes[2]"]
    condition["attributes"] = [FIRST, BOTH]
    service.client.put(f"{PATH}/alert-rules/mine", json={"name": "Mine", "condition": condition}).raise_for_status()
