"""Every answer, page and report of the service with figures says which records they count, and the numbers add up."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import words
from tests.scenes import HOUR, NOON, Scene, scene
from tests.service import RunningService, running_service

LINE = (
    "110 of 130 records counted; left out: beyond the newest 120 10, prediction in neither outcome list 4 (female 4),"
    " sex unknown 3, sex in no group 3."
)
OF_TABLES = (
    "110 of 137 records counted; left out: beyond the newest 120 of an hour 10, sex unknown or in no group 6,"
    " no outcome in either list 4 (female 4), in no check 7."
)
PERIOD = {"since": NOON.isoformat(), "until": (NOON + 2 * HOUR).isoformat()}


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    with running_service(database, tmp_path) as service:
        yield service


@pytest.fixture
def stage(database: Database) -> Scene:
    """130 records of an hour, of which a check reads 120; 7 of the next hour, which is not checked."""
    stage = scene(database, APPLICANT, monitor_of(SEX, max_records=120), endpoint=None)
    stage.log(applicants(10, 0, prefix="oldest"), NOON)
    newer = applicants(60, 60, 20)
    for no, row in enumerate(newer[-10:]):
        row.update({"prediction": 7} if no < 4 else {"sex": None if no < 7 else "x"})
    stage.log(newer, NOON + timedelta(minutes=30))
    stage.log(applicants(4, 3, prefix="later"), NOON + HOUR)
    return stage


def check(records: dict[str, Any], of: int) -> None:
    counts = [one["count"] for one in records["left_out"]]
    assert records["of"] == of == records["counted"] + sum(counts)
    assert all(sum(group["count"] for group in cause["groups"]) == cause["count"] for cause in records["left_out"])
    assert sum(group["of"] for group in records["groups"]) == of


@pytest.mark.thorough
def test_counted_and_left_out_add_up_wherever_figures_are(service: RunningService, stage: Scene) -> None:
    stage.label([(str(no), 1 if no % 2 else "?") for no in range(40)], NOON + timedelta(minutes=40))
    run = stage.check(NOON).run
    base, page = f"/v1/deployments/{stage.deployment.id}", f"/deployments/{stage.deployment.id}"

    def read(path: str, **query: str) -> Any:  # noqa: ANN401 - JSON
        answer = service.client.get(f"{base}{path}", params=query).raise_for_status()
        return answer.json()

    of_check = read(f"/checks/{run.id}")["records"]["as_logged"]["sex"]
    of_view = read(f"/checks/{run.id}/views/as_logged")["attributes"][0]["records"]
    (of_point,) = read("/measurements", metric="disparate_impact")["records"]
    (of_day,) = read("/measurements", metric="disparate_impact", rollup="day")["records"]

    of_labels = read(f"/checks/{run.id}")["records"]["labelled"]["sex"]
    check(of_labels, 40)
    assert of_labels["text"] == "20 of 40 records counted; left out: label in neither outcome list 20 (male 20)."
    for records in (of_check, of_view, of_point):
        check(records, 130)
        assert records["text"] == LINE
    assert (of_point["check_id"], of_point["data"], of_point["attribute"]) == (run.id, "as_logged", "sex")
    check(of_day, 120)
    assert [one["reason"] for one in of_day["left_out"]] == ["no_group", "unclassified"]
    for path in (f"{page}/checks/{run.id}?view=as_logged", page, f"{base}/checks/{run.id}/report.html"):
        assert LINE in words(service.client.get(path).raise_for_status().text), path
    for path in (f"{page}/checks/{run.id}", f"{base}/checks/{run.id}/report.html?annex=true"):
        assert of_labels["text"] in words(service.client.get(path).raise_for_status().text), path
    period = service.client.get(f"{base}/report.html", params=PERIOD | {"annex": "true"}).raise_for_status()
    assert OF_TABLES in words(period.text)
    sheets = service.client.get(f"{base}/regulator-report.json", params=PERIOD).raise_for_status().json()
    check(sheets["population"]["by_attribute"][0]["records"], 137)
