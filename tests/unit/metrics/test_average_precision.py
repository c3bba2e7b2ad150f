"""Average precision of probabilities: against scikit-learn, and its variance against windows that are drawn again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn", reason="scikit-learn, which figures are compared with, is not installed")

from sklearn.metrics import average_precision_score

from app.statistics.formulas.score_figures import measure_precision_area
from app.statistics.intervals.verdicts import Undefined, Value
from app.statistics.measures.measure_scores import measure_scores
from app.statistics.tables.score_table import ScoreTable
from tests.builders.results import found

WANTED = {"average_precision": "formula of average_precision"}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=2, max_size=40))
def test_average_precision_is_that_of_scikit_learn_with_ties(pairs: list[tuple[int, int]]) -> None:
    actual, ranks = np.array(pairs, np.int64).T
    table = ScoreTable.from_records([], np.full(len(actual), -1), actual, ranks / 6)

    area = found(measure_scores(table, table.groups, WANTED), "average_precision", "overall").number
    if not actual.any():
        assert isinstance(area, Undefined)
        return
    assert isinstance(area, Value)
    assert area.value == pytest.approx(average_precision_score(actual, ranks / 6), abs=1e-9)


def test_the_variance_of_average_precision_is_that_of_windows_drawn_again() -> None:
    random = np.random.default_rng(5)
    areas, variances = [], []
    for _ in range(200):
        actual = (random.random(400) < 0.3).astype(np.int64)
        scores = np.round(1 / (1 + np.exp(-random.normal(size=400) - 1.5 * actual)), 2)
        table = ScoreTable.from_records([], np.full(400, -1), actual, scores)
        one = measure_precision_area(table.bins)
        areas.append(one.area[0])
        variances.append(one.variances[0] / 400)

    assert np.mean(variances) == pytest.approx(np.var(areas), rel=0.25)
