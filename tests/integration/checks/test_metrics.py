"""Which metrics a check measures, and those that need strata, probabilities or the records themselves."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, roll_up
from app.checks.measure import NO_ENDPOINT, NO_LABELS
from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import Limits, Monitor, MonitoredAttribute, OutcomeRule
from app.sources.arrays import favourable_scores as scores
from app.statistics.catalogue import CATALOGUE, DEFAULT_METRICS
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says
from tests.builders.row_metrics import consistency, counterfactual_flip_test
from tests.golden import golden
from tests.models.serving import ModelServer
from tests.scenes import HOUR, NOON, Result, Scene, golden_columns, golden_rows, scene

CASE = "A2_openscale_credit_risk"
EXACT = 1e-9
WOMEN = MonitoredAttribute(feature="Sex", monitored=("female",), reference=("male",))
CLARIFY = {
    "conditional_demographic_disparity_in_labels": "CDDL",
    "conditional_demographic_disparity_in_predicted_labels": "CDDPL",
    "difference_in_positive_proportions_in_predicted_labels": "DPPL",
    "class_imbalance": "CI",
    "treatment_equality": "TE",
    "difference_in_conditional_rejection": "DCR",
}
PAIRS = ("average_odds_difference", "equalized_odds_difference", "false_omission_rate_ratio", "generalized_equalized_odds_difference")
GENERALIZED = {
    f"generalized_{name}_{what}": f"num_generalized_{name}s" if what == "count" else f"generalized_{name}_rate"
    for name in ("true_positive", "false_positive", "true_negative", "false_negative")
    for what in ("rate", "count")
}
OF_ROWS = ("counterfactual_flip_test", "consistency", "prediction_consistency", "rich_subgroup_false_positive")
OF_SCORES = ("roc_auc", "brier_score", "log_loss", "calibration_gap")


def picked(database: Database, metrics: Iterable[str], **more: Any) -> Scene:  # noqa: ANN401
    """The golden applicants for credit, watched by sex, without an endpoint."""
    model = json.loads((golden(CASE) / "model.json").read_text())
    columns = golden_columns(model, [term["feature"] for term in model["terms"] if term["type"] == "numeric"])
    monitor = Monitor(
        outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
        attributes=(WOMEN,),
        max_records=20_000,
        metrics=tuple(metrics),
        **more,
    )
    return scene(database, columns, monitor, endpoint=None)


def rolled_up(stage: Scene) -> dict[tuple[str, str | None], tuple[float | None, str | None]]:
    """(value, reason) of the day, by metric and group."""
    with stage.database.transaction() as session:
        tables = read_summed_tables(session, stage.deployment.no, SeriesFilter(), outcomes=stage.monitor().outcomes, limit=1000)
    found = [result.measurement for result in roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings())]
    counted = [m for m in found if m.scope in {"group", "overall"} and m.data in (DataSet.AS_LOGGED, DataSet.LABELLED)]
    return {(m.metric, m.group): (m.value, m.reason) for m in counted}


def keys(result: Result) -> set[str]:
    return {measurement.metric for measurement in result.measurements}


@pytest.mark.thorough
def test_picked_metrics_of_labels_scores_strata_and_records_are_the_golden_ones(database: Database) -> None:
    stage = picked(database, [*CLARIFY, *PAIRS, *GENERALIZED, *OF_ROWS, *OF_SCORES], strata="Job")
    rows = golden_rows(golden(CASE), stage.deployment.schema.features)
    stage.log(rows, NOON)
    stage.label([(row["id"], row["actual"]) for row in rows], NOON)

    result = stage.check(NOON)

    clarify = json.loads((golden(CASE) / "clarify.json").read_text())["facets"]["Sex=female"]["d_vs_rest"]
    aif360 = json.loads((golden(CASE) / "aif360.json").read_text())["facets"]["Sex=female"]
    for key, name in CLARIFY.items():
        data = "labelled" if "labelled" in CATALOGUE[key].data else "as_logged"
        assert result.value(key, data, "Sex", "female") == pytest.approx(clarify[name], abs=EXACT), key
    for key in PAIRS:
        assert result.value(key, "labelled", "Sex", "female") == pytest.approx(aif360["pair"][key], abs=EXACT), key
    for key, name in GENERALIZED.items():
        assert result.value(key, "labelled", scope="overall") == pytest.approx(aif360["overall"][name], abs=EXACT), key
        assert result.value(key, "labelled", "Sex", "female") == pytest.approx(aif360["unprivileged"][name], abs=EXACT), key
        assert result.value(key, "labelled", "Sex", "male") == pytest.approx(aif360["privileged"][name], abs=EXACT), key
    assert keys(result) == {*CLARIFY, *PAIRS, *GENERALIZED, *OF_ROWS, *OF_SCORES}
    assert all(m.lower is not None and m.upper is not None for m in result.measurements if m.value is not None)


@pytest.mark.thorough
def test_metrics_of_scores_are_those_of_the_records_one_by_one(database: Database) -> None:
    stage = picked(database, OF_SCORES)
    rows = golden_rows(golden(CASE), stage.deployment.schema.features)
    stage.log(rows, NOON)
    stage.label([(row["id"], row["actual"]) for row in rows], NOON)

    result = stage.check(NOON)

    actual, score = np.array([row["actual"] for row in rows]), np.array([row["probability"] for row in rows])
    above = (score[actual == 1][:, None] > score[actual == 0]) + 0.5 * (score[actual == 1][:, None] == score[actual == 0])
    of_actual = np.where(actual == 1, score, 1 - score)
    assert result.value("roc_auc", "labelled", scope="overall") == pytest.approx(above.mean(), abs=1e-4)
    assert result.value("brier_score", "labelled", scope="overall") == pytest.approx(((score - actual) ** 2).mean(), abs=EXACT)
    assert result.value("log_loss", "labelled", scope="overall") == pytest.approx(-np.log(of_actual).mean(), abs=EXACT)
    assert result.value("calibration_gap", "labelled", scope="overall") == pytest.approx((score - actual).mean(), abs=EXACT)
    gap = result.get("calibration_gap", "labelled", scope="overall")
    assert (gap.lower_limit, gap.upper_limit, gap.verdict) == (-0.1, 0.1, "fair")


@pytest.mark.nightly
def test_metrics_of_records_look_at_all_numeric_features_but_the_attribute(database: Database) -> None:
    stage = picked(database, OF_ROWS)
    young = MonitoredAttribute(feature="Job", monitored=("unskilled",))
    stage.watch(replace(stage.monitor(), attributes=(WOMEN, young), intersections=(("Sex", "Job"),)))
    rows = golden_rows(golden(CASE), stage.deployment.schema.features)
    stage.log(rows, NOON)
    stage.label([(row["id"], row["actual"]) for row in rows], NOON)

    result = stage.check(NOON)

    names = [column.name for column in stage.deployment.schema.features if column.kind is FieldKind.NUMERIC]
    features = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
    predicted, actual = (np.array([row[name] for row in rows]) for name in ("prediction", "actual"))
    women = np.array([row["Sex"] == "female" for row in rows])
    expected = counterfactual_flip_test(features, predicted, women, ~women)
    assert result.value("counterfactual_flip_test", "as_logged", "Sex", "female") == pytest.approx(expected, abs=EXACT)
    assert result.value("prediction_consistency", "as_logged", scope="overall") == pytest.approx(
        consistency(features, predicted), abs=EXACT
    )
    assert result.value("consistency", "labelled", scope="overall") == pytest.approx(consistency(features, actual), abs=EXACT)
    rich = result.get("rich_subgroup_false_positive", "labelled", scope="overall")
    assert rich.value is not None
    assert all(" × " in name for name in rich.details.subgroup_of_groups)  # type: ignore[attr-defined]
    assert result.value("counterfactual_flip_test", "as_logged", "Sex × Job", "female × unskilled") is not None


STORED = {key for key in DEFAULT_METRICS if CATALOGUE[key].is_stored}


def test_a_monitor_that_picks_nothing_measures_the_usual_metrics(stage: Scene) -> None:
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)

    assert keys(stage.check(NOON)) == STORED


def test_strata_alone_add_the_conditional_metrics(stage: Scene) -> None:
    stage.watch(monitor_of(strata="age"))
    rows = applicants(40, 40, 20)
    stage.log(rows, NOON)
    stage.label([(row["id"], no % 2) for no, row in enumerate(rows)], NOON)

    result = stage.check(NOON)

    assert keys(result) == STORED | {metric.key for metric in CATALOGUE.values() if "strata" in metric.needs}
    found = result.get("conditional_demographic_disparity_in_predicted_labels", "as_logged", "sex", "female")
    assert found.value is not None
    assert found.details.strata == 40


def test_only_picked_metrics_are_stored_and_the_model_is_asked_only_for_them(stage: Scene, server: ModelServer) -> None:
    stage.watch(monitor_of(metrics=("accuracy", "base_rate")))
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)

    result = stage.check(NOON)

    assert keys(result) == {"accuracy", "base_rate"}
    assert server.counts.rows == 0
    assert {table.data for table in result.tables} == {"as_logged", "labelled"}


def test_what_could_not_be_measured_is_said_of_picked_metrics_only(database: Database) -> None:
    attributes = (SEX, MonitoredAttribute(feature="age", monitored=(30,)))
    monitor = monitor_of(*attributes, metrics=("flip_rate", "accuracy", "error_rate_difference", "favourable_rate"))
    stage = scene(database, APPLICANT, monitor, endpoint=None)
    stage.log(applicants(20, 20, 5), NOON)

    result = stage.check(NOON)

    missing = {(m.metric, m.data, m.attribute, m.scope, m.reason) for m in result.measurements if m.value is None}
    assert missing == {
        *(("flip_rate", "counterfactual", name, "attribute", NO_ENDPOINT) for name in ("sex", "age")),
        *(("favourable_rate", data, name, "pooled", NO_ENDPOINT) for data in ("counterfactual", "openscale") for name in ("sex", "age")),
        ("accuracy", "labelled", None, "overall", NO_LABELS),
        *(("error_rate_difference", "labelled", name, "pooled", NO_LABELS) for name in ("sex", "age")),
    }
    assert all(m.verdict == "not_computable" for m in result.measurements if m.value is None)


def test_where_the_answers_show_no_probability_the_metrics_of_scores_say_why(stage: Scene) -> None:
    stage.watch(monitor_of(metrics=("roc_auc", "generalized_equalized_odds_difference")))
    rows = [{**row, "probability": 0.5} for row in applicants(20, 20, 5)]
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)

    result = stage.check(NOON)

    assert {(m.metric, m.attribute, m.scope, m.group) for m in result.measurements} == {
        ("roc_auc", None, "overall", None),
        *(("roc_auc", "sex", "group", group) for group in ("female", "male")),
        ("generalized_equalized_odds_difference", "sex", "group", "female"),
    }
    assert {(m.value, m.reason) for m in result.measurements} == {(None, scores.NO_DIRECTION)}


def test_lists_of_probabilities_are_read_and_those_of_labels_scored_in_the_check_too(stage: Scene) -> None:
    stage.watch(monitor_of(metrics=("brier_score",)))
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)
    # 25 are given 0.9, the other 15 0.1; so are two of the three that the model is asked about.
    stage.label_features(
        [{"sex": "male", "income": 0, "age": 40, "label": 1}] * 2 + [{"sex": "female", "income": 0, "age": 40, "label": 0}], NOON
    )

    first, second = stage.check(NOON), stage.check(NOON)

    expected = (28 * 0.1**2 + 15 * 0.9**2) / 43
    assert first.value("brier_score", "labelled", scope="overall") == pytest.approx(expected)
    assert second.value("brier_score", "labelled", scope="overall") == pytest.approx(expected)


def test_a_list_with_a_number_for_each_class_gives_the_same_scores(stage: Scene) -> None:
    stage.watch(monitor_of(metrics=("brier_score",)))
    rows = [{**row, "probability": [1 - row["probability"], row["probability"]]} for row in applicants(20, 20, 5)]
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)

    assert stage.check(NOON).value("brier_score", "labelled", scope="overall") == pytest.approx((25 * 0.1**2 + 15 * 0.9**2) / 40)


def test_records_without_a_numeric_feature_are_left_out_of_the_metrics_of_records_and_counted(stage: Scene) -> None:
    stage.watch(monitor_of(metrics=("prediction_consistency", "rich_subgroup_false_negative")))
    rows = applicants(20, 20, 5)
    stage.log([{**row, "income": None} if no < 4 else row for no, row in enumerate(rows)], NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)

    result = stage.check(NOON)

    found = result.get("prediction_consistency", "as_logged", scope="overall")
    assert found.n == 36
    assert found.details.records_without_a_feature == 4
    assert result.get("rich_subgroup_false_negative", "labelled", scope="overall").n == 40


def test_without_numeric_features_nobody_can_be_told_to_be_alike(database: Database, snapshot: SnapshotAssertion) -> None:
    sex = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
    stage = scene(database, [sex], monitor_of(metrics=("counterfactual_flip_test",)), endpoint=None)
    stage.log(applicants(20, 20, 5), NOON)

    found = stage.check(NOON).get("counterfactual_flip_test", "as_logged", "sex", scope="worst")

    assert found.reason == snapshot


def test_a_column_of_too_many_values_gives_no_strata_and_says_so(database: Database, snapshot: SnapshotAssertion) -> None:
    code = Column(name="code", type=FieldType.INTEGER, kind=FieldKind.NUMERIC)
    key = "conditional_demographic_disparity_in_predicted_labels"
    stage = scene(database, [*APPLICANT, code], monitor_of(metrics=(key,), strata="code", max_records=2000), endpoint=None)
    stage.log([{**row, "code": no} for no, row in enumerate(applicants(600, 600, 5))], NOON)

    found = stage.check(NOON).get(key, "as_logged", "sex", scope="worst")

    assert says(found.reason, "1,200", "1,000")
    assert found.reason == snapshot


def test_hours_add_up_strata_and_scores_and_leave_out_what_reads_records(stage: Scene) -> None:
    conditional = "conditional_demographic_disparity_in_labels"
    stage.watch(monitor_of(metrics=(conditional, "brier_score", "consistency"), strata="age"))
    for hour in range(2):
        rows = applicants(40, 40, 20, prefix=str(hour))
        stage.log(rows, NOON + hour * HOUR)
        stage.label([(row["id"], no % 2 if row["sex"] == "male" else no % 3 % 2) for no, row in enumerate(rows)], NOON + hour * HOUR)
    single = [stage.check(NOON + hour * HOUR) for hour in range(2)]

    day = rolled_up(stage)

    assert day[conditional, "female"][0] == pytest.approx(single[0].value(conditional, "labelled", "sex", "female"))
    assert day["brier_score", None][0] == pytest.approx(single[0].value("brier_score", "labelled", scope="overall"))
    assert {metric for metric, _ in day} == {conditional, "brier_score"}


def test_hours_divided_by_another_column_are_not_added_up_and_do_not_blank_the_others(stage: Scene) -> None:
    conditional = "conditional_demographic_disparity_in_predicted_labels"
    for hour, column in enumerate(("age", "income")):
        stage.watch(monitor_of(metrics=(conditional, "favourable_rate"), strata=column))
        stage.log(applicants(40, 40, 20, prefix=column), NOON + hour * HOUR)
        stage.check(NOON + hour * HOUR)

    day = rolled_up(stage)

    assert day["favourable_rate", "female"][0] == 0.5
    assert day[conditional, "female"][0] is not None


def test_tables_and_monitors_stored_before_there_were_strata_and_picks_are_read(stage: Scene, snapshot: SnapshotAssertion) -> None:
    with stage.database.engine.connect() as connection:
        stored = connection.exec_driver_sql("SELECT config FROM monitors").scalar_one()
    stage.log(applicants(20, 20, 5), NOON)
    stage.check(NOON)

    assert {"metrics", "strata"}.isdisjoint(stored)
    assert (stage.monitor().metrics, stage.monitor().strata) == (None, None)
    stage.watch(monitor_of(strata="age", metrics=("favourable_rate", "conditional_demographic_disparity_in_predicted_labels")))
    assert stage.monitor().strata == "age"
    day = rolled_up(stage)
    assert day["favourable_rate", "female"][0] == 0.25
    value, reason = day["conditional_demographic_disparity_in_predicted_labels", "female"]
    assert value is None
    assert says(reason, "age")
    assert reason == snapshot


def test_a_column_of_the_strata_that_is_gone_fails_the_check_with_the_field(stage: Scene) -> None:
    stage.watch(monitor_of(strata="postcode"))
    stage.log(applicants(20, 20, 5), NOON)

    with pytest.raises(Exception, match="strata: postcode is named by the monitor but no longer a column"):
        stage.check(NOON)
    stage.stop_running()


def test_an_attribute_that_is_gone_fails_the_check_with_the_field(stage: Scene) -> None:
    stage.watch(monitor_of(replace(SEX, feature="postcode")))
    stage.log(applicants(20, 20, 5), NOON)

    with pytest.raises(InvalidInput, match="attributes: postcode is named by the monitor but no longer a column"):
        stage.check(NOON)
    stage.stop_running()


def test_an_attribute_that_is_gone_says_so_and_the_others_are_measured(stage: Scene) -> None:
    gone = replace(SEX, feature="postcode")
    stage.watch(monitor_of(gone, SEX, intersections=(("sex", "postcode"),)))
    stage.log(applicants(20, 20, 5), NOON)

    result = stage.check(NOON)

    assert result.value("disparate_impact", "as_logged", "sex", "female") == pytest.approx(0.25)
    for data, name in (("as_logged", "postcode"), ("counterfactual", "postcode"), ("as_logged", "sex × postcode")):
        found = [
            figure for figure in result.measurements if (figure.data, figure.attribute, figure.metric) == (data, name, "disparate_impact")
        ]
        assert [(figure.value, figure.verdict) for figure in found] == [(None, "not_computable")]
        assert "postcode is named by the monitor but no longer a column" in (found[0].reason or "")


def test_the_worst_flip_test_is_chosen_by_the_monitors_limits(stage: Scene) -> None:
    limits = Limits(lower=-0.01, upper=1.0)
    chosen = []
    for metric_limits in ((), (("counterfactual_flip_test", limits),)):
        several = replace(SEX, monitored=("female", "other"), metric_limits=metric_limits)
        stage.watch(monitor_of(several, metrics=("counterfactual_flip_test",)))
        # Women get less than men of the same income, others a little more.
        rows = [
            {"sex": sex, "income": no, "age": 30, "prediction": int(no % 10 < share), "id": f"{sex}{no}"}
            for sex, share in (("female", 2), ("male", 6), ("other", 8))
            for no in range(100)
        ]
        if not chosen:
            stage.log(rows, NOON)
        result = stage.check(NOON)
        chosen.append([figure.group for figure in result.measurements if figure.data == "as_logged" and figure.worst_of])
        stage.stop_running()
    assert chosen == [["female"], ["other"]]


def test_limits_of_the_catalogue_hold_where_the_monitor_says_nothing(stage: Scene) -> None:
    strict = replace(SEX, metric_limits=(("error_rate_difference", Limits(upper=0.01)),))
    stage.watch(monitor_of(strict, metrics=("error_rate_difference", "true_positive_rate_difference", "favourable_rate")))
    rows = applicants(20, 20, 5)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows], NOON)

    result = stage.check(NOON)

    limits = {m.metric: (m.lower_limit, m.upper_limit) for m in result.measurements if m.data == "labelled"}
    assert limits == {
        "error_rate_difference": (None, 0.01),
        "true_positive_rate_difference": CATALOGUE["true_positive_rate_difference"].limits,
    }
    assert result.get("error_rate_difference", "labelled", "sex", "female").verdict == "unfair"
