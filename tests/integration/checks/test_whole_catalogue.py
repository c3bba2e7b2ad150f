"""Every metric that is picked has a row for each of its scopes and groups in a check: a number, or null with its reason."""

from collections.abc import Callable
from typing import Any

import pytest

from app.domain.check import DataSet
from app.domain.monitor import MonitoredAttribute
from app.statistics.catalogue import CATALOGUE
from app.statistics.group_labels import ComparedGroup
from tests.builders.applicants import applicants, monitor_of
from tests.builders.whole_catalogue import Row, every_row
from tests.scenes import NOON, Result, Scene

WATCHED = MonitoredAttribute(feature="sex", monitored=("female", "diverse"), reference=("male",))
GROUPS = (ComparedGroup("female", "monitored"), ComparedGroup("diverse", "monitored"), ComparedGroup("male", "reference"))
OF_EVERYBODY = frozenset({DataSet.AS_LOGGED, DataSet.LABELLED})
"""Data sets whose figures of everybody are given once, of no attribute."""

Rows = list[dict[str, Any]]

WORLDS: dict[str, Callable[[Rows], Rows]] = {
    "as they come": lambda rows: rows,
    "all predictions favourable": lambda rows: [{**row, "prediction": 1} for row in rows],
    "all predictions unfavourable": lambda rows: [{**row, "prediction": 0} for row in rows],
    "all labels favourable": lambda rows: [{**row, "actual": 1} for row in rows],
    "all labels unfavourable": lambda rows: [{**row, "actual": 0} for row in rows],
    "no label in the lists": lambda rows: [{**row, "actual": 7} for row in rows],
    "no prediction in the lists": lambda rows: [{**row, "prediction": 7} for row in rows],
    "an empty group": lambda rows: [row for row in rows if row["sex"] != "diverse"],
    "no reference": lambda rows: [row for row in rows if row["sex"] != "male"],
    "no scores": lambda rows: [{**row, "probability": None} for row in rows],
    "one score": lambda rows: [{**row, "probability": 0.5} for row in rows],
}


def people() -> Rows:
    """Applicants of three groups; of neither outcome nor label is there none."""
    rows = [{**row, "sex": "diverse"} if row["sex"] == "female" and no % 3 == 0 else row for no, row in enumerate(applicants(30, 30, 15))]
    return [{**row, "actual": int(no % 4 < 2)} for no, row in enumerate(rows)]


def checked(stage: Scene, rows: Rows) -> Result:
    """A check of those records with every metric that there is."""
    stage.watch(monitor_of(WATCHED, metrics=tuple(CATALOGUE), strata="age"))
    stage.log([{name: value for name, value in row.items() if name != "actual"} for row in rows], NOON)
    stage.label([(row["id"], row["actual"]) for row in rows], NOON)
    return stage.check(NOON)


@pytest.mark.nightly
@pytest.mark.parametrize("world", WORLDS)
def test_every_metric_has_a_row_for_each_of_its_scopes_and_groups(stage: Scene, world: str) -> None:
    result = checked(stage, WORLDS[world](people()))

    for data in set(DataSet) - {DataSet.TRAINING}:
        mine = [m for m in result.measurements if m.data is data]
        rows: list[Row] = [(m.metric, m.scope.value, m.group) for m in mine]
        assert len(rows) == len(set(rows)), data
        stored = {metric.key for metric in CATALOGUE.values() if metric.is_stored}
        assert {row for row in rows if row[1] != "worst_pair"} == every_row(data.value, GROUPS, stored), data
        assert {m.attribute for m in mine if m.scope == "overall"} <= ({None} if data in OF_EVERYBODY else {"sex"})
    assert all(m.reason for m in result.measurements if m.value is None)


@pytest.mark.nightly
def test_where_all_predictions_have_one_outcome_scores_are_null_with_that_reason_in_every_group(stage: Scene) -> None:
    result = checked(stage, WORLDS["all predictions favourable"](people()))

    reasons = {(m.scope.value, m.group): m.reason for m in result.measurements if m.metric == "roc_auc"}
    assert reasons.keys() == {("overall", None), ("pooled", None), *(("group", group.label) for group in GROUPS)}
    assert all(reason and reason.startswith("all predictions with a probability have one outcome") for reason in reasons.values())
