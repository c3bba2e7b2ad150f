"""Joins the alerts on one group, whose rules, metrics and data become figures inside; a notification is of several.

Unresolved alerts of one deployment, attribute and group become the oldest of them; resolved ones stay one each.
What a person wrote or was assigned on any of them stays.
"""

import hashlib
import json

from alembic import op
from sqlalchemy import Connection, text

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

FIGURES = (
    """
    CREATE TABLE alert_figures (
        no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        alert_no BIGINT NOT NULL REFERENCES alerts (no) ON DELETE CASCADE,
        rule_no INTEGER REFERENCES alert_rules (no) ON DELETE SET NULL,
        rule_id VARCHAR NOT NULL,
        rule_name VARCHAR NOT NULL,
        kind VARCHAR NOT NULL,
        subject VARCHAR NOT NULL,
        data VARCHAR,
        metric VARCHAR,
        attribute VARCHAR,
        "group" VARCHAR,
        facts JSONB NOT NULL,
        opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
        opened_check_no BIGINT,
        last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
        last_check_no BIGINT,
        ended_at TIMESTAMP WITH TIME ZONE,
        resolution VARCHAR,
        UNIQUE (alert_no, rule_no, subject)
    )
    """,
    # An interval at all hours was a list.
    """
    INSERT INTO alert_figures (alert_no, rule_no, rule_id, rule_name, kind, subject, data, metric, attribute, "group",
        facts, opened_at, opened_check_no, last_seen_at, last_check_no, ended_at, resolution)
    SELECT no, rule_no, rule_id, rule_name, kind, subject, data, metric, attribute, "group",
        CASE WHEN facts ? 'interval' THEN facts - 'interval'
            || jsonb_build_object('lower', facts->'interval'->0, 'upper', facts->'interval'->1) ELSE facts END,
        opened_at, opened_check_no, last_seen_at, last_check_no, resolved_at, resolution
    FROM alerts ORDER BY no
    """,
    "CREATE INDEX alert_figures_open_idx ON alert_figures (rule_no) WHERE ended_at IS NULL",
    "DROP INDEX alerts_one_open_idx",
    "DROP INDEX alerts_open_idx",
    "UPDATE alerts SET kind = 'unfair' WHERE kind IN ('verdict', 'evidence')",
)

JOINS = (
    """
    CREATE TEMPORARY TABLE joined_alerts ON COMMIT DROP AS
    SELECT no, first_value(no) OVER (PARTITION BY deployment_no, kind, attribute, "group" ORDER BY no) AS into_no
    FROM alerts WHERE resolved_at IS NULL
    """,
    "UPDATE alert_figures f SET alert_no = j.into_no FROM joined_alerts j WHERE f.alert_no = j.no AND j.no <> j.into_no",
    # An id of a comment is that of its caller, who may have used it on both.
    """
    UPDATE alert_comments c SET alert_no = j.into_no, id = gen_random_uuid()::text
    FROM joined_alerts j WHERE c.alert_no = j.no AND j.no <> j.into_no
    """,
    """
    UPDATE attributions a SET alert_no = first.into_no
    FROM (SELECT j.into_no, min(a.no) AS no FROM joined_alerts j JOIN attributions a ON a.alert_no = j.no
          GROUP BY j.into_no) AS first
    WHERE a.no = first.no AND NOT EXISTS (SELECT FROM attributions b WHERE b.alert_no = first.into_no)
    """,
    """
    UPDATE alerts a SET acknowledged_at = f.acknowledged_at, acknowledged_by = f.acknowledged_by, note = f.note
    FROM (SELECT DISTINCT ON (j.into_no) j.into_no, b.* FROM joined_alerts j JOIN alerts b ON b.no = j.no
          WHERE b.acknowledged_at IS NOT NULL ORDER BY j.into_no, b.acknowledged_at, b.no) AS f
    WHERE a.no = f.into_no
    """,
    """
    UPDATE alerts a SET assignee = f.assignee, assigned_at = f.assigned_at
    FROM (SELECT DISTINCT ON (j.into_no) j.into_no, b.* FROM joined_alerts j JOIN alerts b ON b.no = j.no
          WHERE b.assignee IS NOT NULL ORDER BY j.into_no, b.no) AS f
    WHERE a.no = f.into_no
    """,
    """
    UPDATE alerts a SET change = f.change
    FROM (SELECT DISTINCT ON (j.into_no) j.into_no, b.* FROM joined_alerts j JOIN alerts b ON b.no = j.no
          WHERE b.change IS NOT NULL ORDER BY j.into_no, b.no) AS f
    WHERE a.no = f.into_no
    """,
)

NOTIFICATIONS = (
    """
    ALTER TABLE notifications ADD COLUMN deployment_no INTEGER REFERENCES deployments (no) ON DELETE CASCADE,
        ADD COLUMN alert_nos BIGINT[] NOT NULL DEFAULT '{}'
    """,
    """
    UPDATE notifications n SET deployment_no = a.deployment_no, alert_nos = ARRAY[coalesce(j.into_no, a.no)],
        body = body - 'alert' || jsonb_build_object('deployment_id', body->'alert'->'deployment_id',
            'deployment_name', body->'alert'->'deployment_name', 'path', body->'alert'->'path', 'count', 1,
            'alerts', jsonb_build_array('{"group_name": null, "note": null, "assignee": null, "change": null,
                "closed_by": null, "closing_note": null, "closing_reason": null, "figures": 1}' || (body->'alert')))
    FROM alerts a LEFT JOIN joined_alerts j ON j.no = a.no WHERE a.no = n.alert_no
    """,
    """
    UPDATE notifications SET body = body - 'alert' || '{"count": 0, "alerts": []}' WHERE alert_no IS NULL
    """,
    "ALTER TABLE notifications DROP COLUMN alert_no",
    "CREATE INDEX notifications_deployment_no_idx ON notifications (deployment_no)",
    "DELETE FROM alerts a USING joined_alerts j WHERE a.no = j.no AND j.no <> j.into_no",
    """
    ALTER TABLE alerts DROP COLUMN rule_no, DROP COLUMN rule_id, DROP COLUMN rule_name, DROP COLUMN metric,
        DROP COLUMN data, DROP COLUMN facts, DROP COLUMN opened_check_no, DROP COLUMN last_seen_at,
        DROP COLUMN last_check_no
    """,
    "CREATE UNIQUE INDEX alerts_one_open_idx ON alerts (deployment_no, subject) WHERE resolved_at IS NULL",
)


def upgrade() -> None:
    for statement in (*FIGURES, *JOINS, *NOTIFICATIONS[:-1]):
        op.execute(statement)
    _digest_subjects(op.get_bind())
    op.execute(NOTIFICATIONS[-1])


def _digest_subjects(connection: Connection) -> None:
    """Stores what keeps an alert from being opened twice, which SQL cannot write."""
    digested = text("UPDATE alerts SET subject = :subject WHERE no = :no")
    for alert in connection.execute(text('SELECT no, kind, attribute, "group" FROM alerts')).all():
        names = json.dumps([alert.kind, alert.attribute, alert.group])
        subject = hashlib.sha256(names.encode()).hexdigest()
        connection.execute(digested, {"no": alert.no, "subject": subject})
