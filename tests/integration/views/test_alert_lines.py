"""Lines of alerts: the overview counts them in the database, where it reads no alert, and the list makes them of alerts."""

import random

import pytest

from app.alerts.queries import AlertFilter, acknowledge, alerts_page, open_alert, resolve
from app.alerts.rules.queries import get_rule, put_rule
from app.database.engine import Database
from app.domain.alert import AlertState, AlertSubject, EvidenceCondition, Resolution, RuleContent, VerdictCondition
from app.domain.check import DataSet
from app.domain.paging import Paging
from app.overview.queries import overview_entries
from app.pages.alerts.alert_lines import list_lines
from tests.builders.applicants import APPLICANT, SEX, monitor_of
from tests.scenes import scene

DATA = (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.LABELLED, DataSet.MITIGATED, None)
ALERTS = 80


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.thorough
def test_the_overview_counts_the_lines_that_the_list_shows(database: Database, seed: int) -> None:
    draw = random.Random(seed)
    nos = [scene(database, APPLICANT, monitor_of(SEX), endpoint=None, deployment_id=name).deployment.no for name in ("one", "two")]
    with database.transaction() as session:
        for no in nos:
            put_rule(session, no, "verdicts", RuleContent(name="Verdicts", condition=VerdictCondition()))
            put_rule(session, no, "evidence", RuleContent(name="Evidence", condition=EvidenceCondition()))
        for _ in range(ALERTS):
            rule = get_rule(session, draw.choice(nos), draw.choice(("verdicts", "evidence")))
            subject = AlertSubject(
                data=draw.choice(DATA),
                metric="disparate_impact",
                attribute=draw.choice(("sex", "age")),
                group=draw.choice(("female", "a × b")),
            )
            alert = open_alert(session, rule, subject, {}, None)
            if alert is not None and draw.random() < 0.2:
                acknowledge(session, alert, by="user:ada", note=None)
            elif alert is not None and draw.random() < 0.2:
                resolve(session, alert, Resolution.RECOVERED, {})

    with database.transaction() as session:
        found = alerts_page(session, AlertFilter(state=AlertState.OPEN), Paging(ALERTS))
        listed = {line.deployment_id: (line.alerts, len(line.lines)) for line in list_lines(session, found, AlertState.OPEN)}
        waiting = [(entry.id, entry.unacknowledged) for entry in overview_entries(session, only_no=None).entries]
    assert {name: (line.alerts, line.lines) for name, line in waiting if line is not None} == listed
    assert any(lines < alerts for alerts, lines in listed.values())
