"""Display names of groups on pages and in bodies that list records, explain one figure, or give an overview."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import DisplayNames, GroupName
from app.overview.fleet import DeploymentState
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says, words
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import RunningService

NAMES = DisplayNames(
    groups=(GroupName(feature="sex", group="female", name="women"), GroupName(feature="sex", group="male", name="men <b>"))
)
RECORDS = "/deployments/a-model/transactions"
CSV = "/v1/deployments/a-model/payload-records.csv"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Twenty men and twenty women under a monitor with display names, checked."""

    def make() -> Scene:
        monitor = replace(monitor_of(SEX), names=NAMES)
        watched = scene(database, APPLICANT, monitor, endpoint=Endpoint(url=server.url))
        watched.log(applicants(20, 20, 4), NOON)
        watched.check(NOON)
        return watched

    return memory.recall(database, make)


@pytest.mark.usefixtures("stage")
def test_transactions_name_groups_in_rows_and_filters(reader: httpx.Client) -> None:
    listed, one = reader.get(RECORDS).text, reader.get(f"{RECORDS}/20").text

    assert "women monitored" in words(listed)
    assert "men <b> reference" in words(listed)
    assert ">sex: women</option>" in listed
    assert "men <b>" not in listed
    assert "women, monitored" in words(one)


def test_the_page_of_a_figure_names_its_groups(stage: Scene, reader: httpx.Client) -> None:
    (check,) = reader.get("/v1/deployments/a-model/checks").json()["checks"]
    figure = "metric=disparate_impact&data=as_logged&scope=group&attribute=sex&group=female"

    page = words(reader.get(f"/deployments/a-model/checks/{check['id']}/figure?{figure}").text)

    assert stage.monitor().names == NAMES
    assert "Disparate impact: women (sex)" in page
    assert says(page, "women", "20", "men <b>", "100")
    difference = figure.replace("disparate_impact", "statistical_parity_difference")
    said = words(reader.get(f"/deployments/a-model/checks/{check['id']}/figure?{difference}").text)
    assert re.search(r"−0\.8\d* .* −0\.\d+ to −0\.\d+", said.replace("\n", " "))


@pytest.mark.usefixtures("stage")
def test_the_overview_names_the_worst_group_and_takes_all_states_as_a_filter(service: RunningService) -> None:
    answer = service.client.get("/v1/overview", params={"state": [state.value for state in DeploymentState]})

    assert answer.status_code == 200, answer.text
    worst = answer.json()["deployments"][0]["worst"]
    assert (worst["group"], worst["group_name"]) == ("female", "women")
    assert (worst["disadvantaged_group"], worst["disadvantaged_name"]) == ("female", "women")


@pytest.mark.usefixtures("stage")
def test_the_records_that_fit_a_filter_are_sent_as_csv(service: RunningService, reader: httpx.Client) -> None:
    women = list(csv.DictReader(io.StringIO(service.client.get(CSV, params={"attribute": "sex", "group": "female"}).text)))
    few = service.client.get(CSV, params={"limit": 3})

    assert [woman["id"] for woman in women] == [str(no) for no in range(39, 19, -1)]
    assert women[0]["group of sex"] == "female"
    assert women[0]["change of sex"] == "gained"
    assert women[0]["outcome"] == "unfavourable"
    assert few.headers["content-disposition"] == 'attachment; filename="a-model-payload-records.csv"'
    assert len(few.text.splitlines()) == 4
    assert service.client.get(CSV, params={"group": "female"}).status_code == 422
    assert (
        'href="/v1/deployments/a-model/payload-records.csv?outcome=unfavourable" download'
        in reader.get(f"{RECORDS}?outcome=unfavourable").text
    )


def test_a_text_that_a_spreadsheet_would_run_is_harmless_in_the_csv_unless_raw(stage: Scene, service: RunningService) -> None:
    stage.log([{**applicants(0, 1)[0], "id": "=1+1"}], NOON + HOUR)

    found = [service.client.get(CSV, params={"limit": 1} | raw).text.splitlines()[1] for raw in ({}, {"raw": "true"})]

    assert [cell.partition(",")[0] for cell in found] == ["'=1+1", "=1+1"]
