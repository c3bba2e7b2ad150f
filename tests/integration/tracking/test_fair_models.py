"""A fair model over 2,000 hours: the detector raises no alarm, although the verdicts of single checks would."""

import pytest

from app.alerts.evaluate import evaluate_evidence
from app.alerts.queries import AlertFilter, page_alerts
from app.alerts.rules.rule_queries import page_rules
from app.database.engine import Database
from app.domain.alert import RuleKind
from app.domain.paging import Paging
from app.statistics.e_values.nulls import Hours
from app.statistics.group_labels import ComparedGroup
from app.statistics.intervals.verdicts import Verdict, judge_number
from app.statistics.measures.measure import measure_as_logged
from tests.builders.count_tables import count_groups
from tests.builders.counted_hours import load_hours
from tests.builders.evidence_hours import simulate
from tests.builders.evidence_worlds import SEX, states, update, watched

HOURS = 2_000


def judge_one_by_one(hours: Hours) -> int:
    """How many of the hours the verdict on the hour alone calls unfair."""
    groups = (ComparedGroup("female", "monitored"), ComparedGroup("male", "reference"))
    unfair = 0
    for number in range(len(hours)):
        sides = [(side.favourable[number], side.records[number]) for side in (hours.monitored, hours.reference)]
        # Beyond the limit, or it cannot be unfair: saves measuring the other hours.
        if sides[0][0] / sides[0][1] >= SEX.threshold * sides[1][0] / sides[1][1]:
            continue
        table = count_groups(groups, [(total - favourable, favourable) for favourable, total in sides])
        (found,) = [figure for figure in measure_as_logged(table, metrics=["disparate_impact"]) if figure.group == "female"]
        judged = judge_number(found.number, lower_limit=SEX.threshold, upper_limit=SEX.upper_threshold, smallest_group=found.smallest_group)
        unfair += judged is Verdict.UNFAIR
    return unfair


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_ratio_inside_the_limit_raises_no_alert_in_2000_hours_but_single_checks_would_have(database: Database, seed: int) -> None:
    stage = watched(database, attributes=(SEX,), metrics=("disparate_impact",))
    hours = simulate([0.85] * HOURS, seed)
    end = load_hours(stage, hours)
    update(stage, end)
    evaluate_evidence(database)
    with database.transaction() as session:
        alerts = page_alerts(session, AlertFilter(deployment_no=stage.deployment.no), Paging(10))
        rules = page_rules(session, stage.deployment.no, Paging(10))

    assert [rule.content.kind for rule in rules] == [RuleKind.EVIDENCE, RuleKind.FAILED_CHECKS, RuleKind.STALE_DATA, RuleKind.LATE_LABELS]
    assert [(until, is_stale) for _, until, is_stale, _ in states(stage).values()] == [(end, False)]
    assert alerts == []
    assert judge_one_by_one(hours) > 0
