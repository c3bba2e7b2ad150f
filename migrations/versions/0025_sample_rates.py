"""The share of records that was logged where a record comes from, which is its weight in every figure."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Without a default, so that no partition is rewritten. NULL: every record is logged there, as far as is known.
    op.execute("ALTER TABLE payload_records ADD COLUMN sample_rate DOUBLE PRECISION")
