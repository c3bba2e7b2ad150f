"""Failures of model endpoints, which open their circuit breakers, and the address of the service, which decides on private addresses."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE endpoint_failures (
        deployment_no INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        reason VARCHAR NOT NULL,
        failed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        open_until TIMESTAMP WITH TIME ZONE,
        CONSTRAINT endpoint_failures_pkey PRIMARY KEY (deployment_no),
        CONSTRAINT endpoint_failures_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE listener (
        no SMALLINT NOT NULL,
        exposed_on VARCHAR,
        started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT listener_pkey PRIMARY KEY (no)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
