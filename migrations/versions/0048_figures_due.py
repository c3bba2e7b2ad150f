"""Whether figures of evidence lack counted hours of their era, as after a process that was killed between two steps of an update."""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

# True for eras of before: what a killed process has left is found once.
STATEMENTS = ("ALTER TABLE evidence_eras ADD COLUMN figures_due BOOLEAN NOT NULL DEFAULT true",)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
