"""One table of facts in place of six: what the OpenScale SDK must find again. Custom monitors, imported figures and data marts go."""

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

_TABLE = """CREATE TABLE openscale_facts (
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
_PROVIDERS = """INSERT INTO openscale_facts (kind, id, entity, secrets, created_at, created_by, modified_at)
    SELECT 'provider', id, entity, secrets, created_at, created_by, modified_at FROM openscale_providers"""
_SUBSCRIPTIONS = """WITH instances AS (
        SELECT deployment_no, min(created_by) AS created_by,
               jsonb_object_agg(
                   definition_id, entity - 'data_mart_id' || jsonb_build_object('created_at', created_at, 'created_by', created_by)
               ) AS members
        FROM openscale_instances WHERE definition_id IN ('fairness', 'quality', 'performance') GROUP BY deployment_no
    )
    INSERT INTO openscale_facts (kind, id, deployment_no, entity, created_at, created_by, modified_at)
    SELECT 'subscription', d.id, d.no,
           coalesce(s.entity, '{}') || jsonb_strip_nulls(jsonb_build_object('provider_id', s.provider_id))
               || jsonb_build_object('instances', coalesce(i.members, '{}')),
           d.created_at, coalesce(s.created_by, i.created_by), d.created_at
    FROM deployments d LEFT JOIN openscale_subscriptions s ON s.deployment_no = d.no LEFT JOIN instances i ON i.deployment_no = d.no
    WHERE s.deployment_no IS NOT NULL OR i.deployment_no IS NOT NULL"""

STATEMENTS = (
    _TABLE,
    "CREATE INDEX openscale_facts_deployment_no_idx ON openscale_facts (deployment_no)",
    _PROVIDERS,
    _SUBSCRIPTIONS,
    "DROP TABLE openscale_imports, openscale_instances, openscale_definitions",
    "DROP TABLE openscale_subscriptions, openscale_providers, openscale_data_marts",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
