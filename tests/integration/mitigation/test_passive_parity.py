"""The passive mitigation of a check over real data, the model served over HTTP, against the golden outcomes of mitigation."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.database.engine import Database
from app.deployments.mitigation_queries import store_mitigation_settings
from app.domain.mitigation import MitigationSettings, Mode
from tests.builders.golden_scenes import CASES, staged
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene

EXACT = 1e-9


@pytest.fixture
def adult(database: Database) -> Iterator[tuple[Scene, ModelServer, list[dict[str, Any]]]]:
    with serve(LogisticModel.of(golden("A1_adult"))) as server:
        stage, rows = staged(database, "A1_adult", server)
        yield stage, server, rows


def use(stage: Scene, mode: Mode) -> None:
    with stage.database.transaction() as session:
        store_mitigation_settings(session, stage.deployment.no, MitigationSettings(mode=mode))


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_a_check_gives_the_golden_figures_before_and_after_in_both_modes(database: Database, case: str) -> None:
    expected = json.loads((golden(case) / "debias.json").read_text())
    with serve(LogisticModel.of(golden(case))) as server:
        stage, rows = staged(database, case, server)
        stage.log(rows, NOON)
        stage.label([(row["id"], row["actual"]) for row in rows], NOON)
        results = {}
        for mode in (Mode.LIFT_ONLY, Mode.REFERENCE_SUBSTITUTION):
            use(stage, mode)
            results[mode] = stage.check(NOON)

    for mode, result in results.items():
        for attribute in CASES[case]:
            feature, golden_one = attribute.feature, expected[attribute.feature]
            for when, figures in (("before", golden_one["before"]), ("after", golden_one[mode.value])):
                for group, impact in figures["payload_DI"].items():
                    assert result.value(f"disparate_impact_{when}", "mitigated", feature, group) == pytest.approx(impact, abs=EXACT)
                for metric in ("accuracy", "balanced_accuracy"):
                    found = result.value(f"{metric}_{when}", "mitigated_labelled", feature, scope="overall")
                    assert found == pytest.approx(figures[metric], abs=EXACT)
                for group, counterfactual in figures["balanced"].items():
                    found = result.value(f"counterfactual_disparate_impact_{when}", "mitigated", feature, group)
                    assert found == pytest.approx(counterfactual, abs=EXACT)
            assert result.run.window is not None
            counts = result.run.window["mitigation"]["attributes"][feature]
            changed = golden_one[mode.value]
            assert (counts["changed"], counts["lifted"], counts["lowered"]) == (
                changed["changed_rows"],
                changed["unfavorable_to_favorable"],
                changed["favorable_to_unfavorable"],
            )
            assert counts["labels_without_copies"] == 0


@pytest.mark.thorough
def test_the_records_that_would_be_changed_are_flagged(database: Database) -> None:
    case = "A2_openscale_credit_risk"
    expected = json.loads((golden(case) / "debias.json").read_text())
    with serve(LogisticModel.of(golden(case))) as server:
        stage, rows = staged(database, case, server)
        stage.log(rows, NOON)
        stage.check(NOON)

    with stage.database.engine.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT f.attribute, p.record_id::int, f.direction, f.own_score, f.reference_score, f.gap FROM flagged_records f"
            " JOIN payload_records p USING (deployment_no, record_no)"
        ).all()
    of_row = {row["row_id"]: row for row in rows}
    for feature in ("Sex", "Housing"):
        figures = expected[feature]
        mine = [row for row in found if row.attribute == feature]
        assert sorted(row.record_id for row in mine) == figures["reference_substitution"]["changed_row_ids"]
        for row in mine:
            assert row.own_score == pytest.approx(of_row[str(row.record_id)]["probability"], abs=EXACT)
            assert (row.direction == "lifted") == (row.reference_score > row.own_score)
            assert row.gap == pytest.approx(abs(row.reference_score - row.own_score))


@pytest.mark.nightly
def test_mitigation_asks_the_model_nothing_beyond_the_copies_of_the_check(adult: tuple[Scene, ModelServer, list[dict[str, Any]]]) -> None:
    stage, server, rows = adult
    stage.watch(replace(stage.monitor(), metrics=("disparate_impact",)))
    stage.log(rows[:3000], NOON)
    without = stage.check(NOON)
    asked_without = server.counts.rows
    server.counts.clear()
    stage.watch(replace(stage.monitor(), metrics=None))
    stage.log([{**row, "id": f"b{row['id']}"} for row in rows[:3000]], NOON + HOUR)
    stage.watch(replace(stage.monitor(), min_records=100))
    result = stage.check(NOON + HOUR)

    assert asked_without == 3000 + 150  # records asked again unchanged
    assert not [figure for figure in without.measurements if figure.data == "mitigated"]
    assert server.counts.rows == asked_without
    assert [figure for figure in result.measurements if figure.data == "mitigated" and figure.value is not None]


@pytest.mark.nightly
def test_labels_that_come_later_are_compared_by_what_earlier_checks_stored(adult: tuple[Scene, ModelServer, list[dict[str, Any]]]) -> None:
    stage, server, rows = adult
    early, late = rows[:2000], rows[2000:2200]
    stage.log(early, NOON)
    stage.check(NOON)
    together = stage.check(NOON, NOON + HOUR)
    server.counts.clear()
    # An hour later the window is another, and the labels of the first records arrive.
    stage.log(late, NOON + HOUR)
    stage.label([(row["id"], row["actual"]) for row in early], NOON + HOUR)
    result = stage.check(NOON + HOUR)

    assert together.run.state == "succeeded"
    assert server.counts.rows == 200 + 10
    accuracy = result.get("accuracy_before", "mitigated_labelled", "sex", scope="overall")
    assert accuracy.n == 2000
    assert accuracy.value == pytest.approx(sum(row["prediction"] == row["actual"] for row in early) / 2000)
    assert result.run.window is not None
    assert result.run.window["mitigation"]["attributes"]["sex"]["labels_without_copies"] == 0
