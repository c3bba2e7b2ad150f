import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import CheckCancelled, ScoringFailed
from app.base.values import Range
from app.database.engine import Database
from app.deployments.queries import Deployments, build_definition
from app.domain.check import Failure, Progress, Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.models.faulty import Fault, closed_url, faulty
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene

REGION = Column(name="region", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


def change(stage: Scene, **content: object) -> None:
    """Changes the deployment's definition."""
    with stage.database.transaction() as session:
        stage.deployment = Deployments(session, PlainSealer()).change(
            stage.deployment, replace(build_definition(stage.deployment), **content)
        )


def test_every_flip_is_found_gained_and_lost_apart(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)

    result = stage.check(NOON)

    # 15 poor women would be approved as men, 20 poor men refused as women; 5 rich women stay approved.
    assert result.value("flip_rate", "counterfactual", "sex", scope="attribute") == pytest.approx(35 / 40)
    counts = result.get("flip_rate", "counterfactual", "sex", scope="attribute").details.counts
    assert (counts["gained"], counts["lost"], counts["n"]) == (15, 20, 40)
    assert result.value("perfect_equality", "openscale", "sex") == 1.0
    assert result.value("disparate_impact", "counterfactual", "sex", "female") == pytest.approx(5 / 40)


def test_counterfactual_figures_are_of_the_present_model_alone(stage: Scene, server: ModelServer) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON)
    change(stage, model_revision="2")
    stage.log(applicants(12, 12, 12, prefix="new"), NOON + HOUR)
    stage.watch(monitor_of(min_records=64))

    result = stage.check(NOON + HOUR)

    # What revision 1 said of its records cannot be held against what revision 2 says of their copies.
    assert server.counts.rows == (40 + 2) + (24 + 1)  # one more for 20 copies, unchanged
    assert result.get("disparate_impact", "counterfactual", "sex", "female").n == 24
    assert result.value("disparate_impact", "counterfactual", "sex", "female") == pytest.approx(12 / 24)
    assert result.get("disparate_impact", "as_logged", "sex", "female").n == 64
    assert result.run.window is not None
    assert result.run.window["records_of_other_revisions"] == 40


def test_without_a_record_of_the_present_revision_counterfactual_figures_are_null(stage: Scene, server: ModelServer) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    change(stage, model_revision="2")

    result = stage.check(NOON)

    assert result.get("disparate_impact", "counterfactual", "sex", scope="worst").verdict == "not_computable"
    assert result.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(0.25)
    assert server.counts.rows == 0


class OtherWords(RuleScorer):
    """The rule, answering yes and no."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        return [("yes" if prediction else "no", probability) for prediction, probability in super().predict(columns, rows)]


def test_a_model_that_speaks_of_other_outcomes_gets_an_example(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    with serve(OtherWords()) as other:
        change(stage, endpoint=Endpoint(url=other.url))
        found = stage.check(NOON)

    assert "in neither outcome list" in (found.run.reason or "")
    assert stage.model_answer(found.run) in {"'yes'", "'no'"}
    assert stage.count("counterfactuals") == 0


@pytest.mark.nightly
def test_the_order_to_stop_is_heard_while_a_slow_model_keeps_a_page_waiting(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    heard: list[str] = []

    def stop_when_asking(progress: Progress) -> None:
        heard.append(progress.step)
        if heard.count("asking the model about copies") > 1:
            raise CheckCancelled("stop")

    stage.report = stop_when_asking
    with faulty(Fault.SLOW, delay_seconds=30) as slow:
        change(stage, endpoint=Endpoint(url=slow.url, timeout_seconds=60))
        with pytest.raises(CheckCancelled):
            stage.check(NOON)

        assert slow.counts.rows == 0  # it has answered nothing yet


def test_values_added_to_the_monitor_cost_calls_for_the_new_copies_only(stage: Scene, server: ModelServer) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON)
    stage.watch(monitor_of(replace(SEX, reference=("male", "man"))))
    stage.check(NOON)

    assert server.counts.rows == (40 + 2) + 20


def test_the_counterfactual_data_of_a_meta_field_is_its_payload_at_no_call_and_the_check_says_so(
    database: Database, server: ModelServer, snapshot: SnapshotAssertion
) -> None:
    attribute = MonitoredAttribute(feature="region", monitored=("north",), reference=("south",))
    stage = scene(database, APPLICANT, monitor_of(attribute), endpoint=Endpoint(url=server.url), meta=(REGION,))
    # 15 of 30 in the north are approved, 10 of 10 in the south.
    stage.log(({**row, "region": "north" if no >= 10 else "south"} for no, row in enumerate(applicants(20, 20, 5))), NOON)

    result = stage.check(NOON)

    assert server.counts.rows == 0
    for data in ("as_logged", "counterfactual"):
        assert result.value("disparate_impact", data, "region", "north") == pytest.approx(0.5)
    assert result.value("perfect_equality", "openscale", "region") == 1.0
    assert result.get("flip_rate", "counterfactual", "region", scope="attribute").reason == snapshot
    assert result.run.window is not None
    assert result.run.window["attributes_unseen_by_model"] == ["region"]


def test_without_an_endpoint_payload_is_measured_and_counterfactual_is_null_with_the_reason(
    database: Database, snapshot: SnapshotAssertion
) -> None:
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    stage.log(applicants(20, 20, 5), NOON)

    result = stage.check(NOON)

    assert result.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(0.25)
    counterfactual = result.get("disparate_impact", "counterfactual", "sex", scope="worst")
    assert (counterfactual.value, counterfactual.verdict) == (None, "not_computable")
    assert counterfactual.reason == snapshot


@pytest.mark.parametrize(
    "fault", [Fault.STATUS_404, Fault.WRONG_LENGTH, Fault.WRONG_TYPES, Fault.NOT_JSON, Fault.NULL_PREDICTION, Fault.REDIRECT]
)
def test_a_model_that_misbehaves_leaves_the_figures_as_logged_and_the_next_check_asks_again(stage: Scene, fault: Fault) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.label([(str(number), 1) for number in range(40)], NOON)
    good = stage.deployment.endpoint
    with faulty(fault) as bad:
        change(stage, endpoint=Endpoint(url=bad.url, page_size=10))
        without = stage.check(NOON)
    left = [stage.count(table) for table in ("counterfactuals", "copy_targets")]
    change(stage, endpoint=good)
    again = stage.check(NOON)

    assert left == [0, 0]
    assert (without.run.state, without.run.failure) == ("succeeded", Failure.SCORING_FAILED)
    assert without.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(0.25)
    assert without.value("accuracy", "labelled", scope="overall") == pytest.approx(25 / 40)
    missing = [figure for figure in without.measurements if figure.data in ("counterfactual", "openscale")]
    assert {(figure.value, figure.verdict) for figure in missing} == {(None, "not_computable")}
    assert all((figure.reason or "").startswith("copies could not be scored: The model's") for figure in missing)
    assert (again.run.state, again.run.failure) == ("succeeded", None)
    assert again.value("disparate_impact", "counterfactual", "sex", "female") is not None


def test_the_model_is_asked_again_before_an_hourly_check_does_without_it(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    with faulty(Fault.STATUS_404) as bad:
        change(stage, endpoint=Endpoint(url=bad.url))
        with pytest.raises(ScoringFailed, match="404"):
            stage.check(NOON, trigger=Trigger.SCHEDULE)


def test_a_check_without_the_model_is_not_carried_forward(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    with faulty(Fault.STATUS_404) as bad:
        change(stage, endpoint=Endpoint(url=bad.url))
        stage.check(NOON, trigger=Trigger.REQUEST)
        again = stage.check(NOON + HOUR, trigger=Trigger.REQUEST)

    assert again.run.carried_from is None
    assert again.run.failure == Failure.SCORING_FAILED


def test_a_model_that_fails_on_the_last_page_leaves_nothing_of_the_first_ones(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    with faulty(Fault.STATUS_404, left=1) as bad:
        change(stage, endpoint=Endpoint(url=bad.url, page_size=10, concurrency=1))
        found = stage.check(NOON)

    assert "404" in (found.run.reason or "")
    assert stage.count("counterfactuals") == 0


@pytest.mark.nightly
def test_a_closed_port_is_named_in_the_reason(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    change(stage, endpoint=Endpoint(url=closed_url(), page_size=1000))

    assert "127.0.0.1" in (stage.check(NOON).run.reason or "")


def test_reference_left_out_means_every_other_value_of_the_window(stage: Scene) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("female",))))
    stage.log(applicants(20, 20, 5) + [{**row, "sex": "man", "id": f"m{no}"} for no, row in enumerate(applicants(5, 0))], NOON)

    result = stage.check(NOON)

    assert result.get("favourable_rate", "as_logged", "sex", scope="reference").details.counts["n"] == 25


def test_reference_left_out_of_many_values_is_everybody_else_and_copies_say_why_they_are_missing(
    database: Database, server: ModelServer
) -> None:
    attribute = MonitoredAttribute(feature="region", monitored=("north",))
    endpoint = Endpoint(url=server.url)
    stage = scene(database, (*APPLICANT, REGION), monitor_of(SEX, attribute, intersections=(("sex", "region"),)), endpoint=endpoint)
    rows = [{**row, "region": "north" if no % 10 == 0 else f"zip{no}"} for no, row in enumerate(applicants(100, 50, 40))]
    stage.log(rows, NOON)
    stage.label([(row["id"], row["prediction"]) for row in rows], NOON)

    result = stage.check(NOON)

    def rate(is_own: bool) -> float:  # noqa: FBT001 - one of two sides
        side = [row["prediction"] for row in rows if (row["region"] == "north") is is_own]
        return sum(side) / len(side)

    assert result.value("disparate_impact", "as_logged", "region", "north") == pytest.approx(rate(True) / rate(False), abs=1e-12)
    assert result.get("accuracy", "labelled", "region", "everybody else").n == 135
    assert result.get("favourable_rate", "as_logged", "region", scope="reference").n == 135
    assert result.get("favourable_rate", "as_logged", "sex × region", "male × north").n == 10
    assert result.value("flip_rate", "counterfactual", "sex", scope="attribute") is not None
    missing = [figure for figure in result.measurements if figure.attribute == "region" and figure.data in ("counterfactual", "openscale")]
    assert {one.data for one in missing} == {"counterfactual", "openscale"}
    for figure in missing:
        assert (figure.value, figure.verdict) == (None, "not_computable")
        assert "attributes.region.reference: was left out, and more than 100 other values" in (figure.reason or "")


def test_a_meta_field_of_many_values_is_measured_like_its_payload(database: Database, server: ModelServer) -> None:
    attribute = MonitoredAttribute(feature="region", monitored=("zip1",))
    stage = scene(database, APPLICANT, monitor_of(attribute), endpoint=Endpoint(url=server.url), meta=(REGION,))
    stage.log(({**row, "region": f"zip{no % 120}"} for no, row in enumerate(applicants(100, 50, 40))), NOON)

    result = stage.check(NOON)

    found = [result.value("disparate_impact", data, "region", "zip1") for data in ("as_logged", "counterfactual")]
    assert found[0] is not None
    assert found[0] == found[1]


def test_several_attributes_are_copied_one_at_a_time_and_watched_together_without_copies(stage: Scene, server: ModelServer) -> None:
    age = MonitoredAttribute(feature="age", monitored=(Range(18, 49),), reference=(Range(50, 75),))
    stage.watch(monitor_of(SEX, age, intersections=(("sex", "age"),)))
    stage.log(applicants(40, 40, 5), NOON)

    result = stage.check(NOON)

    assert server.counts.rows == 80 + 2 * 80 + 12
    bodies = [json.loads(body) for body in server.counts.bodies]
    assert all(set(body["fields"]) == {"sex", "income", "age"} for body in bodies)
    both = result.get("favourable_rate", "as_logged", "sex × age", "female × 18-49")
    assert both.n == sum(row["sex"] == "female" and row["age"] < 50 for row in applicants(40, 40, 5))
    assert not [m for m in result.measurements if m.data == "counterfactual" and m.attribute == "sex × age"]
