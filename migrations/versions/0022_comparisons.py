"""Attributions of several attributes together, which can be cancelled and resume; scans for favoured subgroups."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE attributions ADD COLUMN comparisons JSONB",
    "ALTER TABLE attributions ADD COLUMN cancel_requested BOOLEAN NOT NULL DEFAULT false",
    "ALTER TABLE attributions ALTER COLUMN cancel_requested DROP DEFAULT",
    # So far every gap was of one attribute, whose name is the label.
    """
    UPDATE attributions SET result = jsonb_set(result, '{gaps}', (
        SELECT coalesce(
            jsonb_agg((gap - 'attribute') || jsonb_build_object('features', jsonb_build_array(gap->'attribute')) ORDER BY place), '[]')
        FROM jsonb_array_elements(result->'gaps') WITH ORDINALITY AS listed(gap, place)))
    WHERE jsonb_typeof(result->'gaps') = 'array'
    """,
    *(
        statement
        for table in ("subgroup_settings", "subgroup_scans", "subgroup_candidates")
        for statement in (
            f"ALTER TABLE {table} ADD COLUMN direction VARCHAR NOT NULL DEFAULT 'below'",
            f"ALTER TABLE {table} ALTER COLUMN direction DROP DEFAULT",
        )
    ),
    """
    CREATE TABLE attribution_answers (
        attribution_no BIGINT NOT NULL,
        part INTEGER NOT NULL,
        question BYTEA NOT NULL,
        outcomes BYTEA NOT NULL,
        CONSTRAINT attribution_answers_pkey PRIMARY KEY (attribution_no, part),
        CONSTRAINT attribution_answers_attribution_no_fkey FOREIGN KEY (attribution_no) REFERENCES attributions (no) ON DELETE CASCADE
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
