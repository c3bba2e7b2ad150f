from app.checks.measuring import limits_of, measure_table
from app.domain.checks import DataSet
from app.domain.monitors import Limits, Monitor, MonitoredAttribute
from app.domain.outcomes import OutcomeRule
from app.metrics import GroupCounts
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


def limits_in(attribute: str, metric: str) -> tuple[float | None, float | None]:
    table = GroupCounts.from_records([("a", "monitored"), ("b", "reference")], [0, 1] * 50, [0, 1] * 50)
    found = [m for m in measure_table(DataSet.PAYLOAD, attribute, table, monitor=MONITOR, at=NOON) if m.metric == metric]
    return found[0].lower_limit, found[0].upper_limit


def test_an_intersection_is_held_against_the_strictest_limits_of_its_attributes() -> None:
    assert limits_in("sex × race × origin", "disparate_impact") == (0.9, 1.25)
    assert limits_in("sex × race × origin", "statistical_parity_difference") == (-0.1, 0.1)


def test_a_column_whose_name_looks_like_an_intersection_keeps_its_own_limits() -> None:
    assert limits_in("race × origin", "disparate_impact") == (0.8, 1.25)
    assert limits_in("sex", "disparate_impact") == (0.9, None)


def test_a_metric_without_limits_has_none() -> None:
    assert limits_of(SEX, "favourable_rate") == Limits()
    assert limits_of(None, "disparate_impact") == Limits()
