"""Whether a monitor still watches what an alert is about."""

from dataclasses import dataclass, replace

import pytest

from app.alerts import evaluate
from app.base.values import Range
from app.domain.alert import WHOLE_DEPLOYMENT, AlertSubject
from app.domain.check import DataSet
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule


@dataclass(frozen=True)
class Watch:
    """What decides about a deployment's checks."""

    monitor: Monitor | None
    has_endpoint: bool
    mitigation: MitigationSettings


def is_watched(subject: AlertSubject, watch: Watch) -> bool:
    return evaluate.is_watched(subject, watch.monitor, watch.mitigation, has_endpoint=watch.has_endpoint)


SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=None)
AGE = MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(SEX, AGE), intersections=(("sex", "age"),))
WATCH = Watch(monitor=MONITOR, has_endpoint=True, mitigation=MitigationSettings())
YOUNG = Range(18, 25).label


def about(attribute: str | None, group: str | None, metric: str = "disparate_impact", data: DataSet = DataSet.AS_LOGGED) -> AlertSubject:
    return AlertSubject(data=data, metric=metric, attribute=attribute, group=group)


@pytest.mark.parametrize(
    "subject",
    [
        WHOLE_DEPLOYMENT,
        about("sex", "female"),
        about("sex", None),
        about("age", YOUNG),
        about("age", YOUNG, data=DataSet.COUNTERFACTUAL),
        about("sex × age", f"female × {YOUNG}"),
        about("sex × age", f"anybody × {YOUNG}"),
        about(None, None),
    ],
)
def test_what_the_monitor_measures_is_watched(subject: AlertSubject) -> None:
    assert is_watched(subject, WATCH)


@pytest.mark.parametrize(
    "subject",
    [
        about("race", "black"),
        about("sex", "other"),
        about("age", "[1, 2]"),
        about("sex × age", "female × [1, 2]"),
        about("sex × age", "female"),
        about("age × sex", f"{YOUNG} × female"),
        about("sex", "female", metric="disparate_impact_change"),
        about("sex", "female", metric="no_metric"),
    ],
)
def test_what_it_does_not_measure_is_not(subject: AlertSubject) -> None:
    assert not is_watched(subject, WATCH)


def test_a_monitor_that_picks_other_metrics_does_not_watch_the_usual_ones() -> None:
    assert not is_watched(about("sex", "female"), replace(WATCH, monitor=replace(MONITOR, metrics=("favourable_rate",))))


def test_without_a_monitor_nothing_is_watched() -> None:
    unwatched = replace(WATCH, monitor=None)

    assert not is_watched(about("sex", "female"), unwatched)
    assert not is_watched(WHOLE_DEPLOYMENT, unwatched)


def test_without_an_endpoint_what_needs_copies_is_not_watched_and_the_rest_is() -> None:
    alone = replace(WATCH, has_endpoint=False)
    metrics = {DataSet.MITIGATED: "disparate_impact_after", DataSet.MITIGATED_LABELLED: "accuracy_after"}
    everything = replace(MONITOR, metrics=("disparate_impact", "accuracy", *metrics.values()))
    data = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, *metrics)
    subjects = {one: about("sex", None, metrics.get(one, "disparate_impact"), one) for one in data}

    watched = {one for one, subject in subjects.items() if is_watched(subject, replace(WATCH, monitor=everything))}
    left = {one for one, subject in subjects.items() if is_watched(subject, replace(alone, monitor=everything))}

    assert watched == set(data)
    assert left == {DataSet.AS_LOGGED}
    assert is_watched(WHOLE_DEPLOYMENT, alone)


def test_what_is_no_longer_mitigated_is_not_watched_on_mitigated_data() -> None:
    mitigation = MitigationSettings(attributes=("sex",))
    everything = replace(WATCH, monitor=replace(MONITOR, metrics=("disparate_impact_after",)), mitigation=mitigation)

    assert is_watched(about("sex", None, "disparate_impact_after", DataSet.MITIGATED), everything)
    assert not is_watched(about("age", None, "disparate_impact_after", DataSet.MITIGATED), everything)
