"""The audit: who did or read what, from where; append-only, with a hash chain."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE audit_events (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        actor VARCHAR NOT NULL,
        action VARCHAR NOT NULL,
        outcome VARCHAR NOT NULL,
        address VARCHAR NOT NULL,
        request_id VARCHAR NOT NULL,
        route VARCHAR NOT NULL,
        deployment_id VARCHAR,
        subject VARCHAR,
        details JSONB NOT NULL,
        position BIGINT,
        hash BYTEA,
        CONSTRAINT audit_events_pkey PRIMARY KEY (no),
        CONSTRAINT audit_events_position_key UNIQUE (position)
    )
    """,
    "CREATE INDEX audit_events_deployment_id_no_idx ON audit_events (deployment_id, no)",
    "CREATE INDEX audit_events_unsealed_idx ON audit_events (no) WHERE position IS NULL",
    # Sealing is the only update: it fills position and hash once, and changes nothing else.
    """
    CREATE FUNCTION keep_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            IF OLD.position IS NULL AND NEW.position IS NOT NULL AND NEW.hash IS NOT NULL
                AND to_jsonb(NEW) - 'position' - 'hash' = to_jsonb(OLD) - 'position' - 'hash' THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION 'audit events are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
    END $$
    """,
    "CREATE TRIGGER audit_events_kept BEFORE UPDATE OR DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION keep_audit_events()",
    "CREATE TRIGGER audit_events_not_emptied BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_events()",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
