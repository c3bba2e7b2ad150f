"""Indirect bias: associations of meta fields with features in training data, and the donors of correlated features."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE training_correlations (
        deployment_no INTEGER NOT NULL,
        attribute VARCHAR NOT NULL,
        associations JSONB NOT NULL,
        donor_features JSONB NOT NULL,
        donors JSONB NOT NULL,
        digest VARCHAR NOT NULL,
        CONSTRAINT training_correlations_pkey PRIMARY KEY (deployment_no, attribute),
        CONSTRAINT training_correlations_deployment_no_fkey
            FOREIGN KEY(deployment_no) REFERENCES training_data (deployment_no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
