"""Who works on an alert, what people say about it, and why it was closed."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE alerts ADD COLUMN assignee VARCHAR",
    "ALTER TABLE alerts ADD COLUMN assigned_at TIMESTAMP WITH TIME ZONE",
    "ALTER TABLE alerts ADD COLUMN closing_reason VARCHAR",
    # An alert that is acknowledged is in the hands of the person who did so.
    "UPDATE alerts SET assignee = acknowledged_by, assigned_at = acknowledged_at WHERE acknowledged_by IS NOT NULL",
    """
    CREATE TABLE alert_comments (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        alert_no BIGINT NOT NULL,
        id VARCHAR NOT NULL,
        author VARCHAR NOT NULL,
        text VARCHAR NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT alert_comments_pkey PRIMARY KEY (no),
        CONSTRAINT alert_comments_alert_no_id_key UNIQUE (alert_no, id),
        CONSTRAINT alert_comments_alert_no_fkey FOREIGN KEY (alert_no) REFERENCES alerts (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
