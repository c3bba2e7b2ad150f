"""People who log in, the log of changes, and alerts."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE users (
        no INTEGER GENERATED ALWAYS AS IDENTITY,
        name VARCHAR NOT NULL,
        password_hash VARCHAR NOT NULL,
        role VARCHAR NOT NULL,
        deployment_no INTEGER,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        disabled_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT users_pkey PRIMARY KEY (no),
        CONSTRAINT users_name_key UNIQUE (name),
        CONSTRAINT users_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX users_deployment_no_idx ON users (deployment_no)",
    """
    CREATE TABLE sessions (
        token_hash BYTEA NOT NULL,
        user_no INTEGER,
        key_no INTEGER,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT sessions_pkey PRIMARY KEY (token_hash),
        CONSTRAINT sessions_user_no_fkey FOREIGN KEY(user_no) REFERENCES users (no) ON DELETE CASCADE,
        CONSTRAINT sessions_key_no_fkey FOREIGN KEY(key_no) REFERENCES api_keys (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX sessions_expires_at_idx ON sessions (expires_at)",
    "CREATE INDEX sessions_key_no_idx ON sessions (key_no)",
    "CREATE INDEX sessions_user_no_idx ON sessions (user_no)",
    """
    CREATE TABLE activities (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        actor VARCHAR NOT NULL,
        action VARCHAR NOT NULL,
        deployment_no INTEGER,
        deployment_id VARCHAR,
        subject VARCHAR,
        details JSONB NOT NULL,
        CONSTRAINT activities_pkey PRIMARY KEY (no),
        CONSTRAINT activities_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE SET NULL
    )
    """,
    "CREATE INDEX activities_deployment_no_no_idx ON activities (deployment_no, no)",
    """
    CREATE TABLE alert_channels (
        no INTEGER GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        name VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        config JSONB NOT NULL,
        secret BYTEA,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT alert_channels_pkey PRIMARY KEY (no),
        CONSTRAINT alert_channels_id_key UNIQUE (id)
    )
    """,
    """
    CREATE TABLE alert_rules (
        no INTEGER GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        version INTEGER NOT NULL,
        kind VARCHAR NOT NULL,
        config JSONB NOT NULL,
        enabled BOOLEAN NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT alert_rules_pkey PRIMARY KEY (no),
        CONSTRAINT alert_rules_deployment_no_id_key UNIQUE (deployment_no, id),
        CONSTRAINT alert_rules_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE alert_rule_channels (
        rule_no INTEGER NOT NULL,
        channel_no INTEGER NOT NULL,
        CONSTRAINT alert_rule_channels_pkey PRIMARY KEY (rule_no, channel_no),
        CONSTRAINT alert_rule_channels_rule_no_fkey FOREIGN KEY(rule_no) REFERENCES alert_rules (no) ON DELETE CASCADE,
        CONSTRAINT alert_rule_channels_channel_no_fkey FOREIGN KEY(channel_no) REFERENCES alert_channels (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX alert_rule_channels_channel_no_idx ON alert_rule_channels (channel_no)",
    """
    CREATE TABLE alerts (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        rule_no INTEGER,
        rule_id VARCHAR NOT NULL,
        rule_name VARCHAR NOT NULL,
        subject VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        attribute VARCHAR,
        "group" VARCHAR,
        metric VARCHAR,
        data VARCHAR,
        facts JSONB NOT NULL,
        opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
        opened_check_no BIGINT,
        last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
        last_check_no BIGINT,
        reminded_at TIMESTAMP WITH TIME ZONE,
        acknowledged_at TIMESTAMP WITH TIME ZONE,
        acknowledged_by VARCHAR,
        note VARCHAR,
        resolved_at TIMESTAMP WITH TIME ZONE,
        resolution VARCHAR,
        CONSTRAINT alerts_pkey PRIMARY KEY (no),
        CONSTRAINT alerts_id_key UNIQUE (id),
        CONSTRAINT alerts_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT alerts_rule_no_fkey FOREIGN KEY(rule_no) REFERENCES alert_rules (no) ON DELETE SET NULL
    )
    """,
    "CREATE INDEX alerts_deployment_no_no_idx ON alerts (deployment_no, no)",
    "CREATE UNIQUE INDEX alerts_one_open_idx ON alerts (rule_no, subject) WHERE resolved_at IS NULL",
    "CREATE INDEX alerts_open_idx ON alerts (deployment_no) WHERE resolved_at IS NULL",
    """
    CREATE TABLE notifications (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        channel_no INTEGER NOT NULL,
        alert_no BIGINT,
        event VARCHAR NOT NULL,
        body JSONB NOT NULL,
        state VARCHAR NOT NULL,
        attempts INTEGER NOT NULL,
        claimable_at TIMESTAMP WITH TIME ZONE,
        lease_token VARCHAR,
        last_error VARCHAR,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        sent_at TIMESTAMP WITH TIME ZONE,
        CONSTRAINT notifications_pkey PRIMARY KEY (no),
        CONSTRAINT notifications_id_key UNIQUE (id),
        CONSTRAINT notifications_channel_no_fkey FOREIGN KEY(channel_no) REFERENCES alert_channels (no) ON DELETE CASCADE,
        CONSTRAINT notifications_alert_no_fkey FOREIGN KEY(alert_no) REFERENCES alerts (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX notifications_alert_no_idx ON notifications (alert_no)",
    "CREATE INDEX notifications_channel_no_no_idx ON notifications (channel_no, no)",
    "CREATE INDEX notifications_leased_idx ON notifications (channel_no) WHERE lease_token IS NOT NULL",
    "CREATE INDEX notifications_waiting_idx ON notifications (channel_no, state, no) WHERE claimable_at IS NOT NULL",
    "ALTER TABLE checks ADD COLUMN failure VARCHAR",
    "ALTER TABLE checks ADD COLUMN alerts_due BOOLEAN DEFAULT false NOT NULL",
    "CREATE INDEX checks_deployment_no_span_end_idx ON checks (deployment_no, span_end, no)",
    "CREATE INDEX checks_succeeded_idx ON checks (deployment_no, span_end, no) WHERE state = 'succeeded'",
    "CREATE INDEX measurements_attribute_idx ON measurements (deployment_no, metric, data, attribute, at)",
    "CREATE INDEX checks_alerts_due_idx ON checks (deployment_no, no) WHERE alerts_due",
    # The rule that new deployments are made with (see app/store/alerts/alert_rules.py).
    """
    INSERT INTO alert_rules (id, deployment_no, version, kind, config, enabled)
    SELECT 'unfair', no, 1, 'verdict', '{
        "name": "Unfair outcomes",
        "remind_after_hours": 24,
        "condition": {
            "verdicts": ["unfair"],
            "data": ["payload", "balanced"],
            "metrics": ["disparate_impact"],
            "attributes": null,
            "scope": "group",
            "checks_in_a_row": 1
        }
    }'::jsonb, true
    FROM deployments
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
