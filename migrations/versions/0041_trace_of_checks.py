"""The place in a trace of the request that asked for a check."""

from alembic import op

revision = "0041"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE checks ADD COLUMN traceparent VARCHAR")
