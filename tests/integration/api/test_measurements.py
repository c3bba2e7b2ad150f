"""Series over HTTP: filters, pages, roll-ups, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.database.engine import Database
from app.domain.deployment import Endpoint
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.builders.check_results import read_measurements
from tests.builders.page_words import says
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import RunningService, running_service

ADDRESS = "/v1/deployments/a-model/measurements"
LIGHT_BYTES = 20_000
"""Max bytes of a check, which programs poll."""


@pytest.fixture
def measured(database: Database, tmp_path: Path, memory: SceneMemory) -> Iterator[RunningService]:
    """The service over a deployment with three checked hours, the last without records. Its model has gone."""

    def make() -> Scene:
        with serve(RuleScorer()) as server:
            stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))
            for hour in range(2):
                stage.log(applicants(20, 20, 2 + hour, prefix=str(hour)), NOON + hour * HOUR)
            for hour in range(3):
                stage.check(NOON + hour * HOUR, trigger="schedule")  # type: ignore[arg-type]
            return stage

    memory.recall(database, make)
    with running_service(database, tmp_path) as service:
        yield service


def found(service: RunningService, **filters: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    answer = service.client.get(ADDRESS, params=filters)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["measurements"])


def test_a_series_is_filtered_oldest_first_and_every_point_can_be_traced(measured: RunningService) -> None:
    points = found(measured, metric="disparate_impact", data="as_logged", attribute="sex", group="female")

    assert [point["value"] for point in points] == pytest.approx([0.1, 0.15, 0.15])
    assert [point["at"] for point in points] == ["2026-03-02T13:00:00Z", "2026-03-02T14:00:00Z", "2026-03-02T15:00:00Z"]
    assert [point["carried_forward"] for point in points] == [False, False, True]
    for point in points:
        assert point["lower"] <= point["value"] <= point["upper"]
        assert point["verdict"] == "unfair"
        assert point["details"]["monitored_n"] == 20
        assert measured.client.get(f"/v1/deployments/a-model/checks/{point['check_id']}").json()["state"] == "succeeded"


def test_a_metric_that_checks_do_not_store_is_measured_when_it_is_asked_for_page_by_page(measured: RunningService) -> None:
    whole = found(measured, metric="counterfactual_disparate_impact_before", attribute="sex", scope="worst")
    stored = found(measured, metric="disparate_impact", data="counterfactual", attribute="sex", scope="worst")
    cursor, pages = None, []
    for _ in range(10):
        answer = measured.client.get(ADDRESS, params={"metric": "lifted_rate", "limit": 1} | ({} if cursor is None else {"cursor": cursor}))
        pages += answer.json()["measurements"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            break

    same = ("value", "lower", "upper", "n", "verdict", "at", "check_id", "carried_forward", "group", "worst_of")
    assert [[figure[name] for name in same] for figure in whole] == [[figure[name] for name in same] for figure in stored]
    assert len(whole) == 3
    assert pages == found(measured, metric="lifted_rate", data="mitigated")
    assert {figure["metric"] for figure in found(measured, data="mitigated", limit=1000)} == {
        *("selection_rate_before", "selection_rate_after", "disparate_impact_before", "disparate_impact_after")
    }


def test_worst_asks_for_the_marked_group(measured: RunningService) -> None:
    worst = found(measured, metric="disparate_impact", data="as_logged", scope="worst")

    assert worst == found(measured, metric="disparate_impact", data="as_logged", scope="group")
    assert [(figure["scope"], figure["group"], figure["worst_of"]) for figure in worst] == [("group", "female", 1)] * 3


def test_data_without_the_metric_are_answered_with_those_that_have_it(measured: RunningService) -> None:
    answer = measured.client.get(ADDRESS, params={"metric": "disparate_impact", "data": "mitigated"})

    assert answer.status_code == 422
    assert "as_logged, counterfactual" in answer.text


def test_one_question_takes_several_metrics(measured: RunningService) -> None:
    points = found(measured, metric=["disparate_impact", "statistical_parity_difference"], data="as_logged", scope="group", limit=4)
    unknown = measured.client.get(ADDRESS, params={"metric": ["disparate_impact", "luck"]})

    assert [point["metric"] for point in points[:2]] == ["disparate_impact", "statistical_parity_difference"]
    assert {point["metric"] for point in points} == {"disparate_impact", "statistical_parity_difference"}
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (422, "metric")


def test_a_measurement_says_in_words_what_its_value_says(measured: RunningService, snapshot: SnapshotAssertion) -> None:
    point = found(measured, metric="disparate_impact", data="as_logged", scope="group")[0]
    listed = read_measurements(measured.client, f"/v1/deployments/a-model/checks/{point['check_id']}")

    assert says(point["sentence"], "100", "female", "10", "100", "male", "100")
    assert point["sentence"] == snapshot
    assert point["sentence"] in [figure["sentence"] for figure in listed]
    assert all(figure["sentence"].endswith(".") for figure in listed)
    missing = next(figure for figure in listed if figure["metric"] == "accuracy")
    assert missing["sentence"] == snapshot


def test_a_check_is_light_and_its_figures_are_filtered_as_a_series_is(measured: RunningService) -> None:
    address = f"/v1/deployments/a-model/checks/{found(measured, metric='disparate_impact')[0]['check_id']}"
    answer = measured.client.get(address)
    everything = read_measurements(measured.client, address)

    (headline,) = answer.json()["headlines"]
    assert (headline["attribute"], [(figure["metric"], figure["data"]) for figure in headline["figures"]]) == (
        "sex",
        [("disparate_impact", "as_logged"), ("disparate_impact", "counterfactual")],
    )
    assert all(figure in everything for figure in headline["figures"])
    assert "measurements" not in answer.json()
    assert len(answer.content) <= LIGHT_BYTES
    assert read_measurements(measured.client, address, limit="7") == everything
    chosen = read_measurements(measured.client, address, metric="disparate_impact", data="as_logged", scope="group", group="female")
    assert chosen == [
        figure for figure in everything if (figure["metric"], figure["data"], figure["scope"]) == ("disparate_impact", "as_logged", "group")
    ]
    assert {table["data"] for table in measured.client.get(f"{address}/tables").json()["tables"]} > {"as_logged", "counterfactual"}
    for refused in ("since", "rollup"):
        problem = measured.client.get(f"{address}/measurements", params={refused: "2026-03-02T14:00:00+00:00"})
        assert (problem.status_code, [error["field"] for error in problem.json()["errors"]]) == (422, [f"query.{refused}"])


def test_times_are_half_open(measured: RunningService) -> None:
    points = found(measured, metric="perfect_equality", since="2026-03-02T14:00:00+00:00", until="2026-03-02T16:00:00+01:00")

    assert [point["at"] for point in points] == ["2026-03-02T14:00:00Z"]


@pytest.mark.nightly
def test_pages_follow_each_other_without_a_gap_or_a_double(measured: RunningService) -> None:
    everything = found(measured, limit=1000)
    pages: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = measured.client.get(ADDRESS, params={"limit": 7, **cursor}).json()
        pages += page["measurements"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert pages == everything
    assert len(pages) > 21


def test_a_day_sums_up_its_hours_counts(measured: RunningService) -> None:
    day = found(measured, rollup="day", metric="disparate_impact", data="as_logged", scope="group")

    assert [(point["value"], point["n"], point["hours"], point["at"]) for point in day] == [
        (pytest.approx(5 / 40), 80, 2, "2026-03-02T00:00:00Z")
    ]
    assert day[0]["details"]["monitored_favourable"] == 5


def test_a_filter_that_cannot_be_meant_is_refused_by_name(measured: RunningService, subtests: pytest.Subtests) -> None:
    for filters, field in (
        ({"metric": "fairness"}, "metric"),
        ({"data": "payload"}, "data"),
        ({"since": "2026-03-02T14:00:00"}, "since"),
        ({"until": "yesterday"}, "until"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "until"),
        ({"rollup": "hour"}, "rollup"),
        ({"limit": "0"}, "limit"),
        ({"cursor": "???"}, "cursor"),
        ({"attribute": "\x00"}, "attribute"),
    ):
        with subtests.test(filters=filters, field=field):
            answer = measured.client.get(ADDRESS, params=filters)

            assert answer.status_code == 422
            assert [problem["field"] for problem in answer.json()["errors"]] == [field]


def test_an_old_word_for_data_is_answered_with_the_new_one(measured: RunningService) -> None:
    check = measured.client.get("/v1/deployments/a-model/checks").json()["checks"][0]["id"]
    rule = {"name": "Mine", "condition": {"kind": "verdict", "data": ["balanced"]}}
    refused = [
        measured.client.get(ADDRESS, params={"data": "feedback"}),
        measured.client.get(f"/v1/deployments/a-model/checks/{check}/views/payload_perturbed"),
        measured.client.put("/v1/deployments/a-model/alert-rules/mine", json=rule),
    ]

    assert [answer.status_code for answer in refused] == [422, 422, 422]
    messages = [problem["message"] for answer in refused for problem in answer.json()["errors"]]
    assert [message.partition(", which is called ")[2] for message in messages] == [
        "'labelled' now",
        "'openscale' now",
        "'counterfactual' now",
    ]


def test_reading_takes_the_permission_to_read(measured: RunningService) -> None:
    assert measured.client.get(ADDRESS, headers=measured.as_(Role.INGEST)).status_code == 403
    assert measured.client.get(ADDRESS, headers=measured.as_(Role.READ)).status_code == 200
