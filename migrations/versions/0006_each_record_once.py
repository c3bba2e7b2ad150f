"""Balanced figures for which every record is once on each side; what release 0.1 called balanced gets OpenScale's names.

Nothing that was measured is changed: perfect equality and favourable rates move to the data set whose definition they have, disparate
impacts on balanced data stay as definition 1 and are copied under OpenScale's name, so that its series goes on.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE measurements ADD COLUMN definition SMALLINT DEFAULT 1 NOT NULL",
    """
    UPDATE measurements SET data = 'payload_perturbed'
    WHERE data = 'balanced' AND metric IN ('favourable_rate', 'perfect_equality')
    """,
    """
    INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, attribute, "group", value, reason, lower, upper,
                              interval_method, n, verdict, carried_forward, details)
    SELECT check_no, deployment_no, at, 'openscale_fairness', 'payload_perturbed', scope, attribute, "group", value, reason, lower, upper,
           interval_method, n, CASE WHEN value IS NULL THEN 'not_computable' END, carried_forward, details
    FROM measurements WHERE data = 'balanced' AND metric = 'disparate_impact'
    ORDER BY no
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
