"""Gives each deployment the usual rules on failed checks and on missing records, where it has none of their kind.

Takes the model's own words, which may repeat a record, out of all stored reasons; those of a check stand in a column of their own.
"""

import json
import re

from alembic import op
from sqlalchemy import text

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

STATEMENTS = (
    "UPDATE alert_rules SET kind = 'failed_checks' WHERE kind = 'endpoint_errors'",
    "UPDATE alerts SET kind = 'failed_checks' WHERE kind = 'endpoint_errors'",
    """
    INSERT INTO alert_rules (deployment_no, id, kind, version, enabled, config)
    SELECT d.no, usual.id, usual.kind, 1, true,
           jsonb_build_object('name', usual.name, 'condition', usual.condition::jsonb, 'remind_after_hours', 24)
    FROM deployments d, (VALUES
        ('failed-checks', 'failed_checks', 'Failed checks', '{"checks_in_a_row": 1}'),
        ('no-records', 'stale_data', 'No records', '{"hours": 72}')) AS usual (id, kind, name, condition)
    WHERE NOT EXISTS (SELECT FROM alert_rules r WHERE r.deployment_no = d.no AND r.kind = usual.kind)
    ON CONFLICT DO NOTHING
    """,
)


QUOTATION = re.compile(r' Its answer began: "(.*)"\.', re.DOTALL)
QUOTING = {"checks": "reason", "endpoint_failures": "reason", "attributions": "problem", "subgroup_scans": "reason"}
QUOTING_IN_JSON = {"alerts": "facts", "notifications": "body"}


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
    op.execute("ALTER TABLE checks ADD COLUMN IF NOT EXISTS model_answer VARCHAR")
    connection = op.get_bind()
    for table, column in (QUOTING | QUOTING_IN_JSON).items():
        quoting = f'SELECT ctid::text AS place, "{column}" AS value FROM {table} WHERE "{column}"::text LIKE \'%Its answer began:%\''  # noqa: S608
        for row in connection.execute(text(quoting)).all():
            kind = "jsonb" if table in QUOTING_IN_JSON else "text"
            value = json.dumps(without_quotation(row.value)) if kind == "jsonb" else without_quotation(row.value)
            quotation = QUOTATION.search(row.value) if table == "checks" else None
            answer = "" if quotation is None else ", model_answer = :answer"
            connection.execute(
                text(f'UPDATE {table} SET "{column}" = CAST(:value AS {kind}){answer} WHERE ctid = CAST(:place AS tid)'),  # noqa: S608
                {"value": value, "place": row.place} | ({} if quotation is None else {"answer": quotation[1]}),
            )


def without_quotation(value: object) -> object:
    if isinstance(value, str):
        return QUOTATION.sub("", value)
    if isinstance(value, dict):
        return {name: without_quotation(member) for name, member in value.items()}
    return [without_quotation(member) for member in value] if isinstance(value, list) else value
