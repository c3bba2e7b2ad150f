"""The key of protected columns."""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE deployments ADD COLUMN column_key BYTEA")
