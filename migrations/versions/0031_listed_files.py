"""The files of tables as they were last listed, and the batch that a check is of."""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE listed_files (
        deployment_no INTEGER NOT NULL CONSTRAINT listed_files_deployment_no_fkey REFERENCES deployments (no) ON DELETE CASCADE,
        side VARCHAR NOT NULL,
        path VARCHAR NOT NULL,
        bytes BIGINT NOT NULL,
        modified_ns BIGINT NOT NULL,
        batch VARCHAR,
        oldest TIMESTAMPTZ,
        newest TIMESTAMPTZ,
        CONSTRAINT listed_files_pkey PRIMARY KEY (deployment_no, side, path)
    )
    """,
    "CREATE INDEX listed_files_newest_idx ON listed_files (deployment_no, side, newest)",
    "ALTER TABLE checks ADD COLUMN batch VARCHAR",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
