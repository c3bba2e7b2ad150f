"""An open alert with its facts, not stored anywhere, and the rule about single checks for a deployment that is."""

from datetime import UTC, datetime

from app.alerts.rules.rule_queries import put_rule
from app.database.engine import Database
from app.domain.alert import Alert, AlertFigure, AlertKind, RuleContent, RuleKind, VerdictCondition
from app.domain.check import DataSet

OPENED_AT = datetime(2026, 7, 1, 13, tzinfo=UTC)
FACTS: dict[str, object] = {
    "sentence": "Disparate impact of Sex for female is 0.62, below the limit of 0.8.",
    "at": "2026-07-01T12:00:00Z",
    "since": "2026-07-01T12:00:00Z",
    "check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    "checks_in_a_row": 1,
    "value": 0.62,
    "lower": 0.55,
    "upper": 0.7,
    "n": 1200,
    "n_monitored": 400,
    "n_reference": 800,
    "counted": "1,200 of 1,210 records counted; left out: Sex unknown 10.",
    "verdict": "unfair",
    "lower_limit": 0.8,
    "upper_limit": None,
}


def figure_of(*, no: int = 1, rule_no: int | None = 1, group: str | None = "female", facts: dict[str, object] | None = None) -> AlertFigure:
    """An open figure of an unfair group."""
    return AlertFigure(
        no=no,
        alert_no=no,
        rule_no=rule_no,
        rule_id="unfair",
        rule_name="Unfair outcomes",
        kind=RuleKind.VERDICT,
        data=DataSet.AS_LOGGED,
        metric="disparate_impact",
        attribute="Sex",
        group=group,
        facts=FACTS if facts is None else facts,
        opened_at=OPENED_AT,
        last_seen_at=OPENED_AT,
    )


def alert_of(
    *,
    no: int = 1,
    deployment_no: int = 1,
    rule_no: int = 1,
    group: str = "female",
    facts: dict[str, object] | None = None,
    figures: tuple[AlertFigure, ...] = (),
) -> Alert:
    """An open alert of an unfair group."""
    return Alert(
        no=no,
        id=f"00000000-0000-4000-8000-{no:012}",
        deployment_no=deployment_no,
        deployment_id="loans-0",
        deployment_name="Loans",
        kind=AlertKind.UNFAIR,
        attribute="Sex",
        group=group,
        figures=figures or (figure_of(no=no, rule_no=rule_no, group=group, facts=facts),),
        opened_at=OPENED_AT,
        reminded_at=None,
        acknowledged_at=None,
        acknowledged_by=None,
        note=None,
        resolved_at=None,
        resolution=None,
    )


def judge_single_checks(database: Database, deployment_no: int) -> None:
    """Gives the deployment the rule about verdicts of single checks, in the place of the rule about evidence."""
    with database.transaction() as session:
        put_rule(session, deployment_no, "unfair", RuleContent(name="Unfair outcomes", condition=VerdictCondition()))
