"""Days of checks: the checks and the count tables of a day, added up once the day is over, so that a year is read as 366 rows."""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

# A check that ends at midnight is about the day before.
DAY_OF = "date_bin('1 day', {moment} - interval '1 microsecond', '1970-01-05 00:00:00+00')"

ENDED = "('succeeded', 'insufficient_data', 'failed')"

STATEMENTS = (
    """
    CREATE TABLE check_days (
        deployment_no INTEGER NOT NULL,
        day TIMESTAMP WITH TIME ZONE NOT NULL,
        is_kept BOOLEAN DEFAULT false NOT NULL,
        changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        failed INTEGER,
        reason VARCHAR,
        topped_up INTEGER,
        logged BIGINT,
        changed_version_at TIMESTAMP WITH TIME ZONE[],
        revisions VARCHAR[],
        monitors INTEGER[],
        CONSTRAINT check_days_pkey PRIMARY KEY (deployment_no, day),
        CONSTRAINT check_days_deployment_no_fkey FOREIGN KEY(deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX check_days_changed_idx ON check_days (changed_at) WHERE NOT is_kept",
    """
    CREATE TABLE table_days (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        day TIMESTAMP WITH TIME ZONE NOT NULL,
        data VARCHAR NOT NULL,
        attribute VARCHAR NOT NULL,
        favourable JSONB NOT NULL,
        unfavourable JSONB NOT NULL,
        hour TIMESTAMP WITH TIME ZONE NOT NULL,
        hours INTEGER NOT NULL,
        cells JSONB NOT NULL,
        CONSTRAINT table_days_pkey PRIMARY KEY (no),
        CONSTRAINT table_days_deployment_no_day_fkey FOREIGN KEY(deployment_no, day) REFERENCES check_days (deployment_no, day)
            ON DELETE CASCADE
    )
    """,
    "CREATE INDEX table_days_series_idx ON table_days (deployment_no, data, attribute, day)",
    "CREATE INDEX table_days_day_idx ON table_days (deployment_no, day)",
    # By the database, so that workers of the release before, which know nothing of days, note them too. A reason may quote a record, and
    # an erasure changes it in its check: the copy of it must not outlive that.
    f"""
    CREATE FUNCTION note_day_of_check() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO check_days (deployment_no, day)
        SELECT DISTINCT deployment_no, {DAY_OF.format(moment="span_end")}
        FROM (VALUES (OLD.deployment_no, OLD.span_end), (NEW.deployment_no, NEW.span_end)) changed (deployment_no, span_end)
        WHERE deployment_no IS NOT NULL ORDER BY 1, 2
        ON CONFLICT (deployment_no, day) DO UPDATE SET is_kept = false, changed_at = now(), reason = NULL;
        RETURN NULL;
    END $$
    """,  # noqa: S608 - of constants only
    f"""
    CREATE FUNCTION note_days_of_deleted_checks() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE check_days SET is_kept = false, changed_at = now(), reason = NULL
        FROM (SELECT DISTINCT deployment_no, {DAY_OF.format(moment="span_end")} AS day FROM gone) lost
        WHERE check_days.deployment_no = lost.deployment_no AND check_days.day = lost.day;
        RETURN NULL;
    END $$
    """,  # noqa: S608 - of constants only
    f"""
    CREATE TRIGGER checks_day_noted AFTER INSERT ON checks FOR EACH ROW WHEN (NEW.state IN {ENDED})
    EXECUTE FUNCTION note_day_of_check()
    """,
    f"""
    CREATE TRIGGER checks_day_changed
    AFTER UPDATE OF deployment_no, state, span_start, span_end, reason, "window", monitor_version, model_revision ON checks
    FOR EACH ROW WHEN (OLD.state IN {ENDED} OR NEW.state IN {ENDED})
    EXECUTE FUNCTION note_day_of_check()
    """,
    """
    CREATE TRIGGER checks_day_lost AFTER DELETE ON checks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
    EXECUTE FUNCTION note_days_of_deleted_checks()
    """,
    # After the triggers, so that no day is missed. Days without an ended check do no harm, and the index has no state.
    f"""
    INSERT INTO check_days (deployment_no, day)
    SELECT DISTINCT deployment_no, {DAY_OF.format(moment="span_end")} FROM checks ORDER BY 1, 2
    ON CONFLICT DO NOTHING
    """,  # noqa: S608 - of constants only
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
