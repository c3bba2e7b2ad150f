"""Reports that are kept, and the schedules they are made by."""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE report_schedules (
        no INTEGER GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        version INTEGER NOT NULL,
        name VARCHAR NOT NULL,
        rhythm VARCHAR NOT NULL,
        wanted JSONB NOT NULL,
        enabled BOOLEAN NOT NULL,
        since TIMESTAMP WITH TIME ZONE NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT report_schedules_pkey PRIMARY KEY (no),
        CONSTRAINT report_schedules_deployment_no_id_key UNIQUE (deployment_no, id),
        CONSTRAINT report_schedules_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE report_schedule_channels (
        schedule_no INTEGER NOT NULL,
        channel_no INTEGER NOT NULL,
        CONSTRAINT report_schedule_channels_pkey PRIMARY KEY (schedule_no, channel_no),
        CONSTRAINT report_schedule_channels_schedule_no_fkey FOREIGN KEY (schedule_no) REFERENCES report_schedules (no) ON DELETE CASCADE,
        CONSTRAINT report_schedule_channels_channel_no_fkey FOREIGN KEY (channel_no) REFERENCES alert_channels (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX report_schedule_channels_channel_no_idx ON report_schedule_channels (channel_no)",
    """
    CREATE TABLE kept_reports (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        schedule_no INTEGER,
        schedule_id VARCHAR,
        span_start TIMESTAMP WITH TIME ZONE NOT NULL,
        span_end TIMESTAMP WITH TIME ZONE NOT NULL,
        wanted JSONB NOT NULL,
        state VARCHAR NOT NULL,
        reason VARCHAR,
        seal VARCHAR,
        chain_head VARCHAR,
        created_by VARCHAR NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        finished_at TIMESTAMP WITH TIME ZONE,
        claimable_at TIMESTAMP WITH TIME ZONE,
        attempts INTEGER NOT NULL,
        lease_token VARCHAR,
        CONSTRAINT kept_reports_pkey PRIMARY KEY (no),
        CONSTRAINT kept_reports_id_key UNIQUE (id),
        CONSTRAINT kept_reports_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT kept_reports_schedule_no_fkey FOREIGN KEY (schedule_no) REFERENCES report_schedules (no) ON DELETE SET NULL
    )
    """,
    "CREATE UNIQUE INDEX kept_reports_one_per_period_idx ON kept_reports (schedule_no, span_end) WHERE schedule_no IS NOT NULL",
    "CREATE INDEX kept_reports_deployment_no_no_idx ON kept_reports (deployment_no, no)",
    "CREATE INDEX kept_reports_claimable_idx ON kept_reports (claimable_at) WHERE claimable_at IS NOT NULL",
    """
    CREATE TABLE kept_report_files (
        report_no BIGINT NOT NULL,
        form VARCHAR NOT NULL,
        content BYTEA NOT NULL,
        CONSTRAINT kept_report_files_pkey PRIMARY KEY (report_no, form),
        CONSTRAINT kept_report_files_report_no_fkey FOREIGN KEY (report_no) REFERENCES kept_reports (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE FUNCTION refuse_change_of_report() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'a kept report is never changed' USING ERRCODE = 'integrity_constraint_violation';
    END
    $$
    """,
    """
    CREATE TRIGGER kept_report_files_unchanged BEFORE UPDATE ON kept_report_files
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_report()
    """,
    # A schedule that is deleted sets its number to NULL; the report keeps its name.
    """
    CREATE TRIGGER kept_reports_unchanged BEFORE UPDATE ON kept_reports
    FOR EACH ROW WHEN (OLD.state = 'ready' AND to_jsonb(NEW) - 'schedule_no' IS DISTINCT FROM to_jsonb(OLD) - 'schedule_no')
    EXECUTE FUNCTION refuse_change_of_report()
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
