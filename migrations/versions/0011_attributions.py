"""Attributions: what carries the gaps of a window, and why the figure of an alert changed."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE attributions (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        trigger VARCHAR NOT NULL,
        state VARCHAR NOT NULL,
        span_start TIMESTAMP WITH TIME ZONE NOT NULL,
        span_end TIMESTAMP WITH TIME ZONE NOT NULL,
        check_id VARCHAR,
        alert_no BIGINT,
        pairs INTEGER,
        max_rows INTEGER,
        planned_rows BIGINT,
        planned_requests BIGINT,
        asked_rows BIGINT,
        result JSONB,
        problem VARCHAR,
        attempts INTEGER NOT NULL,
        claimable_at TIMESTAMP WITH TIME ZONE,
        lease_token VARCHAR,
        progress JSONB,
        created_by VARCHAR NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        started_at TIMESTAMP WITH TIME ZONE,
        finished_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT attributions_pkey PRIMARY KEY (no),
        CONSTRAINT attributions_id_key UNIQUE (id),
        CONSTRAINT attributions_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT attributions_alert_no_fkey FOREIGN KEY (alert_no) REFERENCES alerts (no) ON DELETE CASCADE
    )
    """,
    "CREATE UNIQUE INDEX attributions_one_per_night_idx ON attributions (deployment_no, span_end) WHERE trigger = 'nightly'",
    "CREATE UNIQUE INDEX attributions_one_per_alert_idx ON attributions (alert_no)",
    """
    CREATE UNIQUE INDEX attributions_one_running_idx ON attributions (deployment_no)
    WHERE state = 'running' AND trigger <> 'alert'
    """,
    "CREATE INDEX attributions_claimable_idx ON attributions (claimable_at) WHERE claimable_at IS NOT NULL",
    "CREATE INDEX attributions_deployment_no_no_idx ON attributions (deployment_no, no)",
    "ALTER TABLE alerts ADD COLUMN change JSONB",
    "ALTER TABLE monitors ADD COLUMN attribution JSONB",
    "ALTER TABLE monitors ADD COLUMN nightly_since TIMESTAMP WITH TIME ZONE",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
