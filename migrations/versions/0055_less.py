"""Drops what no feature of this version uses, and gives each comparison of the evidence a beginning of its own."""

from alembic import op

revision = "0055"
down_revision = "0049"
branch_labels = None
depends_on = None

# Months in files, sinks of the audit, groups that scans followed, causes that were new to a release before.
DROPPED = (
    "DROP TABLE archived_months, audit_sinks, subgroup_hours, subgroup_candidates, subgroup_settings",
    'ALTER TABLE subgroup_scans DROP COLUMN "limit", DROP COLUMN candidate_no',
    "ALTER TABLE checks DROP COLUMN narrow_failure",
)

COMPARISONS = (
    "ALTER TABLE evidence_figures ADD COLUMN definition JSONB, ADD COLUMN starts_at TIMESTAMPTZ, ADD COLUMN ended_at TIMESTAMPTZ",
    "UPDATE evidence_figures f SET starts_at = e.starts_at FROM evidence_eras e WHERE e.no = f.era_no AND e.starts_at IS NOT NULL",
)


def upgrade() -> None:
    for statement in (*DROPPED, *COMPARISONS):
        op.execute(statement)
