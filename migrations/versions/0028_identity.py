"""Expiry, last use and rotation of API keys."""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    ALTER TABLE api_keys
        ADD COLUMN expires_at TIMESTAMPTZ,
        ADD COLUMN last_used_at TIMESTAMPTZ,
        ADD COLUMN replaces VARCHAR
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
