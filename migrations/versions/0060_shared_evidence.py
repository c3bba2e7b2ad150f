"""Notes whose records they are, and alarms of some group; evidence is computed again from the stored counts.

An alarm that was announced stays open with its dates, whatever is computed now.
"""

from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    ALTER TABLE evidence_eras ADD COLUMN IF NOT EXISTS divisors jsonb NOT NULL DEFAULT '[]',
        ADD COLUMN IF NOT EXISTS alarms jsonb NOT NULL DEFAULT '[]'
    """,
    """
    UPDATE monitors SET config = jsonb_set(config, '{evidence}', config->'evidence'
        || '{"each_record_another_person": false, "declared_by": null, "declared_on": null}')
    WHERE config ? 'evidence'
    """,
    # Nobody has said whose records they are where no column does.
    """
    UPDATE evidence_eras e SET figures_due = true, divisors = CASE
        WHEN (SELECT m.config->'evidence'->>'person' FROM monitors m WHERE m.deployment_no = e.deployment_no) IS NULL THEN '[[0, 10]]'
        ELSE '[[0, 1]]' END::jsonb
    """,
    "UPDATE evidence_figures SET is_stale = true, state = ''::bytea WHERE ended_at IS NULL AND state <> ''::bytea",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
