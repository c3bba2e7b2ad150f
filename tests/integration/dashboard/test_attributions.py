"""What carries the gap on the page of a deployment, and why it changed on that of an alert."""

import re
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.base.clock import HOUR, floor_to_hour, utc_now
from app.database.engine import Database
from app.domain.check import Span
from app.domain.deployment import Endpoint
from app.domain.monitor import DisplayNames, GroupName
from app.evidence.attribution.attribution import AttributionLimits
from app.evidence.attribution.queries import queue_manual
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.attributions import run_all
from tests.builders.page_words import says, words
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import Scene, scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
EXPLORE = f"{PAGE}/explore"
THEN = floor_to_hour(utc_now()) - HOUR


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """A watched deployment with an hour of records."""
    with serve(RuleScorer()) as server:
        found = scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))
        found.log([{**applicant, "income": 20_000 + 70_000 * (no % 3 == 0)} for no, applicant in enumerate(applicants(60, 60))], THEN)
        yield found


def attribute(stage: Scene, *, pairs: int | None = None) -> None:
    with stage.database.transaction() as session:
        limits = AttributionLimits(pairs=pairs)
        span = Span(start=THEN, end=THEN + HOUR)
        queue_manual(session, stage.deployment.no, span, check_id=None, limits=limits, requested_by="a person")


def test_before_anything_is_attributed_the_page_offers_to_show_the_cost(service: RunningService, stage: Scene) -> None:
    keys = (service.as_(Role.MANAGE), service.as_(Role.READ))

    of_manager, of_reader = (words(service.client.get(EXPLORE, headers={**key, "Accept": "text/html"}).text) for key in keys)

    assert "Drivers" in of_manager
    assert "Nothing has been attributed yet." in of_reader
    assert "how many rows the model is asked about" in of_manager
    assert "how many rows the model is asked about" not in of_reader
    assert stage.deployment.id == "a-model"


def test_each_driver_has_a_bar_with_its_interval(stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    attribute(stage)
    run_all(stage.database)

    page = reader.get(EXPLORE).text
    (table,) = re.findall(r'<table class="drivers">.*?</table>', page, re.DOTALL)

    (found,) = reader.get("/v1/deployments/a-model/attributions").json()["attributions"]
    shares = {share["features"][0]: share["share"]["value"] for share in found["result"]["gaps"][0]["hybrids"]["shares"]}
    rows = re.findall(r"<bdi>(.*?)</bdi>.*?<rect x=\"([\d.]+)%\" width=\"([\d.]+)%\"", table, re.DOTALL)
    widths = {words(name): float(width) for name, _, width in rows}
    assert next(iter(widths)) == "sex"
    assert widths["income"] / widths["sex"] == pytest.approx(shares["income"] / shares["sex"], rel=0.01)
    (zero,) = set(re.findall(r'class="tick equal" x1="([\d.]+)%"', table))
    sides = {words(name): "widens" if float(left) >= float(zero) else "narrows" for name, left, _ in rows}
    ends = re.findall(r"<bdi>(.*?)</bdi>(?:(?!</tr>).)*?, (widens|narrows) the gap", table, re.DOTALL)
    assert {words(name): end for name, end in ends} == sides
    gap = found["result"]["gaps"][0]["gap"]
    assert sides == {name: "widens" if shares[name] * gap > 0 else "narrows" for name in sides}
    assert says(words(table), "narrows the gap", "widens the gap", "Points")
    assert "caused" not in words(page)
    assert words(table) == snapshot


def test_records_of_the_window_and_of_earlier_hours_are_counted_apart_and_groups_have_their_names(
    database: Database, reader: httpx.Client
) -> None:
    names = DisplayNames(
        groups=(GroupName(feature="sex", group="female", name="women"), GroupName(feature="sex", group="male", name="men"))
    )
    monitor = replace(monitor_of(SEX), names=names, min_records=100)
    stage = scene(database, APPLICANT, monitor, endpoint=None)
    stage.log([applicant | {"id": f"early-{no}"} for no, applicant in enumerate(applicants(60, 60, 20))], THEN - HOUR)
    stage.log([applicant | {"id": f"late-{no}"} for no, applicant in enumerate(applicants(5, 5, 2))], THEN)
    attribute(stage)
    run_all(stage.database)

    said = words(reader.get(EXPLORE).text)
    (found,) = reader.get("/v1/deployments/a-model/attributions").json()["attributions"]
    result = found["result"]

    assert result["additional_records"] > 0
    own = result["records"] - result["additional_records"]
    assert own == 10
    assert f"{result['records']} records up to" in said
    assert f"{result['additional_records']} of them of earlier hours" in said
    assert says(said, "women")
    assert not says(said, "female")


def test_without_an_endpoint_the_parts_of_each_feature_are_on_the_page(
    database: Database, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    stage.log(applicants(60, 60, 20), THEN)
    attribute(stage)
    run_all(stage.database)

    said = words(reader.get(EXPLORE).text)

    assert said == snapshot


def test_one_that_waits_or_failed_is_said_next_to_the_newest_result(
    stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    attribute(stage)
    run_all(stage.database)
    attribute(stage, pairs=3)

    waiting = reader.get(EXPLORE).text
    stage.watch(replace(stage.monitor(), attributes=(replace(SEX, feature="nothing"),)))
    run_all(stage.database)
    failed = reader.get(EXPLORE).text

    assert "data-attribution=" in waiting
    assert "data-attribution=" not in failed
    assert words(waiting) == snapshot(name="waiting")
    assert words(failed) == snapshot(name="failed")


def test_one_that_is_under_way_can_be_cancelled_and_a_result_deleted(service: RunningService, stage: Scene) -> None:
    keys = (service.as_(Role.MANAGE), service.as_(Role.READ))
    attribute(stage)
    waiting = [service.client.get(EXPLORE, headers={**key, "Accept": "text/html"}).text for key in keys]
    run_all(stage.database)
    done = [service.client.get(EXPLORE, headers={**key, "Accept": "text/html"}).text for key in keys]

    assert ["Cancel this attribution" in page for page in waiting] == [True, False]
    assert re.search(r'id="attribute-cancel" data-api="POST /v1/deployments/a-model/attributions/[0-9a-f-]{36}/cancellation"', waiting[0])
    # Hidden until one is started on the page.
    assert re.search(r'attributions/\{id\}/cancellation" data-bodyless data-ask="[^"]+" hidden>', done[0])
    assert ["Delete this attribution" in page for page in done] == [True, False]
    assert re.search(r'data-api="DELETE /v1/deployments/a-model/attributions/[0-9a-f-]{36}"', done[0])
