"""Finds hours whose copies the model did not score; notes by which column persons were counted.

States of figures are not compressed, because they cannot be.
"""

from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX IF NOT EXISTS checks_unscored_idx ON checks (deployment_no, span_start) WHERE failure = 'scoring-failed'")
    op.execute("ALTER TABLE evidence_figures ALTER COLUMN state SET STORAGE EXTERNAL")
    op.execute("""
        ALTER TABLE evidence_eras ADD COLUMN IF NOT EXISTS persons jsonb NOT NULL DEFAULT '[[0, null]]'
    """)
    op.execute("""
        UPDATE evidence_eras e SET persons = jsonb_build_array(jsonb_build_array(0, m.config->'evidence'->'person'))
        FROM monitors m WHERE m.deployment_no = e.deployment_no AND m.config->'evidence'->>'person' IS NOT NULL
    """)
    op.execute("UPDATE evidence_eras SET divisors = '[[0, 1]]' WHERE divisors = '[]'")
