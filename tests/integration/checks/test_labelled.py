from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database
from app.deployments.queries import Deployments, build_definition
from app.domain.deployment import Endpoint, OutputFields
from app.sources.stored.window_queries import match_pending_feedback
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.builders.figures import left_out_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene


def test_labels_by_record_id_give_accuracy_overall_and_per_group(stage: Scene) -> None:
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    # Everybody would have paid back: the model is right about those it approved.
    stage.label([(row["id"], 1) for row in rows], NOON + timedelta(minutes=5))

    result = stage.check(NOON)

    assert result.value("accuracy", "labelled", scope="overall") == pytest.approx(25 / 40)
    assert result.value("accuracy", "labelled", "sex", "female") == pytest.approx(5 / 20)
    assert result.value("accuracy", "labelled", "sex", "male") == 1.0
    assert result.get("accuracy", "labelled", scope="overall").n == 40


def test_a_label_counts_from_when_both_it_and_its_record_are_there(stage: Scene) -> None:
    rows = applicants(20, 20, 5)
    stage.label([(row["id"], 1) for row in rows], NOON - HOUR)
    stage.log(rows, NOON)
    early, matched = stage.check(NOON - HOUR), stage.check(NOON)

    assert early.run.state == "insufficient_data"
    assert matched.run.window is not None
    assert matched.run.window["labelled_records"] == 40


def test_labels_without_their_record_wait_and_accuracy_is_null_with_a_reason(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.label([("nobody", 1)], NOON)

    accuracy = stage.check(NOON).get("accuracy", "labelled", scope="overall")

    assert (accuracy.value, accuracy.reason, accuracy.verdict) == (None, "no labelled record is there", "not_computable")


@pytest.mark.thorough
def test_labelled_features_are_scored_once_and_for_all(stage: Scene, server: ModelServer) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    stage.label_features(
        [{"sex": "female", "income": 90_000, "age": 40, "label": 1}] * 3 + [{"sex": "male", "income": 0, "age": 40, "label": 0}], NOON
    )

    first, second = stage.check(NOON), stage.check(NOON)

    assert first.value("accuracy", "labelled", scope="overall") == second.value("accuracy", "labelled", scope="overall") == 0.75
    assert server.counts.rows == (40 + 2) + 4


def test_without_an_endpoint_labelled_features_wait(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    stage.log(applicants(20, 20, 5), NOON)
    stage.label_features([{"sex": "female", "income": 90_000, "age": 40, "label": 1}], NOON)

    accuracy = stage.check(NOON).get("accuracy", "labelled", scope="overall")

    assert accuracy.reason == snapshot


def test_a_label_that_is_text_is_of_no_numeric_outcome(stage: Scene) -> None:
    rows = applicants(20, 20, 20)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1 if no % 2 else "1") for no, row in enumerate(rows)], NOON)

    result = stage.check(NOON)
    accuracy = result.get("accuracy", "labelled", scope="overall")
    assert (accuracy.value, accuracy.n) == (1.0, 20)
    left_out = left_out_of(result)["labelled"]["sex"]["left_out"]
    assert [(cause["reason"], cause["count"]) for cause in left_out] == [("label_unlisted", 20)]


class FloatScorer(RuleScorer):
    """The rule with 1.0 and 0.0 for its predictions."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        return [(float(prediction), float(prediction)) for prediction, _ in super().predict(columns, rows)]


def test_a_label_of_the_model_is_read_as_it_was_answered(database: Database) -> None:
    """1.0 and 1 are one label, whether it was just asked for or stored by an earlier check."""
    with serve(FloatScorer()) as server:
        stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))
        outputs = OutputFields(prediction="probability", label="prediction")
        with database.transaction() as session:
            changed = replace(build_definition(stage.deployment), outputs=outputs)
            stage.deployment = Deployments(session, PlainSealer()).change(stage.deployment, changed)
        stage.log(applicants(20, 20, 5), NOON)
        stage.label_features([{"sex": "male", "income": 0, "age": 40, "label": 1}], NOON)

        first, second = stage.check(NOON), stage.check(NOON)

    assert first.value("accuracy", "labelled", scope="overall") == second.value("accuracy", "labelled", scope="overall") == 1.0


def test_a_label_whose_record_is_gone_takes_no_part(stage: Scene) -> None:
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON - 24 * HOUR)
    stage.log(applicants(20, 20, 5, prefix="new"), NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)
    with stage.database.transaction() as session:
        match_pending_feedback(session, stage.deployment.no)
    with stage.database.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM payload_records WHERE logged_at < '2026-03-02'")

    assert stage.check(NOON).get("accuracy", "labelled", scope="overall").value is None


def test_labels_spelt_otherwise_than_the_outcomes_give_no_accuracy_instead_of_a_wrong_one(
    stage: Scene, snapshot: SnapshotAssertion
) -> None:
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    stage.label([(row["id"], "approved" if row["prediction"] else "refused") for row in rows], NOON)

    result = stage.check(NOON)
    accuracy = result.get("accuracy", "labelled", scope="overall")

    assert (accuracy.value, accuracy.verdict) == (None, "not_computable")
    assert accuracy.reason == snapshot
    assert left_out_of(result)["labelled"]["sex"]["counted"] == 0
