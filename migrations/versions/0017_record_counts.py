"""Numbers of payload records by minute, for what is shown of the last hour without reading the records."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE record_counts (
        minute TIMESTAMP WITH TIME ZONE NOT NULL,
        deployment_no INTEGER NOT NULL,
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        records INTEGER NOT NULL,
        CONSTRAINT record_counts_pkey PRIMARY KEY (minute, deployment_no, no)
    )
    """,
    # The two hours that are kept; earlier minutes are not shown.
    """
    INSERT INTO record_counts (minute, deployment_no, records)
    SELECT date_trunc('minute', logged_at), deployment_no, count(*)
    FROM payload_records
    WHERE logged_at >= date_trunc('minute', now()) - interval '2 hours'
    GROUP BY 1, 2
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
