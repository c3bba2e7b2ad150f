"""Purposes of deployments: the decisions that a model is used for."""

from alembic import op

revision = "0044"
down_revision = "0042"
branch_labels = None
depends_on = None

STATEMENTS = ("ALTER TABLE deployments ADD COLUMN purpose VARCHAR",)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
