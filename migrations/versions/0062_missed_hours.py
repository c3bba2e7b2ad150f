"""Finds hours whose copies the model did not score. States of figures are not compressed: they cannot be."""

from alembic import op

revision = "0062"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX IF NOT EXISTS checks_unscored_idx ON checks (deployment_no, span_start) WHERE failure = 'scoring-failed'")
    op.execute("ALTER TABLE evidence_figures ALTER COLUMN state SET STORAGE EXTERNAL")
