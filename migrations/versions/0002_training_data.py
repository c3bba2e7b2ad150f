"""Training data: how their values and labels are distributed, and their count tables."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE training_data (
        deployment_no INTEGER NOT NULL,
        form VARCHAR NOT NULL,
        label VARCHAR NOT NULL,
        weight VARCHAR,
        records BIGINT NOT NULL,
        schema_version SMALLINT NOT NULL,
        labels JSONB NOT NULL,
        absent JSONB NOT NULL,
        processed_at TIMESTAMP WITH TIME ZONE NOT NULL,
        processing_seconds DOUBLE PRECISION NOT NULL,
        CONSTRAINT training_data_pkey PRIMARY KEY (deployment_no),
        CONSTRAINT training_data_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE training_distributions (
        deployment_no INTEGER NOT NULL,
        position INTEGER NOT NULL,
        distribution JSONB NOT NULL,
        CONSTRAINT training_distributions_pkey PRIMARY KEY (deployment_no, position),
        CONSTRAINT training_distributions_deployment_no_fkey
            FOREIGN KEY(deployment_no) REFERENCES training_data (deployment_no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE training_tables (
        deployment_no INTEGER NOT NULL,
        attribute VARCHAR NOT NULL,
        counted_by JSONB NOT NULL,
        cells JSONB,
        reason VARCHAR,
        CONSTRAINT training_tables_pkey PRIMARY KEY (deployment_no, attribute),
        CONSTRAINT training_tables_deployment_no_fkey
            FOREIGN KEY(deployment_no) REFERENCES training_data (deployment_no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
