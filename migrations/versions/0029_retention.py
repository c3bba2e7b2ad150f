"""Retention of records, their erasure, and legal holds."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE retention_policies (
        deployment_no INTEGER NOT NULL,
        version INTEGER NOT NULL,
        preset VARCHAR,
        records_months INTEGER,
        feedback_months INTEGER,
        answers_months INTEGER,
        answers_until TIMESTAMP WITH TIME ZONE,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT retention_policies_pkey PRIMARY KEY (deployment_no),
        CONSTRAINT retention_policies_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE legal_holds (
        no INTEGER GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        reason VARCHAR NOT NULL,
        placed_by VARCHAR NOT NULL,
        placed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        released_by VARCHAR,
        released_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT legal_holds_pkey PRIMARY KEY (no),
        CONSTRAINT legal_holds_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    "CREATE UNIQUE INDEX legal_holds_one_in_force_idx ON legal_holds (deployment_no) WHERE released_at IS NULL",
    "CREATE INDEX legal_holds_deployment_no_no_idx ON legal_holds (deployment_no, no)",
    """
    CREATE TABLE erasures (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER,
        deployment_id VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        state VARCHAR NOT NULL,
        selector JSONB,
        scope JSONB NOT NULL,
        request_hash VARCHAR NOT NULL,
        counts JSONB NOT NULL,
        requested_by VARCHAR NOT NULL,
        requested_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        started_at TIMESTAMP WITH TIME ZONE,
        finished_at TIMESTAMP WITH TIME ZONE,
        hash VARCHAR,
        CONSTRAINT erasures_pkey PRIMARY KEY (no),
        CONSTRAINT erasures_deployment_id_id_key UNIQUE (deployment_id, id),
        CONSTRAINT erasures_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE SET NULL
    )
    """,
    "CREATE INDEX erasures_deployment_no_no_idx ON erasures (deployment_no, no)",
    "CREATE INDEX erasures_open_idx ON erasures (no) WHERE finished_at IS NULL",
    """
    CREATE TABLE erased_ids (
        deployment_no INTEGER NOT NULL,
        digest BYTEA NOT NULL,
        CONSTRAINT erased_ids_pkey PRIMARY KEY (deployment_no, digest),
        CONSTRAINT erased_ids_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE erased_hours (
        deployment_no INTEGER NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT erased_hours_pkey PRIMARY KEY (deployment_no, hour),
        CONSTRAINT erased_hours_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
