"""Months of a deployment's records that were moved to files."""

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE archived_months (
        deployment_no INTEGER NOT NULL,
        month TIMESTAMP WITH TIME ZONE NOT NULL,
        state VARCHAR NOT NULL,
        folder VARCHAR NOT NULL,
        tables JSONB,
        labels_from TIMESTAMP WITH TIME ZONE,
        labels_until TIMESTAMP WITH TIME ZONE,
        changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT archived_months_pkey PRIMARY KEY (deployment_no, month),
        CONSTRAINT archived_months_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
