"""How far the audit was sent to a sink."""

from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE audit_sinks (
            sink VARCHAR NOT NULL,
            position BIGINT DEFAULT 0 NOT NULL,
            sent_at TIMESTAMP WITH TIME ZONE,
            looked_at TIMESTAMP WITH TIME ZONE,
            taken_until TIMESTAMP WITH TIME ZONE,
            last_error VARCHAR,
            CONSTRAINT audit_sinks_pkey PRIMARY KEY (sink)
        )
        """
    )
