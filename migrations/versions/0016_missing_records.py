"""Records that Evenhand did not get: dropped by the programs that log, or left out of a sample."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE missing_records (
        deployment_no INTEGER NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        sender VARCHAR NOT NULL,
        not_received BIGINT NOT NULL,
        left_out BIGINT NOT NULL,
        sample_rate FLOAT NOT NULL,
        CONSTRAINT missing_records_pkey PRIMARY KEY (deployment_no, hour, sender),
        CONSTRAINT missing_records_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
