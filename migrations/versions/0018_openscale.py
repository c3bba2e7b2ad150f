"""Facts that the OpenScale SDK must find again: data marts, providers, subscriptions, instances, imported measurements."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE openscale_data_marts (
        id VARCHAR NOT NULL,
        entity JSONB NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        created_by VARCHAR NOT NULL,
        CONSTRAINT openscale_data_marts_pkey PRIMARY KEY (id)
    )
    """,
    # Published scripts expect one data mart to be there already, under this id.
    """
    INSERT INTO openscale_data_marts (id, entity, created_by)
    VALUES ('00000000-0000-0000-0000-000000000000', '{"name": "Evenhand", "internal_database": true}', 'evenhand')
    """,
    """
    CREATE TABLE openscale_providers (
        id VARCHAR NOT NULL,
        entity JSONB NOT NULL,
        secrets BYTEA,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        created_by VARCHAR NOT NULL,
        modified_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT openscale_providers_pkey PRIMARY KEY (id)
    )
    """,
    """
    CREATE TABLE openscale_subscriptions (
        deployment_no INTEGER NOT NULL,
        data_mart_id VARCHAR NOT NULL,
        provider_id VARCHAR,
        entity JSONB NOT NULL,
        created_by VARCHAR NOT NULL,
        CONSTRAINT openscale_subscriptions_pkey PRIMARY KEY (deployment_no),
        CONSTRAINT openscale_subscriptions_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE,
        CONSTRAINT openscale_subscriptions_data_mart_id_fkey FOREIGN KEY (data_mart_id) REFERENCES openscale_data_marts (id),
        CONSTRAINT openscale_subscriptions_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES openscale_providers (id)
    )
    """,
    "CREATE INDEX openscale_subscriptions_data_mart_id_idx ON openscale_subscriptions (data_mart_id)",
    "CREATE INDEX openscale_subscriptions_provider_id_idx ON openscale_subscriptions (provider_id)",
    """
    CREATE TABLE openscale_instances (
        deployment_no INTEGER NOT NULL,
        definition_id VARCHAR NOT NULL,
        entity JSONB NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        created_by VARCHAR NOT NULL,
        CONSTRAINT openscale_instances_pkey PRIMARY KEY (deployment_no, definition_id),
        CONSTRAINT openscale_instances_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE openscale_imports (
        id VARCHAR NOT NULL,
        deployment_no INTEGER NOT NULL,
        definition_id VARCHAR NOT NULL,
        at TIMESTAMP WITH TIME ZONE NOT NULL,
        entity JSONB NOT NULL,
        created_by VARCHAR NOT NULL,
        CONSTRAINT openscale_imports_pkey PRIMARY KEY (id),
        CONSTRAINT openscale_imports_deployment_no_fkey FOREIGN KEY (deployment_no) REFERENCES deployments (no) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX openscale_imports_instance_idx ON openscale_imports (deployment_no, definition_id, at)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
