"""Drops what no feature of this version uses, and stores each figure once.

Rows whose counts another row has go; so do mitigated figures that are measured when somebody asks, and figures of labels that compare no
groups.
"""

from alembic import op
from sqlalchemy import Engine

revision = "0055"
down_revision = "0049"
branch_labels = None
depends_on = None

PIECE = 500
"""Checks whose figures are rewritten in one transaction."""

LOCK_TIMEOUT = "SET LOCAL lock_timeout = '300ms'"
"""As long as `app/database/migrations.py` waits for a table."""

MARKS = """
    ALTER TABLE measurements ADD COLUMN IF NOT EXISTS worst_of INTEGER, ADD COLUMN IF NOT EXISTS chosen_lower DOUBLE PRECISION,
        ADD COLUMN IF NOT EXISTS chosen_upper DOUBLE PRECISION
"""
OF_SAME = """
    one.scope = 'group' AND one.check_no = other.check_no AND one.metric = other.metric AND one.data = other.data
    AND one.attribute = other.attribute
"""

OF_PREDICTIONS = """
    data = 'feedback' AND metric IN (
        'favourable_rate', 'disparate_impact', 'statistical_parity_difference', 'difference_in_positive_proportions_in_predicted_labels',
        'odds_ratio', 'mantel_haenszel_odds_ratio', 'adjusted_odds_ratio', 'conditional_demographic_disparity_in_predicted_labels',
        'counterfactual_flip_test', 'prediction_consistency')
"""
"""Figures of predictions alone, once measured on the labelled records; they stay as measured on all."""

GONE = """
    'flip_rate_gained', 'flip_rate_lost', 'macro_precision', 'weighted_precision', 'macro_recall', 'weighted_recall', 'macro_f1',
    'weighted_f1', 'macro_false_positive_rate', 'weighted_false_positive_rate', 'class_log_loss', 'mean_absolute_error',
    'mean_squared_error', 'root_mean_squared_error', 'r2', 'explained_variance'
"""

FIGURES = (
    f"DELETE FROM measurements other WHERE {OF_PREDICTIONS} AND {{of_piece}}",  # noqa: S608 - of constants only
    # The group furthest out by its name, with the number of groups and the interval that allow for the choice.
    f"""
    UPDATE measurements one
    SET worst_of = CASE WHEN other.value IS NULL THEN 0 ELSE coalesce((other.details->>'chosen_from')::int, 1) END,
        chosen_lower = (other.details->>'chosen_lower')::float8, chosen_upper = (other.details->>'chosen_upper')::float8
    FROM measurements other
    WHERE other.scope = 'worst' AND {{of_piece}} AND {OF_SAME} AND one."group" = other.details->>'worst_group'
    """,  # noqa: S608 - of constants only
    # Where no group had a value, the first one had the reason.
    f"""
    UPDATE measurements SET worst_of = 0 WHERE no IN (
        SELECT min(one.no) FROM measurements other JOIN measurements one ON {OF_SAME}
        WHERE other.scope = 'worst' AND {{of_piece}} AND other.details->>'worst_group' IS NULL
        GROUP BY other.no)
    """,  # noqa: S608 - of constants only
    # Data that were not measured at all have no groups: their reason stays.
    f"""
    UPDATE measurements other SET scope = 'pooled', worst_of = 0
    WHERE scope = 'worst' AND {{of_piece}} AND NOT EXISTS (SELECT FROM measurements one WHERE {OF_SAME})
    """,  # noqa: S608 - of constants only
    "DELETE FROM measurements other WHERE scope = 'worst' AND {of_piece}",
    f"""
    DELETE FROM measurements other USING measurements one
    WHERE other.scope IN ('pooled', 'reference') AND {{of_piece}} AND {OF_SAME} AND one.n = other.n AND one.details = other.details
    """,  # noqa: S608 - of constants only
    # A pair in the one order or the other, and a pair of groups of which fewer than two have records.
    f"""
    DELETE FROM measurements other WHERE scope = 'worst_pair' AND {{of_piece}} AND (
        details->'monitored' IS NULL OR EXISTS (
            SELECT FROM measurements one WHERE {OF_SAME} AND (
                (one.details->'monitored', one.details->'reference') = (other.details->'monitored', other.details->'reference')
                OR (one.details->'reference', one.details->'monitored') = (other.details->'monitored', other.details->'reference'))))
    """,  # noqa: S608 - of constants only
    *(
        f"""
        UPDATE measurements one SET details = one.details || jsonb_strip_nulls(jsonb_build_object(
            '{way}', other.details->'flipped', '{way}_weight', other.details->'flipped_weight'))
        FROM measurements other
        WHERE other.metric = 'flip_rate_{way}' AND {{of_piece}} AND one.metric = 'flip_rate' AND one.check_no = other.check_no
          AND one.scope = other.scope AND one.data = other.data AND one.attribute IS NOT DISTINCT FROM other.attribute
          AND one."group" IS NOT DISTINCT FROM other."group"
        """  # noqa: S608 - of constants only
        for way in ("gained", "lost")
    ),
    f"DELETE FROM measurements other WHERE metric IN ({GONE}) AND {{of_piece}}",  # noqa: S608 - of constants only
    """
    DELETE FROM measurements other
    WHERE data IN ('debiased', 'debiased_feedback') AND {of_piece} AND metric NOT IN (
        'selection_rate_before', 'selection_rate_after', 'disparate_impact_before', 'disparate_impact_after', 'accuracy_before',
        'accuracy_after')
    """,
)

PICKED = f"""
    SELECT jsonb_agg(key ORDER BY place) FROM (
        SELECT key, min(place) AS place FROM (
            SELECT regexp_replace(key, '^flip_rate_(gained|lost)$', 'flip_rate') AS key, place
            FROM jsonb_array_elements_text({{list}}) WITH ORDINALITY AS listed (key, place)) renamed
        WHERE key NOT IN ({GONE})
        GROUP BY key) once
"""  # noqa: S608 - of constants only
SERIES_AND_SETTINGS = (
    f"DELETE FROM figure_days WHERE {OF_PREDICTIONS}",  # noqa: S608 - of constants only
    f"""
    DELETE FROM figure_days days WHERE metric IN ({GONE})
        OR (data IN ('debiased', 'debiased_feedback') OR scope = 'reference') AND NOT EXISTS (
            SELECT FROM measurements own
            WHERE own.deployment_no = days.deployment_no AND own.metric = days.metric AND own.data = days.data AND own.scope = days.scope
              AND own.attribute IS NOT DISTINCT FROM days.attribute AND own.at > days.day AND own.at <= days.day + interval '1 day')
    """,  # noqa: S608 - of constants only
    # Nothing left is the usual metrics.
    f"""
    UPDATE monitors SET config = jsonb_set(config, '{{metrics}}', coalesce(({PICKED.format(list="config->'metrics'")}), 'null'))
    WHERE config->'metrics' ?| ARRAY[{GONE}]
    """,  # noqa: S608 - of constants only
    f"""
    UPDATE monitors SET config = jsonb_set(config, '{{attributes}}', (
        SELECT jsonb_agg(jsonb_set(one, '{{metric_limits}}', (one->'metric_limits') - ARRAY[{GONE}]) ORDER BY place)
        FROM jsonb_array_elements(config->'attributes') WITH ORDINALITY AS listed (one, place)))
    WHERE EXISTS (SELECT FROM jsonb_array_elements(config->'attributes') AS one WHERE one->'metric_limits' ?| ARRAY[{GONE}])
    """,  # noqa: S608 - of constants only
    # A rule of which nothing is left was never about a figure that there was.
    f"""
    UPDATE alert_rules
    SET config = jsonb_set(config, '{{condition,metrics}}', coalesce(({PICKED.format(list="config->'condition'->'metrics'")}), '[]'))
    WHERE config->'condition'->'metrics' ?| ARRAY[{GONE}]
    """,  # noqa: S608 - of constants only
)

# A mode that does not exist any more.
PARITY = """
    WITH changed AS (
        UPDATE mitigation_settings SET settings = settings - 'parity' || '{"mode": "lift_only"}' WHERE settings->>'mode' = 'parity'
        RETURNING deployment_no
    ), noted AS (
        INSERT INTO activities (actor, action, deployment_no, deployment_id, details)
        SELECT 'command line', 'mitigation.changed', no, id, '{"mode": ["parity", "lift_only"]}'
        FROM deployments WHERE no IN (SELECT deployment_no FROM changed) RETURNING actor, action, deployment_id
    )
    INSERT INTO audit_events (actor, action, outcome, address, request_id, route, deployment_id, details)
    SELECT actor, action, 'done', '', '', '', deployment_id, '{"fields": ["mode"]}' FROM noted
"""

COMPARISONS = (
    "ALTER TABLE evidence_figures ADD COLUMN definition JSONB, ADD COLUMN starts_at TIMESTAMPTZ, ADD COLUMN ended_at TIMESTAMPTZ",
    "ALTER TABLE evidence_eras ADD COLUMN left_out_from TIMESTAMPTZ",
    "UPDATE evidence_eras SET left_out_from = counted_until",
    "UPDATE evidence_figures f SET starts_at = e.starts_at FROM evidence_eras e WHERE e.no = f.era_no AND e.starts_at IS NOT NULL",
)

ERASED = "ALTER TABLE erased_hours ADD COLUMN records BIGINT DEFAULT 0 NOT NULL"

# What the OpenScale SDK must find again. Custom monitors, quality of regressions, imported figures and data marts went.
OPENSCALE_TABLE = """CREATE TABLE openscale_facts (
    kind VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    deployment_no INTEGER,
    entity JSONB NOT NULL,
    secrets BYTEA,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    created_by VARCHAR NOT NULL,
    modified_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT openscale_facts_pkey PRIMARY KEY (kind, id),
    CONSTRAINT openscale_facts_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
)"""
OPENSCALE_PROVIDERS = """INSERT INTO openscale_facts (kind, id, entity, secrets, created_at, created_by, modified_at)
    SELECT 'provider', id, entity, secrets, created_at, created_by, modified_at FROM openscale_providers"""
OPENSCALE_SUBSCRIPTIONS = """WITH instances AS (
        SELECT deployment_no, min(created_by) AS created_by,
               jsonb_object_agg(
                   definition_id, entity - 'data_mart_id' || jsonb_build_object('created_at', created_at, 'created_by', created_by)
               ) AS members
        FROM openscale_instances
        WHERE definition_id IN ('fairness', 'performance')
            OR definition_id = 'quality' AND deployment_no NOT IN (SELECT no FROM deployments WHERE problem_type = 'regression')
        GROUP BY deployment_no
    )
    INSERT INTO openscale_facts (kind, id, deployment_no, entity, created_at, created_by, modified_at)
    SELECT 'subscription', d.id, d.no,
           coalesce(s.entity, '{}') || jsonb_strip_nulls(jsonb_build_object('provider_id', s.provider_id))
               || jsonb_build_object('instances', coalesce(i.members, '{}')),
           d.created_at, coalesce(s.created_by, i.created_by), d.created_at
    FROM deployments d LEFT JOIN openscale_subscriptions s ON s.deployment_no = d.no LEFT JOIN instances i ON i.deployment_no = d.no
    WHERE s.deployment_no IS NOT NULL OR i.deployment_no IS NOT NULL"""
OPENSCALE = (
    OPENSCALE_TABLE,
    "CREATE INDEX openscale_facts_deployment_no_idx ON openscale_facts (deployment_no)",
    OPENSCALE_PROVIDERS,
    OPENSCALE_SUBSCRIPTIONS,
    "DROP TABLE openscale_imports, openscale_instances, openscale_definitions",
    "DROP TABLE openscale_subscriptions, openscale_providers, openscale_data_marts",
)

# Months in files, sinks of the audit, groups that scans followed, causes that were new to a release before.
DROPPED = (
    "DROP TABLE archived_months, audit_sinks, subgroup_hours, subgroup_candidates, subgroup_settings",
    'ALTER TABLE subgroup_scans DROP COLUMN "limit", DROP COLUMN candidate_no',
    "ALTER TABLE checks DROP COLUMN narrow_failure",
)

EARLIEST = "ALTER TABLE deployments ADD COLUMN earliest DATE"


def upgrade() -> None:
    connection = op.get_bind()
    # This transaction has the migrations' lock and waits, however long the figures take.
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    _rewrite_figures(connection.engine)
    # Others wait for the tables from here on.
    for statement in (MARKS, PARITY, *COMPARISONS, ERASED, *OPENSCALE, *DROPPED, EARLIEST):
        connection.exec_driver_sql(statement)


def _rewrite_figures(engine: Engine) -> None:
    """Rewrites the figures of a stored database in transactions of their own, so that nobody waits for all of them.

    What is rewritten stays so if a later piece gives way: it finds nothing more to do in the next attempt.
    """
    with engine.begin() as connection:
        connection.exec_driver_sql(LOCK_TIMEOUT)
        # The tables of a new database are still in the transaction of the first migration.
        if connection.exec_driver_sql("SELECT to_regclass('measurements')").scalar() is None:
            return
        connection.exec_driver_sql(MARKS)
        newest = connection.exec_driver_sql("SELECT coalesce(max(no), 0) FROM checks").scalar_one()
    for first in range(0, newest, PIECE):
        with engine.begin() as connection:
            connection.exec_driver_sql(LOCK_TIMEOUT)
            for statement in FIGURES:
                of_piece = f"other.check_no > {first} AND other.check_no <= {first + PIECE}"
                connection.exec_driver_sql(statement.format(of_piece=of_piece))
    with engine.begin() as connection:
        connection.exec_driver_sql(LOCK_TIMEOUT)
        for statement in SERIES_AND_SETTINGS:
            connection.exec_driver_sql(statement)
