"""Numbers of records by the hour of their arrival and their source, and of those that were not stored, by reason."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE arrivals (
        deployment_no INTEGER NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        source VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        records BIGINT NOT NULL,
        CONSTRAINT arrivals_pkey PRIMARY KEY (deployment_no, hour, no)
    )
    """,
    """
    CREATE TABLE rejection_counts (
        deployment_no INTEGER NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        source VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        reason VARCHAR NOT NULL,
        field VARCHAR NOT NULL,
        records BIGINT NOT NULL,
        CONSTRAINT rejection_counts_pkey PRIMARY KEY (deployment_no, hour, source, kind, reason, field),
        CONSTRAINT rejection_counts_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
