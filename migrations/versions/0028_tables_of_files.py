"""Deployments whose records lie in files, and the files that were seen there."""

from alembic import op

revision = "0028"
down_revision = "0024"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE deployments ADD COLUMN record_tables JSONB",
    """
    CREATE TABLE seen_files (
        deployment_no INTEGER NOT NULL,
        table_name VARCHAR NOT NULL,
        path VARCHAR NOT NULL,
        bytes BIGINT NOT NULL,
        modified_ns BIGINT NOT NULL,
        first_at TIMESTAMP WITH TIME ZONE,
        last_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT seen_files_pkey PRIMARY KEY (deployment_no, table_name, path),
        CONSTRAINT seen_files_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
