"""A check over real data, the model served over HTTP, against the golden values of OpenScale's definitions."""

import json
from datetime import timedelta

import pytest

from app.base.values import Range
from app.database.engine import Database
from app.domain.monitor import Monitor, MonitoredAttribute
from tests.builders.golden_scenes import FAVOURABLE_IS_ONE, attribute_of, rows_of, watched
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON

EXACT = 1e-9


@pytest.mark.parametrize("case", ["A1_adult", "A2_openscale_credit_risk"])
@pytest.mark.nightly
def test_one_check_gives_the_golden_payload_and_counterfactual_figures(database: Database, case: str) -> None:
    expected = json.loads((golden(case) / "openscale.json").read_text())
    attributes = tuple(attribute_of(entry["config"]) for entry in expected.values())
    with serve(LogisticModel.of(golden(case))) as server:
        stage = watched(database, case, attributes, server)
        stage.log(rows_of(stage, case), NOON)
        result = stage.check(NOON)

    assert result.run.state == "succeeded"
    for feature, figures in expected.items():
        for group, payload in figures["payload"]["monitored"].items():
            if group == "all monitored pooled":
                found = result.value("disparate_impact", "as_logged", feature, scope="pooled")
            else:
                found = result.value("disparate_impact", "as_logged", feature, group)
                assert result.get("favourable_rate", "as_logged", feature, group).n == payload["n"]
            assert found == pytest.approx(payload["disparate_impact"], abs=EXACT)
        for group, counterfactual in figures.get("balanced", {}).get("monitored", {}).items():
            equality = counterfactual["perfect_equality_all_monitored"]
            assert result.value("openscale_fairness", "openscale", feature, group) == pytest.approx(equality["fairness"], abs=EXACT)
            assert result.value("perfect_equality", "openscale", feature) == pytest.approx(equality["rate"], abs=EXACT)
            assert result.value("favourable_rate", "openscale", feature, group) == pytest.approx(
                counterfactual["monitored_rate"], abs=EXACT
            )


@pytest.mark.nightly
def test_copies_of_ranges_lie_in_range_two_a_record_and_are_the_same_in_every_check(database: Database) -> None:
    case = "A2_openscale_credit_risk"
    attribute = MonitoredAttribute(feature="Age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
    with serve(LogisticModel.of(golden(case))) as server:
        stage = watched(database, case, (attribute,), server)
        rows = rows_of(stage, case)
        stage.log(rows, NOON)
        stage.check(NOON)
        first = _ages_sent(server)
        # Another database would remember nothing; here the stored answers are thrown away instead.
        with database.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM counterfactuals")
            connection.exec_driver_sql("DELETE FROM copy_targets")
        server.counts.clear()
        stage.check(NOON)
        second = _ages_sent(server)

    young = sum(18 <= row["Age"] <= 25 for row in rows)
    old = sum(26 <= row["Age"] <= 75 for row in rows)
    # Some records are asked again unchanged, as often as they have copies.
    assert len(first) == 2 * (young + old) * 21 // 20
    assert 2 * old < sum(18 <= age <= 25 for age in first) < 2 * old + (young + old) // 10
    assert all(isinstance(age, int) for age in first)
    assert len(first) == len(second)


@pytest.mark.nightly
def test_a_second_check_asks_the_model_about_new_records_only(database: Database) -> None:
    case = "A1_adult"
    attribute = MonitoredAttribute(feature="sex", monitored=("Female",), reference=("Male",))
    with serve(LogisticModel.of(golden(case))) as server:
        stage = watched(database, case, (attribute,), server)
        rows = rows_of(stage, case)
        stage.watch(Monitor(outcomes=FAVOURABLE_IS_ONE, attributes=(attribute,), min_records=15_060, max_records=15_060))
        stage.log(rows, NOON)
        stage.check(NOON)
        first = server.counts.rows
        stage.log(({**row, "id": f"again-{row['id']}"} for row in rows[:100]), NOON + HOUR)
        second = stage.check(NOON + HOUR)

    assert first == 15_060 + 200
    assert server.counts.rows == first + 100 + 5
    window = second.run.window
    assert window is not None
    assert (window["records"], window["additional_records"], window["copies_to_score"]) == (100, 14_960, 105)


def test_the_window_holds_the_newest_records_of_the_hour_up_to_the_maximum(database: Database) -> None:
    case = "A2_openscale_credit_risk"
    attribute = MonitoredAttribute(feature="Sex", monitored=("female",), reference=("male",))
    with serve(LogisticModel.of(golden(case))) as server:
        stage = watched(database, case, (attribute,), server)
        rows = rows_of(stage, case)
        stage.watch(Monitor(outcomes=FAVOURABLE_IS_ONE, attributes=(attribute,), min_records=50, max_records=300))
        stage.log(rows[:1000], NOON)
        stage.log(rows[1000:1300], NOON + timedelta(minutes=30))
        result = stage.check(NOON)

    newest = rows[1000:1300]
    women = [row for row in newest if row["Sex"] == "female"]
    assert result.value("favourable_rate", "as_logged", "Sex", "female") == pytest.approx(
        sum(row["prediction"] for row in women) / len(women)
    )
    assert result.run.window is not None
    assert result.run.window["logged_in_span"] == 1300


def _ages_sent(server: ModelServer) -> list[int]:
    bodies = [json.loads(body) for body in server.counts.bodies]
    return [row[body["fields"].index("Age")] for body in bodies for row in body["values"]]
