"""The harness of the crash tests sees what it is there to see: each kind of damage, done by hand, is reported."""

from datetime import UTC, datetime

import psycopg
import pytest

from app.database.engine import Database
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.crashes.ledger import Ledger
from tests.crashes.truth import RecordCounts, count_records, look_at_checks
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import NOON, Scene, scene

COLUMNS = (
    Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
MONITOR = Monitor(
    outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
    attributes=(MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),),
    min_records=2,
)
MEMBERS = {"prediction": 1, "probability": 0.5}


def logged(database: Database) -> tuple[Scene, Ledger]:
    """Three acknowledged records, and the clients' knowledge of them."""
    stage = scene(database, COLUMNS, MONITOR, endpoint=None)
    features = {"sex": "male", "income": 20_000}
    stage.log([{"id": f"r{no}", **features, **MEMBERS} for no in range(3)], datetime.now(UTC))
    ledger = Ledger()
    ledger.sending_payload(stage.deployment.id, [{"id": f"r{no}", "features": features, **MEMBERS} for no in range(3)])
    ledger.acknowledge(stage.deployment.id, "payload", ["r0", "r1", "r2"], (0.0, 1.0))
    return stage, ledger


def counted(database: Database, ledger: Ledger, damage: str = "SELECT 1") -> RecordCounts:
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(damage.encode())
        return count_records(connection, ledger)


def test_undamaged_records_are_no_violation(database: Database) -> None:
    _, ledger = logged(database)

    counts = counted(database, ledger)

    assert (counts.acknowledged, counts.present, counts.violations) == (3, 3, [])


@pytest.mark.parametrize(
    ("damage", "kinds"),
    [
        ("DELETE FROM payload_records WHERE record_id = 'r1'", {"lost", "inconsistent"}),
        ("DELETE FROM payload_keys WHERE record_id = 'r1'", {"lost", "inconsistent"}),
        ("WITH gone AS (DELETE FROM payload_keys WHERE record_id = 'r1') DELETE FROM payload_records WHERE record_id = 'r1'", {"lost"}),
        ("UPDATE payload_keys SET record_no = 99 WHERE record_id = 'r1'", {"inconsistent"}),
        ("UPDATE payload_records SET features = '[\"female\", 20000]' WHERE record_id = 'r1'", {"altered"}),
        (
            (
                "INSERT INTO payload_records SELECT deployment_no, logged_at, 99, record_id, schema_version, model_revision, scored_at,"
                " features, meta, prediction FROM payload_records WHERE record_id = 'r1'"
            ),
            {"duplicated"},
        ),
        (
            (
                "WITH r AS (UPDATE payload_records SET record_id = 'x' WHERE record_id = 'r1')"
                " UPDATE payload_keys SET record_id = 'x' WHERE record_id = 'r1'"
            ),
            {"lost", "never_sent"},
        ),
    ],
)
def test_each_damage_to_records_is_told(database: Database, damage: str, kinds: set[str]) -> None:
    _, ledger = logged(database)

    counts = counted(database, ledger, damage)

    found = {kind for kind in ("lost", "duplicated", "inconsistent", "never_sent", "altered") if getattr(counts, kind)}
    assert kinds <= found
    assert counts.violations


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE checks SET state = 'running'",
        "UPDATE checks SET state = 'failed'",
        "DELETE FROM measurements",
        "DELETE FROM check_tables",
        "DELETE FROM counterfactuals WHERE record_no = 1",
        "DELETE FROM copy_targets",
        "INSERT INTO counterfactuals SELECT target_no, 99, 0, prediction FROM counterfactuals LIMIT 1",
        (
            'INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, attribute, "group", n, carried_forward, details)'
            ' SELECT check_no, deployment_no, at, metric, data, scope, attribute, "group", n, carried_forward, details FROM measurements'
        ),
    ],
)
def test_each_half_written_check_is_told(database: Database, damage: str) -> None:
    with serve(RuleScorer()) as model:
        stage = scene(database, COLUMNS, MONITOR, endpoint=Endpoint(url=model.url))
        stage.log([{"sex": sex, "income": 20_000, **MEMBERS} for sex in ("male", "female")], NOON)
        stage.check(NOON)

    with psycopg.connect(database.url, autocommit=True) as connection:
        before = look_at_checks(connection).half_written
        connection.execute(damage.encode())
        after = look_at_checks(connection).half_written

    assert before == ()
    assert after != ()
