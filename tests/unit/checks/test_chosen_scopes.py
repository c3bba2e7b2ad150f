"""Figures of chosen scopes are those that all scopes have."""

import numpy as np
import pytest

from app.checks.measure import measure_table
from app.domain.check import DataSet, Scope
from app.domain.monitor import Comparison
from app.statistics.catalogue import list_metrics_on
from app.statistics.group_labels import ComparedGroup
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.builders.applicants import monitor_of
from tests.scenes import NOON

GROUPS = tuple(ComparedGroup(label, role) for label, role in (("female", "monitored"), ("diverse", "monitored"), ("male", "reference")))
DRAWS = np.random.default_rng(7)
RECORDS = 600
CODES, OUTCOMES, SCORES = DRAWS.integers(-1, 3, RECORDS), DRAWS.integers(0, 3, RECORDS), DRAWS.random(RECORDS)


@pytest.mark.parametrize(
    "scopes", [{Scope.GROUP}, {Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL}, {Scope.WORST, Scope.POOLED}]
)
@pytest.mark.parametrize("data", [DataSet.AS_LOGGED, DataSet.LABELLED])
def test_figures_of_chosen_scopes_are_those_among_all(data: DataSet, scopes: set[Scope]) -> None:
    monitor = monitor_of(metrics=tuple(metric.key for metric in list_metrics_on(data.value)))
    actual = OUTCOMES % 2
    table: GroupCounts | LabelledCells = (
        GroupCounts.from_records(GROUPS, CODES, outcome=OUTCOMES, scores=SCORES)
        if data is DataSet.AS_LOGGED
        else LabelledCells.from_records(GROUPS, CODES, actual=actual, predicted=OUTCOMES, correct=actual == OUTCOMES, scores=SCORES)
    )
    every = measure_table(data, Comparison(("sex",)), table, monitor=monitor, at=NOON)
    chosen = measure_table(data, Comparison(("sex",)), table, monitor=monitor, at=NOON, scopes=frozenset(scopes))

    assert chosen == [one for one in every if any(one.is_of(scope) for scope in scopes)]
    assert chosen
