"""Keeps every value that a correction replaced."""

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

CORRECTIONS = """
    CREATE TABLE corrections (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        id VARCHAR,
        record_id VARCHAR,
        what VARCHAR NOT NULL,
        number INTEGER NOT NULL,
        old JSONB,
        new JSONB,
        reason VARCHAR,
        made_by VARCHAR NOT NULL,
        made_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        previous_at TIMESTAMP WITH TIME ZONE,
        logged_at TIMESTAMP WITH TIME ZONE,
        usable_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT corrections_pkey PRIMARY KEY (no),
        CONSTRAINT corrections_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT corrections_deployment_no_id_key UNIQUE (deployment_no, id),
        CONSTRAINT corrections_deployment_no_record_id_what_number_key UNIQUE (deployment_no, record_id, what, number)
    )
"""


def upgrade() -> None:
    op.execute(CORRECTIONS)
    op.execute("CREATE INDEX corrections_deployment_no_made_at_idx ON corrections (deployment_no, made_at)")
