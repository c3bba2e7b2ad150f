"""Causes of failed checks that are newer than a release which reads the same table: `failure` has a wider one for it."""

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE checks ADD COLUMN narrow_failure VARCHAR",
    "UPDATE checks SET failure = 'invalid-input', narrow_failure = failure WHERE failure = 'months-away'",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
