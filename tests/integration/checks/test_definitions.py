"""Figures of release 0.1 under their true names: stored ones are kept, and each point says which definition it follows."""

import pytest

from app.charts.series import Series, SeriesQuery, build_series
from app.checks.days.roll_up import Period
from app.domain.check import DataSet, Scope
from app.overview.queries import GroupKey, read_trends
from app.statistics.catalogue import CATALOGUE
from tests.builders.applicants import applicants
from tests.scenes import HOUR, NOON, Scene

AS_RELEASE_0_1 = (
    "DELETE FROM measurements WHERE metric = 'openscale_fairness'",
    "UPDATE measurements SET definition = 1",
    """
    UPDATE measurements SET value = 0.5, lower = 0.4, upper = 0.7
    WHERE data = 'counterfactual' AND metric = 'disparate_impact' AND value > 0
    """,
    """
    INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, attribute, "group", value, reason, lower, upper,
                              interval_method, n, verdict, carried_forward, details)
    SELECT check_no, deployment_no, at, 'openscale_fairness', 'openscale', scope, attribute, "group", value, reason, lower, upper,
           interval_method, n, CASE WHEN value IS NULL THEN 'not_computable' END, carried_forward, details
    FROM measurements WHERE data = 'counterfactual' AND metric = 'disparate_impact' ORDER BY no
    """,
)
"""Turns the measurements of a check into those of release 0.1, whose counterfactual figures were OpenScale's, stored under both names."""


def earlier(stage: Scene) -> None:
    """Makes all that is stored a release 0.1's."""
    with stage.database.engine.begin() as connection:
        for statement in AS_RELEASE_0_1:
            connection.exec_driver_sql(statement)


def series(stage: Scene, metric: str, data: DataSet, rollup: Period | None = None) -> Series:
    wanted = SeriesQuery(metric=metric, data=data, attribute="sex", scopes=(Scope.GROUP,), rollup=rollup)
    with stage.database.transaction() as session:
        return build_series(session, stage.deployment.no, wanted)


@pytest.fixture
def upgraded(stage: Scene) -> Scene:
    """One check of release 0.1, and one since."""
    for place in range(2):
        stage.log(applicants(20, 20, 5, prefix=f"hour-{place}-"), NOON + place * HOUR)
        stage.check(NOON + place * HOUR)
        if place == 0:
            earlier(stage)
    return stage


def test_a_series_keeps_what_was_reported_with_its_definition(upgraded: Scene) -> None:
    found = series(upgraded, "disparate_impact", DataSet.COUNTERFACTUAL)

    (women,) = found.groups
    assert [(point.value, point.definition) for point in women.points] == [(0.5, 1), (pytest.approx(0.125), 2)]


def test_openscales_own_series_goes_on_under_its_own_name(upgraded: Scene) -> None:
    fairness = series(upgraded, "openscale_fairness", DataSet.OPENSCALE)

    assert [(point.value, point.verdict) for point in fairness.groups[0].points] == [(0.5, None), (pytest.approx(0.125), None)]
    assert CATALOGUE["openscale_fairness"].find_definition("openscale") == 1


def test_a_roll_up_follows_the_new_definition_throughout(upgraded: Scene) -> None:
    found = series(upgraded, "disparate_impact", DataSet.COUNTERFACTUAL, Period.DAY)
    openscale = series(upgraded, "openscale_fairness", DataSet.OPENSCALE, Period.DAY)

    (point,) = found.groups[0].points
    assert point.value == pytest.approx(0.125)
    assert point.definition == 2
    assert [point.value for point in openscale.groups[0].points] == [pytest.approx(0.125)]


def test_a_small_chart_leaves_the_earlier_points_out(upgraded: Scene) -> None:
    key = GroupKey(
        deployment_no=upgraded.deployment.no, metric="disparate_impact", data=DataSet.COUNTERFACTUAL, attribute="sex", group="female"
    )
    with upgraded.database.transaction() as session:
        keys = (key, key._replace(data=DataSet.AS_LOGGED))
        found = [read_trends(session, [asked], points=30)[upgraded.deployment.no] for asked in keys]

    assert [[point.value for point in points] for points in found] == [[pytest.approx(0.125)], [0.25, 0.25]]
