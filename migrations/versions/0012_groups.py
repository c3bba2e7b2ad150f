"""Groups: evidence of each calendar month in every figure's state, and scans for subgroups that nobody listed."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

STATEMENTS = (
    # The evidence of the month is computed from the first hour, like the rest of the state.
    "UPDATE evidence_figures SET is_stale = true",
    """
    CREATE TABLE subgroup_settings (
        deployment_no INTEGER NOT NULL,
        nightly BOOLEAN NOT NULL,
        features JSONB,
        "limit" FLOAT NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT subgroup_settings_pkey PRIMARY KEY (deployment_no),
        CONSTRAINT subgroup_settings_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE subgroup_scans (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        state VARCHAR NOT NULL,
        features JSONB,
        hours INTEGER NOT NULL,
        "limit" FLOAT NOT NULL,
        created_by VARCHAR NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        finished_at TIMESTAMP WITH TIME ZONE,
        claimable_at TIMESTAMP WITH TIME ZONE,
        attempts INTEGER NOT NULL,
        lease_token VARCHAR,
        reason VARCHAR,
        span_start TIMESTAMP WITH TIME ZONE,
        span_end TIMESTAMP WITH TIME ZONE,
        bins JSONB,
        result JSONB,
        candidate_no BIGINT,
        CONSTRAINT subgroup_scans_pkey PRIMARY KEY (no),
        CONSTRAINT subgroup_scans_id_key UNIQUE (id),
        CONSTRAINT subgroup_scans_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX subgroup_scans_deployment_no_no_idx ON subgroup_scans (deployment_no, no)",
    "CREATE UNIQUE INDEX subgroup_scans_one_open_idx ON subgroup_scans (deployment_no) WHERE claimable_at IS NOT NULL",
    """
    CREATE TABLE subgroup_candidates (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        number INTEGER NOT NULL,
        scan_no BIGINT NOT NULL,
        era_no BIGINT NOT NULL,
        bins JSONB NOT NULL,
        "values" JSONB NOT NULL,
        "limit" FLOAT NOT NULL,
        born_at TIMESTAMP WITH TIME ZONE NOT NULL,
        state VARCHAR NOT NULL,
        log_evidence FLOAT NOT NULL,
        confirmed_at TIMESTAMP WITH TIME ZONE,
        until TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT subgroup_candidates_pkey PRIMARY KEY (no),
        CONSTRAINT subgroup_candidates_key UNIQUE (deployment_no, number),
        CONSTRAINT subgroup_candidates_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT subgroup_candidates_scan_no_fkey FOREIGN KEY (scan_no) REFERENCES subgroup_scans (no) ON DELETE CASCADE,
        CONSTRAINT subgroup_candidates_era_no_fkey FOREIGN KEY (era_no) REFERENCES evidence_eras (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX subgroup_candidates_era_no_idx ON subgroup_candidates (era_no)",
    "CREATE INDEX subgroup_candidates_scan_no_idx ON subgroup_candidates (scan_no)",
    """
    CREATE TABLE subgroup_hours (
        candidate_no BIGINT NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        inside_favourable BIGINT NOT NULL,
        inside_records BIGINT NOT NULL,
        others_favourable BIGINT NOT NULL,
        others_records BIGINT NOT NULL,
        CONSTRAINT subgroup_hours_pkey PRIMARY KEY (candidate_no, hour),
        CONSTRAINT subgroup_hours_candidate_no_fkey FOREIGN KEY (candidate_no) REFERENCES subgroup_candidates (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
