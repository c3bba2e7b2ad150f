"""Choice of the figure by which a deployment is judged: the gravest verdict, then the value furthest out, then the first."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random

import pytest

from app.base.clock import HOUR
from app.checks.queries import queue_requested
from app.checks.result_queries import store_measurements
from app.database.engine import Database
from app.domain.check import DataSet, Measurement, Scope, Span, Trigger
from app.domain.monitor import Comparison
from app.overview.judge import MAX_DISTANCE, choose_gravest
from app.overview.queries import JudgedKey
from app.statistics.catalogue import CATALOGUE
from app.statistics.intervals.verdicts import GRAVEST, ON_FAIRNESS
from app.statistics.measures.worst_group import measure_distance
from tests.builders.applicants import APPLICANT, SEX, monitor_of
from tests.scenes import NOON, scene

VALUES = (None, 0.0, 0.5, 0.8, 1.0, 1.25, 2.0, 3.7, 0.31)
LIMITS = ((0.8, None), (0.8, 1.25), (None, 1.25), (None, None), (0.5, None))
CHECKS = 120


def draw_figures(draw: Random, metric: str, data: Sequence[DataSet], check: int) -> list[Measurement]:
    verdicts = draw.sample(GRAVEST, draw.randint(1, 3))
    figures = []
    for number in range(draw.randint(1, 8)):
        value, (lower, upper) = draw.choice(VALUES), draw.choice(LIMITS)
        figures.append(
            Measurement(
                metric=metric,
                data=draw.choice(data),
                scope=Scope.GROUP,
                comparison=Comparison(("sex",)),
                group=f"group {number}",
                at=NOON + check * HOUR,
                value=value,
                reason=None if value is not None else "no record",
                lower=None,
                upper=None,
                interval_method=None,
                n=100,
                verdict=draw.choice(verdicts),
                lower_limit=lower,
                upper_limit=upper,
            )
        )
    return figures


@pytest.mark.parametrize(
    ("metric", "data", "judged_on"),
    [
        ("disparate_impact", (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.OPENSCALE), (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL)),
        pytest.param(
            "true_positive_rate_difference", (DataSet.LABELLED, DataSet.MITIGATED_LABELLED), (DataSet.LABELLED,), marks=pytest.mark.thorough
        ),
    ],
)
def test_the_gravest_figure_furthest_out_is_chosen_and_the_first_of_equals(
    database: Database, metric: str, data: tuple[DataSet, ...], judged_on: tuple[DataSet, ...]
) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    no, draw = stage.deployment.no, Random(7)
    keys, expected = [], {}
    with database.transaction() as session:
        for number in range(CHECKS):
            end = NOON + number * HOUR
            span = Span(start=end - timedelta(hours=1), end=end)
            check = queue_requested(session, no, span=span, trigger=Trigger.RANGE, requested_by="test")
            figures = draw_figures(draw, metric, data, number)
            store_measurements(session, check.no, no, figures)
            keys.append(JudgedKey(no, check.no, end, metric, is_of_label=judged_on == (DataSet.LABELLED,)))
            judged = [figure for figure in figures if figure.data in judged_on]
            if judged:
                gravity = min(GRAVEST.index(figure.verdict) for figure in judged)
                gravest = [figure for figure in judged if figure.verdict == GRAVEST[gravity]]
                expected[check.no] = (max(gravest, key=measure).group, len(judged), sum(figure.verdict in ON_FAIRNESS for figure in judged))

        chosen = choose_gravest(session, keys)

    assert len(expected) > CHECKS / 2
    assert {no: (figure.group, figure.groups, figure.judged) for no, figure in chosen.items()} == expected


def measure(figure: Measurement) -> float:
    limits = (figure.lower_limit, figure.upper_limit)
    return 0.0 if figure.value is None else min(measure_distance(figure.value, CATALOGUE[figure.metric], limits), MAX_DISTANCE)
