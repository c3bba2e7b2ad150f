"""Definitions of custom monitors, whose measurements scripts of the OpenScale SDK post."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE openscale_definitions (
        id VARCHAR NOT NULL,
        entity JSONB NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        created_by VARCHAR NOT NULL,
        modified_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT openscale_definitions_pkey PRIMARY KEY (id)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
