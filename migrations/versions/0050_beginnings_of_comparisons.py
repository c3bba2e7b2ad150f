"""Each comparison has its own beginning, so that a new version of a monitor keeps the evidence of those that it does not change."""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE evidence_figures ADD COLUMN definition JSONB",
    "ALTER TABLE evidence_figures ADD COLUMN starts_at TIMESTAMPTZ",
    "ALTER TABLE evidence_figures ADD COLUMN ended_at TIMESTAMPTZ",
    "UPDATE evidence_figures f SET starts_at = e.starts_at FROM evidence_eras e WHERE e.no = f.era_no AND e.starts_at IS NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
