"""Halves of calls that events report, and counts of what became of calls that passed through or were reported."""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE call_halves (
        deployment_no INTEGER NOT NULL,
        call_id VARCHAR NOT NULL,
        side VARCHAR NOT NULL,
        source VARCHAR NOT NULL,
        received_at TIMESTAMP WITH TIME ZONE NOT NULL,
        stated_at TIMESTAMP WITH TIME ZONE,
        content_type VARCHAR NOT NULL,
        encoding VARCHAR NOT NULL,
        body BYTEA NOT NULL,
        CONSTRAINT call_halves_pkey PRIMARY KEY (deployment_no, call_id, side),
        CONSTRAINT call_halves_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE intake_counts (
        deployment_no INTEGER NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        source VARCHAR NOT NULL,
        outcome VARCHAR NOT NULL,
        count BIGINT NOT NULL,
        reason VARCHAR,
        CONSTRAINT intake_counts_pkey PRIMARY KEY (deployment_no, hour, source, outcome),
        CONSTRAINT intake_counts_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
