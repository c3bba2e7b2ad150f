"""Owners of deployments: the person or team that answers for a model."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

STATEMENTS = ("ALTER TABLE deployments ADD COLUMN owner VARCHAR",)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
