"""Renames the data of figures: as_logged, counterfactual, openscale, labelled, mitigated, mitigated_labelled.

So it does two metrics, and what mitigated answers say of a record. An open alert stays the one of its figure.
"""

import hashlib
import json

from alembic import op
from sqlalchemy import Connection, Engine, text

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

PIECE = 500
"""Checks whose figures are renamed in one transaction."""

LOCK_TIMEOUT = "SET LOCAL lock_timeout = '300ms'"
"""As long as `app/database/migrations.py` waits for a table."""

RENAMED = {
    "payload": "as_logged",
    "payload_perturbed": "openscale",
    "balanced": "counterfactual",
    "feedback": "labelled",
    "debiased": "mitigated",
    "debiased_feedback": "mitigated_labelled",
}

_OLD = ", ".join(f"'{name}'" for name in RENAMED)
_PAIRS = " ".join(f"WHEN '{old}' THEN '{new}'" for old, new in RENAMED.items())

METRIC = "metric = replace(metric, 'balanced_disparate_impact_', 'counterfactual_disparate_impact_')"


def _rename(name: str) -> str:
    return f"CASE {name} {_PAIRS} ELSE {name} END"


DATA = f"data = {_rename('data')}"

OF_CHECKS = (
    f"UPDATE measurements SET {DATA}, {METRIC} WHERE data IN ({_OLD}) AND {{of_piece}}",  # noqa: S608 - of constants only
    f"UPDATE check_tables SET {DATA} WHERE data IN ({_OLD}) AND {{of_piece}}",  # noqa: S608 - of constants only
)
# Nothing of a day changes with the names, so it is not added up again.
WINDOWS = (
    "ALTER TABLE checks DISABLE TRIGGER checks_day_changed",
    f"""
    UPDATE checks SET "window" = jsonb_set("window", '{{left_out}}', (
        SELECT jsonb_object_agg({_rename("name")}, records) FROM jsonb_each("window"->'left_out') AS member (name, records)))
    WHERE "window"->'left_out' ?| ARRAY[{_OLD}]
    """,  # noqa: S608 - of constants only
    "ALTER TABLE checks ENABLE TRIGGER checks_day_changed",
)
OTHERS = (
    f"UPDATE figure_days SET {DATA}, {METRIC} WHERE data IN ({_OLD})",  # noqa: S608 - of constants only
    *(
        f"UPDATE {table} SET {DATA} WHERE data IN ({_OLD})"  # noqa: S608 - of constants only
        for table in ("table_days", "evidence_hours", "evidence_figures", "evidence_closures")
    ),
    f"""
    UPDATE alert_rules SET config = jsonb_set(config, '{{condition,data}}', (
        SELECT jsonb_agg({_rename("name")} ORDER BY place)
        FROM jsonb_array_elements_text(config->'condition'->'data') WITH ORDINALITY AS listed (name, place)))
    WHERE config->'condition'->'data' ?| ARRAY[{_OLD}]
    """,  # noqa: S608 - of constants only
    f"""
    UPDATE notifications SET body = jsonb_set(body, '{{alert,data}}', to_jsonb({_rename("(body->'alert'->>'data')")}))
    WHERE body->'alert'->>'data' IN ({_OLD})
    """,  # noqa: S608 - of constants only
    *(
        f"""
        UPDATE {table} SET config = replace(
            config::text, '"balanced_disparate_impact_', '"counterfactual_disparate_impact_')::jsonb
        WHERE strpos(config::text, '"balanced_disparate_impact_') > 0
        """  # noqa: S608 - of constants only
        for table in ("monitors", "alert_rules")
    ),
)

PARTITIONS = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'payload_records'::regclass ORDER BY 1"
IS_RENAMED = "SELECT FROM pg_attribute WHERE attrelid = 'payload_records'::regclass AND attname = 'mitigated'"
RESULT = """
    UPDATE {partition} SET debiased = debiased - 'debiasing' || jsonb_build_object('mitigation', debiased->'debiasing')
    WHERE debiased ? 'debiasing'
"""


def upgrade() -> None:
    connection = op.get_bind()
    # This transaction has the migrations' lock and waits, however long the figures take.
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    _rename_in_pieces(connection.engine)
    for statement in (*WINDOWS, *OTHERS):
        connection.exec_driver_sql(statement)
    _rename_alerts(connection)
    if connection.exec_driver_sql(IS_RENAMED).first() is None:
        connection.exec_driver_sql("ALTER TABLE payload_records RENAME COLUMN debiased TO mitigated")


def _rename_in_pieces(engine: Engine) -> None:
    """Renames what a stored database has most of in transactions of their own; what is renamed is not so again in the next attempt."""
    with engine.begin() as connection:
        connection.exec_driver_sql(LOCK_TIMEOUT)
        # A new database has its tables in the transaction of the first migration.
        if connection.exec_driver_sql("SELECT to_regclass('measurements')").scalar() is None:
            return
        newest = connection.exec_driver_sql("SELECT coalesce(max(no), 0) FROM checks").scalar_one()
        is_renamed = connection.exec_driver_sql(IS_RENAMED).first() is not None
        partitions = [] if is_renamed else connection.exec_driver_sql(PARTITIONS).scalars().all()
    pieces = [
        statement.format(of_piece=f"check_no > {first} AND check_no <= {first + PIECE}")
        for first in range(0, newest, PIECE)
        for statement in OF_CHECKS
    ]
    for statement in (*pieces, *(RESULT.format(partition=partition) for partition in partitions)):
        with engine.begin() as connection:
            connection.exec_driver_sql(LOCK_TIMEOUT)
            connection.exec_driver_sql(statement)


def _rename_alerts(connection: Connection) -> None:
    """Renames the data of alerts, and with it the digest that keeps an open alert from being opened again."""
    named = text(f'SELECT no, data, metric, attribute, "group" FROM alerts WHERE data IN ({_OLD})')  # noqa: S608 - of constants only
    renamed = text("UPDATE alerts SET data = :data, metric = :metric, subject = :subject WHERE no = :no")
    for alert in connection.execute(named).all():
        data = RENAMED[alert.data]
        metric = alert.metric and alert.metric.replace("balanced_disparate_impact_", "counterfactual_disparate_impact_")
        subject = hashlib.sha256(json.dumps([data, metric, alert.attribute, alert.group]).encode()).hexdigest()
        connection.execute(renamed, {"no": alert.no, "data": data, "metric": metric, "subject": subject})
