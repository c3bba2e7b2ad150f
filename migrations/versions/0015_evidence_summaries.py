"""Summaries of the evidence next to its states: lists of deployments and of figures read them instead of states of kilobytes."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE evidence_figures ADD COLUMN summary JSONB DEFAULT '[]' NOT NULL",
    "ALTER TABLE evidence_figures ALTER COLUMN summary DROP DEFAULT",
    # Numbers that hardly get smaller, but to try it costs Postgres more than to store them.
    "ALTER TABLE evidence_figures ALTER COLUMN state SET STORAGE EXTERNAL",
    # A worker computes the states again from the counts that are there, and the summaries with them.
    "UPDATE evidence_figures SET is_stale = true",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
