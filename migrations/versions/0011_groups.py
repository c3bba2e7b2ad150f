"""Many groups at one look: evidence of each calendar month, which is added to every figure's state."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

STATEMENTS = (
    # The evidence of the month is computed from the first hour, like the rest of the state.
    "UPDATE evidence_figures SET is_stale = true",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
