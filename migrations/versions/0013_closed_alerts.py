"""Alerts of evidence that a person closed: who and why, and the hour at which evidence begins again."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE alerts ADD COLUMN closed_by VARCHAR",
    "ALTER TABLE alerts ADD COLUMN closing_note VARCHAR",
    """
    CREATE TABLE evidence_closures (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        era_no BIGINT NOT NULL,
        data VARCHAR NOT NULL,
        attribute VARCHAR NOT NULL,
        "group" VARCHAR NOT NULL,
        metric VARCHAR NOT NULL,
        direction VARCHAR NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        alert_no BIGINT NOT NULL,
        CONSTRAINT evidence_closures_pkey PRIMARY KEY (no),
        CONSTRAINT evidence_closures_era_no_fkey FOREIGN KEY (era_no) REFERENCES evidence_eras (no) ON DELETE CASCADE,
        CONSTRAINT evidence_closures_alert_no_fkey FOREIGN KEY (alert_no) REFERENCES alerts (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX evidence_closures_era_no_idx ON evidence_closures (era_no)",
    "CREATE INDEX evidence_closures_alert_no_idx ON evidence_closures (alert_no)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
