from dataclasses import replace

from app.checks.counting.tabulate import EVERYBODY
from app.checks.measure import measure_table
from app.deployments.monitor.queries import find_limits
from app.domain.check import DataSet
from app.domain.monitor import Comparison, Limits, Monitor, MonitoredAttribute, OutcomeRule
from app.statistics.catalogue import CATALOGUE
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.scenes import NOON

SEX = MonitoredAttribute(
    feature="sex", monitored=("female",), threshold=0.9, metric_limits=(("statistical_parity_difference", Limits(lower=-0.1)),)
)
RACE = MonitoredAttribute(
    feature="race × origin",
    monitored=("black",),
    upper_threshold=1.25,
    metric_limits=(("statistical_parity_difference", Limits(lower=-0.2, upper=0.1)),),
)
MONITOR = Monitor(
    outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(SEX, RACE), intersections=(("sex", "race × origin"),)
)


def limits_in(features: tuple[str, ...], metric: str) -> tuple[float | None, float | None]:
    table = GroupCounts.from_records([("a", "monitored"), ("b", "reference")], [0, 1] * 50, outcome=[0, 1] * 50)
    found = [m for m in measure_table(DataSet.AS_LOGGED, Comparison(features), table, monitor=MONITOR, at=NOON) if m.metric == metric]
    return found[0].lower_limit, found[0].upper_limit


def test_an_intersection_is_held_against_the_strictest_limits_of_its_attributes() -> None:
    assert limits_in(("sex", "race × origin"), "disparate_impact") == (0.9, 1.25)
    assert limits_in(("sex", "race × origin"), "statistical_parity_difference") == (-0.1, 0.1)


def test_a_column_whose_name_looks_like_an_intersection_keeps_its_own_limits() -> None:
    assert limits_in(("race × origin",), "disparate_impact") == (0.8, 1.25)
    assert limits_in(("sex",), "disparate_impact") == (0.9, None)


def test_a_metric_without_limits_has_none() -> None:
    assert find_limits(SEX, "favourable_rate") == Limits()
    assert find_limits(None, "disparate_impact") == Limits()


def test_a_metric_that_the_monitor_says_nothing_about_has_the_limits_of_the_catalogue() -> None:
    for attribute in (SEX, None):
        found = find_limits(attribute, "equalized_odds_difference")
        assert (found.lower, found.upper) == CATALOGUE["equalized_odds_difference"].limits


def test_an_intersection_is_held_against_the_catalogue_where_one_of_its_attributes_has_looser_limits() -> None:
    loose = (("statistical_parity_difference", Limits(lower=-0.5)),)
    monitor = replace(MONITOR, attributes=(replace(SEX, metric_limits=loose), replace(RACE, metric_limits=())))
    table = GroupCounts.from_records([("a", "monitored"), ("b", "reference")], [0, 1] * 50, outcome=[0, 1] * 50)

    measured = measure_table(DataSet.AS_LOGGED, Comparison(("sex", "race × origin")), table, monitor=monitor, at=NOON)

    limits = {(m.lower_limit, m.upper_limit) for m in measured if m.metric == "statistical_parity_difference"}
    assert limits == {CATALOGUE["statistical_parity_difference"].limits}


def test_why_there_are_no_strata_is_said_instead_of_that_there_are_none() -> None:
    key = "conditional_demographic_disparity_in_predicted_labels"
    table = GroupCounts.from_records([("a", "monitored"), ("b", "reference")], [0, 1] * 50, outcome=[0, 0, 1, 1] * 25)

    monitor = replace(MONITOR, metrics=(key,), strata="age")
    measured = measure_table(DataSet.AS_LOGGED, Comparison(("sex",)), table, monitor=monitor, at=NOON, lacking={"strata": "too many"})

    assert {m.reason for m in measured} == {"too many"}
    assert {m.n for m in measured} == {100}


def test_figures_of_everybody_are_held_against_the_strictest_limits_of_all_attributes() -> None:
    """Otherwise indexes that are of everybody only, such as Theil's, could never have a verdict."""
    limits = (("theil_index", Limits(upper=0.0001)), ("accuracy", Limits(lower=0.99)))
    monitor = replace(MONITOR, metrics=("theil_index", "accuracy"), attributes=(replace(SEX, metric_limits=limits), RACE))
    half = [0, 1] * 50
    table = LabelledCells.from_records([], [-1] * 100, actual=half, predicted=[0, 0, 1, 1] * 25, correct=[1, 0, 0, 1] * 25)

    measured = {m.metric: m for m in measure_table(DataSet.LABELLED, EVERYBODY, table, monitor=monitor, at=NOON)}

    assert (measured["theil_index"].upper_limit, measured["theil_index"].verdict) == (0.0001, "unfair")
    assert (measured["accuracy"].lower_limit, measured["accuracy"].verdict) == (0.99, "unfair")
