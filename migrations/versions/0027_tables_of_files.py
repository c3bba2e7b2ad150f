"""Deployments whose records lie in files."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

STATEMENTS = ("ALTER TABLE deployments ADD COLUMN record_tables JSONB",)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
