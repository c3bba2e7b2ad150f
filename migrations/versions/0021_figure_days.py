"""Figures joined by day, so that a year of hours is drawn without reading every measurement."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE figure_days (
        no BIGINT GENERATED ALWAYS AS IDENTITY,
        deployment_no INTEGER NOT NULL,
        day TIMESTAMP WITH TIME ZONE NOT NULL,
        metric VARCHAR NOT NULL,
        data VARCHAR NOT NULL,
        scope VARCHAR NOT NULL,
        attribute VARCHAR,
        "group" VARCHAR,
        definition SMALLINT NOT NULL,
        last_at TIMESTAMP WITH TIME ZONE NOT NULL,
        figures INTEGER NOT NULL,
        carried INTEGER NOT NULL,
        unfair INTEGER NOT NULL,
        suspected INTEGER NOT NULL,
        unwatched INTEGER NOT NULL,
        fair INTEGER NOT NULL,
        insufficient INTEGER NOT NULL,
        absent INTEGER NOT NULL,
        lowest DOUBLE PRECISION[],
        highest DOUBLE PRECISION[],
        lower DOUBLE PRECISION,
        upper DOUBLE PRECISION,
        n BIGINT NOT NULL,
        lower_limit DOUBLE PRECISION,
        upper_limit DOUBLE PRECISION,
        reason VARCHAR,
        CONSTRAINT figure_days_pkey PRIMARY KEY (no)
    )
    """,
    # Of several checks that end at one moment the one of an hour counts, of these the newest; of each group on its own.
    """
    WITH ranked AS MATERIALIZED (
        SELECT no, row_number() OVER (
            PARTITION BY deployment_no, span_end ORDER BY span_end - span_start <= interval '1 hour' DESC, no DESC) AS place
        FROM checks WHERE state = 'succeeded'
    )
    INSERT INTO figure_days (deployment_no, day, metric, data, scope, attribute, "group", definition, last_at, figures, carried, unfair,
                             suspected, unwatched, fair, insufficient, absent, lowest, highest, lower, upper, n, lower_limit, upper_limit,
                             reason)
    SELECT m.deployment_no, date_bin('1 day', m.at - interval '1 microsecond', '1970-01-05 00:00:00+00'), metric, data, scope, attribute,
           "group", definition,
           max(m.at), count(*) FILTER (WHERE NOT carried_forward), count(*) FILTER (WHERE carried_forward),
           count(*) FILTER (WHERE verdict = 'unfair' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'suspected' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'unwatched' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'fair' AND NOT carried_forward),
           count(*) FILTER (WHERE verdict = 'insufficient_data' AND NOT carried_forward),
           count(*) FILTER (WHERE value IS NULL AND NOT carried_forward),
           min(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL), max(ARRAY[value, check_no]) FILTER (WHERE value IS NOT NULL),
           CASE WHEN NOT bool_or(value IS NOT NULL AND lower IS NULL) THEN min(lower) END,
           CASE WHEN NOT bool_or(value IS NOT NULL AND upper IS NULL) THEN max(upper) END,
           max(n), min(lower_limit), max(upper_limit), min(reason) FILTER (WHERE value IS NULL)
    FROM measurements m
    WHERE scope IN ('group', 'reference', 'attribute', 'overall') AND (
        m.check_no NOT IN (SELECT no FROM ranked WHERE place > 1) OR NOT EXISTS (
            SELECT FROM checks own
            JOIN checks its ON its.deployment_no = own.deployment_no AND its.span_end = own.span_end
            JOIN measurements other ON other.check_no = its.no
            WHERE own.no = m.check_no AND other.metric = m.metric AND other.data = m.data AND other.scope = m.scope
              AND other.attribute IS NOT DISTINCT FROM m.attribute AND other."group" IS NOT DISTINCT FROM m."group"
              AND (its.span_end - its.span_start <= interval '1 hour', its.no)
                  > (own.span_end - own.span_start <= interval '1 hour', own.no)))
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    """,
    "CREATE INDEX figure_days_series_idx ON figure_days (deployment_no, metric, data, day)",
    "CREATE INDEX figure_days_day_idx ON figure_days (deployment_no, day)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
