"""Order of alerts in a list: what is open and unfair first, and of these what is furthest beyond its limit."""

from dataclasses import replace
from datetime import timedelta

from app.alerts.gravity import rank_alert
from app.domain.alert import Alert, RuleKind
from tests.builders.alerts import FACTS, OPENED_AT, alert_of, figure_of


def order(*alerts: Alert) -> list[int]:
    return [alert.no for alert in sorted(alerts, key=rank_alert)]


def evidence_of(no: int, lower: float | None, upper: float | None, **limits: float) -> Alert:
    facts: dict[str, object] = {"lower": lower, "upper": upper, "lower_limit": limits.get("below"), "upper_limit": limits.get("above")}
    return alert_of(no=no, figures=(replace(figure_of(facts=facts), kind=RuleKind.EVIDENCE),))


def test_unfair_comes_before_suspected_and_then_the_figure_furthest_beyond_its_limit() -> None:
    near, far = alert_of(no=1, facts=FACTS | {"value": 0.7}), alert_of(no=2, facts=FACTS | {"value": 0.3})
    # As far beyond as 1 / 0.5 is.
    above = alert_of(no=3, facts=FACTS | {"value": 2.5, "lower_limit": None, "upper_limit": 1.25})
    suspected = alert_of(no=4, facts=FACTS | {"value": 0.1, "verdict": "suspected"})

    assert order(suspected, near, above, far) == [2, 3, 1, 4]


def test_evidence_counts_by_the_end_of_its_interval_that_is_next_to_the_limit() -> None:
    mild, grave = evidence_of(1, 0.2, 0.75, below=0.8), evidence_of(2, 0.42, 0.52, below=0.8)
    above = evidence_of(3, 1.5, 6.0, above=1.25)
    unknown = evidence_of(4, None, None, below=0.8)

    assert order(unknown, mild, above, grave) == [2, 3, 1, 4]


def test_open_alerts_come_first_and_those_that_are_over_keep_their_order() -> None:
    acknowledged = replace(alert_of(no=1, facts=FACTS | {"value": 0.1}), acknowledged_at=OPENED_AT)
    mild = alert_of(no=2, facts=FACTS | {"value": 0.79})
    stale = alert_of(no=3, figures=(replace(figure_of(facts={}), kind=RuleKind.STALE_DATA, metric=None, data=None),))
    over = [
        replace(alert_of(no=no, facts=FACTS | {"value": value}), resolved_at=OPENED_AT + timedelta(1)) for no, value in ((5, 0.7), (4, 0.1))
    ]

    assert order(*over, acknowledged, stale, mild) == [2, 3, 1, 5, 4]


def test_a_metric_that_the_catalogue_does_not_have_is_no_error() -> None:
    custom = alert_of(no=1, figures=(replace(figure_of(), metric="my_own"),))

    assert order(custom, alert_of(no=2)) == [2, 1]
