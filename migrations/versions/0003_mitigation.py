"""Mitigation: settings, what is fitted for it, bias detectors, flagged records, and what the debiased endpoint answered."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE mitigation_settings (
        deployment_no INTEGER NOT NULL,
        version INTEGER NOT NULL,
        settings JSONB NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT mitigation_settings_pkey PRIMARY KEY (deployment_no),
        CONSTRAINT mitigation_settings_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE mitigation_profiles (
        deployment_no INTEGER NOT NULL,
        version INTEGER NOT NULL,
        basis VARCHAR NOT NULL,
        fitted_at TIMESTAMP WITH TIME ZONE NOT NULL,
        profile JSONB NOT NULL,
        CONSTRAINT mitigation_profiles_pkey PRIMARY KEY (deployment_no, version),
        CONSTRAINT mitigation_profiles_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE bias_detectors (
        deployment_no INTEGER NOT NULL,
        version INTEGER NOT NULL,
        attribute VARCHAR NOT NULL,
        check_no BIGINT NOT NULL,
        basis VARCHAR NOT NULL,
        trained_at TIMESTAMP WITH TIME ZONE NOT NULL,
        training JSONB NOT NULL,
        quality JSONB,
        reason VARCHAR,
        model BYTEA,
        CONSTRAINT bias_detectors_pkey PRIMARY KEY (deployment_no, version, attribute),
        CONSTRAINT bias_detectors_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT bias_detectors_check_no_fkey FOREIGN KEY(check_no) REFERENCES checks (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX bias_detectors_check_no_idx ON bias_detectors (check_no)",
    """
    CREATE TABLE flagged_records (
        deployment_no INTEGER NOT NULL,
        record_no BIGINT NOT NULL,
        attribute VARCHAR NOT NULL,
        logged_at TIMESTAMP WITH TIME ZONE NOT NULL,
        model_revision VARCHAR NOT NULL,
        "group" VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        direction VARCHAR NOT NULL,
        own_score DOUBLE PRECISION,
        reference_score DOUBLE PRECISION,
        gap DOUBLE PRECISION NOT NULL,
        bias_score DOUBLE PRECISION,
        check_no BIGINT NOT NULL,
        CONSTRAINT flagged_records_pkey PRIMARY KEY (deployment_no, record_no, attribute),
        CONSTRAINT flagged_records_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT flagged_records_check_no_fkey FOREIGN KEY(check_no) REFERENCES checks (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX flagged_records_check_no_idx ON flagged_records (check_no)",
    "CREATE INDEX flagged_records_gap_idx ON flagged_records (deployment_no, gap DESC, record_no, attribute)",
    "ALTER TABLE payload_records ADD COLUMN debiased JSONB",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
