"""The time of the newest record of a month that lies in files, for pages and alerts that name a deployment's newest record."""

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE archived_months ADD COLUMN newest_record_at TIMESTAMP WITH TIME ZONE",
    """
    UPDATE archived_months a SET newest_record_at = (
        SELECT max(k.logged_at) FROM payload_keys k
        WHERE k.deployment_no = a.deployment_no AND k.logged_at >= a.month AND k.logged_at < a.month + interval '1 month'
    ) WHERE a.state = 'stored'
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
