"""What pages and reports say of an attribute that the model does not see, beside its counterfactual figure."""

from collections.abc import Iterator

import httpx
import pytest

from app.base.clock import HOUR, floor_to_hour, utc_now
from app.database.engine import Database
from tests.builders.page_words import says, words
from tests.builders.proxies import proxied_world, watched_through
from tests.scenes import Scene

PAGE = "/deployments/a-model"
LIKE_PAYLOAD = "The model does not see group, and no correlated features are set for it"
CHANCE = "Do not take the counterfactual figures of group for a sign of fairness"
READINGS = ("With everything else equal no gap", "With everything else equal the gap")


@pytest.fixture
def world(database: Database) -> Iterator[Scene]:
    with proxied_world(database, asked=500, at=floor_to_hour(utc_now()) - HOUR) as stage:
        yield stage


def everywhere(stage: Scene, reader: httpx.Client) -> list[str]:
    """The page of the deployment, that of the check in its view of logged records alone, and the first page of the report."""
    result = stage.check(floor_to_hour(utc_now()) - HOUR)
    report = words(reader.get(f"/v1{PAGE}/checks/{result.run.id}/report.html").text)
    return [
        words(reader.get(PAGE).text),
        words(reader.get(f"{PAGE}/checks/{result.run.id}", params={"view": "as_logged"}).text),
        report[: report.index("Over time")],
    ]


@pytest.mark.thorough
def test_a_figure_through_a_column_of_chance_stands_nowhere_without_the_warning(world: Scene, reader: httpx.Client) -> None:
    world.watch(watched_through("charge"))

    for said in everywhere(world, reader):
        assert CHANCE in said
        assert not [reading for reading in READINGS if reading in said]


@pytest.mark.thorough
def test_a_figure_of_copies_that_change_nothing_stands_nowhere_without_saying_so(world: Scene, reader: httpx.Client) -> None:
    for said in everywhere(world, reader):
        assert LIKE_PAYLOAD in said
        assert not [reading for reading in READINGS if reading in said]


@pytest.mark.thorough
def test_through_real_proxies_there_is_no_warning(world: Scene, reader: httpx.Client) -> None:
    world.watch(watched_through("priors", "district"))

    for said in everywhere(world, reader):
        assert says(said, "district", "priors")
        assert CHANCE not in said
        assert LIKE_PAYLOAD not in said


def test_the_configuration_warns_of_a_picked_column_of_chance(world: Scene, reader: httpx.Client) -> None:
    world.watch(watched_through("priors", "charge"))
    warned = words(reader.get(f"{PAGE}/configure/monitor").text)
    world.watch(watched_through("priors"))

    said = "charge goes together with group no more strongly than shuffled values do (strength 0.006, level of chance 0.082)"
    assert said in warned
    assert said not in words(reader.get(f"{PAGE}/configure/monitor").text)
