"""Limits of API keys, and what they use."""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE key_limits (
        key_id VARCHAR NOT NULL,
        requests_per_second DOUBLE PRECISION,
        records_per_second DOUBLE PRECISION,
        max_bytes BIGINT,
        CONSTRAINT key_limits_pkey PRIMARY KEY (key_id)
    )
    """,
    """
    CREATE TABLE key_use (
        key_id VARCHAR NOT NULL,
        requests BIGINT NOT NULL,
        records BIGINT NOT NULL,
        bytes BIGINT NOT NULL,
        refused BIGINT NOT NULL,
        first_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        last_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT key_use_pkey PRIMARY KEY (key_id)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
