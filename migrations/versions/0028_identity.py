"""Expiry, last use and rotation of API keys; people of an issuer of OpenID Connect."""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    ALTER TABLE api_keys
        ADD COLUMN expires_at TIMESTAMPTZ,
        ADD COLUMN last_used_at TIMESTAMPTZ,
        ADD COLUMN replaces VARCHAR
    """,
    """
    ALTER TABLE users
        ALTER COLUMN password_hash DROP NOT NULL,
        ADD COLUMN issuer VARCHAR,
        ADD COLUMN subject VARCHAR,
        ADD CONSTRAINT users_issuer_subject_key UNIQUE (issuer, subject)
    """,
    "ALTER TABLE sessions ADD COLUMN id_token BYTEA",
    """
    CREATE TABLE used_log_ins (
        state_hash BYTEA NOT NULL,
        expires_at TIMESTAMPTZ NOT NULL,
        CONSTRAINT used_log_ins_pkey PRIMARY KEY (state_hash)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
