"""Gives each deployment the usual rules on failed checks and on missing records, where it has none of their kind.

Rules on checks without the model's answers are rules on failed checks.
"""

from alembic import op

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


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
