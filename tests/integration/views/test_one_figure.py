"""One figure by its measurement: the same that the views show, found without them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.base.errors import NotFound
from app.checks.views.build_views import build_check_view, explain_figure
from app.checks.views.explain_figure import Explanation
from app.checks.views.view_shapes import CheckView, GroupShare, ViewKind
from app.checks.views.view_source import read_counted_check
from app.database.engine import Database
from app.domain.check import CheckRun, DataSet, FigureKey, Measurement, Scope, Trigger
from app.domain.deployment import Endpoint
from app.domain.groups import GroupWords
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.training import put_training
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, scene


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """A deployment whose monitor picks none of the rates that the views show."""
    picked = ("disparate_impact", "disparate_impact_before", "disparate_impact_after", "counterfactual_disparate_impact_before")
    monitor = replace(monitor_of(SEX, AGE), intersections=(("sex", "age"),), metrics=picked)
    return scene(database, APPLICANT, monitor, endpoint=Endpoint(url=server.url))


def explain(stage: Scene, check: CheckRun, key: FigureKey) -> Explanation:
    with stage.database.transaction() as session:
        return explain_figure(session, stage.deployment, read_counted_check(session, check), key, GroupWords.of(None))


def shown_figures(view: CheckView) -> list[Measurement]:
    """Every figure that a view shows."""
    found: list[Measurement | None] = []
    for attribute in (*view.attributes, *view.counterfactual):
        found += [attribute.worst, attribute.worst_after, attribute.perfect_equality]
        found += [figure for change in attribute.accuracy for figure in (change.before, change.after, change.change)]
        found += [figure for group in (*attribute.groups, *attribute.pooled) for figure in of_group(group)]
    return [figure for figure in found if figure is not None]


def of_group(group: GroupShare) -> list[Measurement | None]:
    after = None if group.after is None else group.after.figure
    return [group.outcomes.figure, after, group.comparison, group.comparison_after, group.openscale_fairness]


@pytest.mark.nightly
@pytest.mark.parametrize("picks_rates", [False, True])
@pytest.mark.parametrize("kind", ViewKind)
def test_every_figure_of_every_view_is_found_by_its_key_and_is_the_one_that_is_shown(
    stage: Scene, kind: ViewKind, *, picks_rates: bool
) -> None:
    put_training(stage, ("female", 31, 70), ("male", 60, 40))
    if picks_rates:
        stage.watch(replace(monitor_of(SEX, AGE), intersections=(("sex", "age"),)))
    stage.log(applicants(20, 30, 6), NOON)
    checks = [stage.check(NOON, trigger=Trigger.SCHEDULE).run, stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE).run]

    for check in checks:
        with stage.database.transaction() as session:
            view = build_check_view(session, stage.deployment, check, kind)
        figures = shown_figures(view)
        assert len(figures) > 3
        for figure in figures:
            explanation = explain(stage, check, figure.key)
            assert explanation.measurement == figure


def test_a_blank_group_is_another_than_none(stage: Scene) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("",), reference=("male",))))
    rows = applicants(20, 30, 6)
    stage.log([{**row, "sex": "" if row["sex"] == "female" else row["sex"]} for row in rows], NOON)
    check = stage.check(NOON).run
    blank = FigureKey(metric="disparate_impact", data=DataSet.AS_LOGGED, scope=Scope.GROUP, attribute="sex", group="")

    assert explain(stage, check, blank).measurement.group == ""
    with pytest.raises(NotFound):
        explain(stage, check, replace(blank, group=None))


def test_only_the_rates_that_views_show_are_measured_from_a_table(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    check = stage.check(NOON).run
    unpicked = FigureKey(metric="statistical_parity_difference", data=DataSet.AS_LOGGED, scope=Scope.GROUP, attribute="sex", group="female")

    with pytest.raises(NotFound, match="figure of this check statistical_parity_difference, sex, female"):
        explain(stage, check, unpicked)
