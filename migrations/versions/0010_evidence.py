"""Evidence over time: counts of whole hours, the state of each figure, and the hours whose counts are to be made again."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE evidence_eras (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        monitor_version INTEGER NOT NULL,
        model_revision VARCHAR NOT NULL,
        starts_at TIMESTAMP WITH TIME ZONE,
        counted_until TIMESTAMP WITH TIME ZONE,
        labels_until TIMESTAMP WITH TIME ZONE,
        late_labels BIGINT NOT NULL,
        problem VARCHAR,
        alerts_due BOOLEAN NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT evidence_eras_pkey PRIMARY KEY (no),
        CONSTRAINT evidence_eras_key UNIQUE (deployment_no, monitor_version, model_revision),
        CONSTRAINT evidence_eras_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX evidence_eras_alerts_due_idx ON evidence_eras (deployment_no) WHERE alerts_due",
    """
    CREATE TABLE evidence_hours (
        era_no BIGINT NOT NULL,
        data VARCHAR NOT NULL,
        attribute VARCHAR NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        cells JSONB NOT NULL,
        check_no BIGINT,
        CONSTRAINT evidence_hours_pkey PRIMARY KEY (era_no, data, attribute, hour),
        CONSTRAINT evidence_hours_era_no_fkey FOREIGN KEY (era_no) REFERENCES evidence_eras (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE evidence_figures (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        era_no BIGINT NOT NULL,
        data VARCHAR NOT NULL,
        attribute VARCHAR NOT NULL,
        "group" VARCHAR NOT NULL,
        metric VARCHAR NOT NULL,
        first_hour TIMESTAMP WITH TIME ZONE NOT NULL,
        until TIMESTAMP WITH TIME ZONE NOT NULL,
        is_stale BOOLEAN NOT NULL,
        state BYTEA NOT NULL,
        CONSTRAINT evidence_figures_pkey PRIMARY KEY (no),
        CONSTRAINT evidence_figures_id_key UNIQUE (id),
        CONSTRAINT evidence_figures_era_no_fkey FOREIGN KEY (era_no) REFERENCES evidence_eras (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX evidence_figures_era_no_no_idx ON evidence_figures (era_no, no)",
    """
    CREATE TABLE changed_hours (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT changed_hours_pkey PRIMARY KEY (no)
    )
    """,
    "CREATE INDEX changed_hours_deployment_no_no_idx ON changed_hours (deployment_no, no)",
    """
    CREATE TABLE evidence_people (
        era_no BIGINT NOT NULL,
        person BYTEA NOT NULL,
        logged_at TIMESTAMP WITH TIME ZONE NOT NULL,
        record_no BIGINT NOT NULL,
        CONSTRAINT evidence_people_pkey PRIMARY KEY (era_no, person),
        CONSTRAINT evidence_people_era_no_fkey FOREIGN KEY (era_no) REFERENCES evidence_eras (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
