"""Counting hours again: labels that arrived too late, by the hour of their record, and changed hours that an earlier era is to count."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE evidence_late_labels (
        era_no BIGINT NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        labels BIGINT NOT NULL,
        CONSTRAINT evidence_late_labels_pkey PRIMARY KEY (era_no, hour),
        CONSTRAINT evidence_late_labels_era_no_fkey FOREIGN KEY (era_no) REFERENCES evidence_eras (no) ON DELETE CASCADE
    )
    """,
    # A worker counts the hours that may have late labels again: the total did not say of which hours they are. No label horizon is
    # shorter than an hour.
    """
    INSERT INTO changed_hours (deployment_no, hour)
    SELECT DISTINCT f.deployment_no, date_trunc('hour', f.record_logged_at, 'UTC')
    FROM feedback_records f
    WHERE f.usable_at > f.record_logged_at + interval '1 hour' AND f.deployment_no IN (SELECT deployment_no FROM evidence_eras)
    """,
    "ALTER TABLE evidence_eras DROP COLUMN late_labels",
    "ALTER TABLE changed_hours ADD COLUMN era_no BIGINT",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
