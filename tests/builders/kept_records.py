"""A lender with records, labels, flags, answers to copies, figures and evidence, and a person among them."""

from sqlalchemy import text

from app.database.engine import Database
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import EvidenceSettings, Monitor, OutcomeRule
from tests.builders.days import keep_days
from tests.builders.evidence_worlds import update
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR, everybody, use
from tests.scenes import HOUR, NOON, Scene, scene

CUSTOMER = Column(name="customer", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
PERSON = "Ada-Lovelace-1815"
"""Value of the meta field of the person; her records are `ada-1` to `ada-3`."""

SERIES = (
    "measurements",
    "check_tables",
    "figure_days",
    "table_days",
    "evidence_hours",
    "evidence_figures",
    "evidence_late_labels",
    "record_counts",
)
"""Tables of everything that is drawn, exported or reported."""


def make_kept_records(database: Database, url: str) -> Scene:
    """The scene in an empty database; the model at `url` is a lender."""
    outcomes = OutcomeRule(favourable=(1,), unfavourable=(0,))
    monitor = Monitor(outcomes=outcomes, attributes=(HOUSING,), min_records=20, evidence=EvidenceSettings(person="customer"))
    stage = scene(database, COLUMNS, monitor, endpoint=Endpoint(url=url), meta=(CUSTOMER,))
    use(stage, MitigationSettings(attributes=()))
    stage.log([{**row, "customer": f"c{place}"} for place, row in enumerate(everybody())], NOON)
    mine = [
        {**row, "id": f"ada-{place + 1}", "customer": PERSON} for place, row in enumerate(UNFAIR.applicants("rent", [55.25, 20.0, 90.0]))
    ]
    stage.log(mine, NOON)
    stage.label([(row["id"], 1) for row in mine] + [("r1", 1), ("r2", 0)], NOON + HOUR)
    use(stage, MitigationSettings())
    stage.check(NOON)
    update(stage, NOON + 3 * HOUR)
    with database.transaction() as session:
        session.execute(text("UPDATE checks SET model_answer = :answer"), {"answer": "Ada-Lovelace-1815 is unknown"})
        session.execute(
            text("INSERT INTO call_halves VALUES (:no, 'ada-2', 'request', 'events', now(), NULL, '', '', 'Ada-Lovelace-1815')"),
            {"no": stage.deployment.no},
        )
        session.execute(
            text("INSERT INTO intake_counts VALUES (:no, :hour, 'gateway', 'rejected', 2, 'customer: found Ada-Lovelace-1815')"),
            {"no": stage.deployment.no, "hour": NOON},
        )
    keep_days(database, NOON + 24 * HOUR)
    return stage
