"""Judges stored figures by their whole interval: inside the limits with an interval that reaches outside is `undecided`, no longer `fair`.

Outside them, `unfair` takes the interval that allows for the choice among several groups. OpenScale's own fairness is judged by its value
alone. Alerts stay.
"""

from alembic import op
from sqlalchemy import Engine

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

PIECE = 500
"""Checks whose figures are judged again in one transaction."""

LOCK_TIMEOUT = "SET LOCAL lock_timeout = '300ms'"
"""As long as `app/database/migrations.py` waits for a table."""

COUNT = "ALTER TABLE figure_days ADD COLUMN IF NOT EXISTS undecided INTEGER DEFAULT 0 NOT NULL"

# An end without a bound is outside. Rounding is allowed for as in `app/statistics/intervals/verdicts.py`.
REACHES_OUTSIDE = """
    lower_limit IS NOT NULL AND (lower IS NULL OR lower < lower_limit - 1e-9 * greatest(1, abs(lower), abs(lower_limit)))
    OR upper_limit IS NOT NULL AND (upper IS NULL OR upper > upper_limit + 1e-9 * greatest(1, abs(upper), abs(upper_limit)))
"""

REACHES_INSIDE = """
    chosen_lower IS DISTINCT FROM chosen_upper
    AND coalesce(coalesce(chosen_upper, 'Infinity') >= lower_limit - 1e-9 * greatest(1, abs(lower_limit)), true)
    AND coalesce(coalesce(chosen_lower, '-Infinity') <= upper_limit + 1e-9 * greatest(1, abs(upper_limit)), true)
"""

# Of checks that end at one moment an hour's counts, of these the newest, for each group.
IS_SUPERSEDED = """
    SELECT FROM checks own
    JOIN checks its ON its.deployment_no = own.deployment_no AND its.span_end = own.span_end
    JOIN measurements other ON other.check_no = its.no
    WHERE own.no = m.check_no AND other.metric = m.metric AND other.data = m.data AND other.scope = m.scope
      AND other.attribute IS NOT DISTINCT FROM m.attribute AND other."group" IS NOT DISTINCT FROM m."group"
      AND (its.span_end - its.span_start <= interval '1 hour', its.no) > (own.span_end - own.span_start <= interval '1 hour', own.no)
"""

JUDGE_AGAIN = f"""
    WITH changed AS MATERIALIZED (
        SELECT m.*, date_bin('1 day', at - interval '1 microsecond', '1970-01-05 00:00+00') AS day FROM measurements m
        WHERE check_no > {{first}} AND check_no <= {{last}} AND CASE WHEN metric = 'openscale_fairness' THEN verdict = 'suspected'
            ELSE verdict IN ('fair', 'unwatched') AND ({REACHES_OUTSIDE}) OR verdict = 'unfair' AND ({REACHES_INSIDE}) END
    ), judged AS (
        UPDATE measurements
        SET verdict = CASE changed.verdict WHEN 'suspected' THEN 'unfair' WHEN 'unfair' THEN 'suspected' ELSE 'undecided' END
        FROM changed WHERE measurements.no = changed.no
    ), counted AS (
        SELECT deployment_no, metric, data, scope, attribute, "group", definition, day,
               count(*) FILTER (WHERE verdict = 'fair') AS fair, count(*) FILTER (WHERE verdict = 'unwatched') AS unwatched,
               count(*) FILTER (WHERE verdict = 'suspected') AS suspected, count(*) FILTER (WHERE verdict = 'unfair') AS unfair
        FROM changed m WHERE NOT carried_forward AND NOT EXISTS ({IS_SUPERSEDED}) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    )
    UPDATE figure_days days
    SET fair = days.fair - own.fair, unwatched = days.unwatched - own.unwatched, undecided = undecided + own.fair + own.unwatched,
        suspected = days.suspected - own.suspected + own.unfair, unfair = days.unfair + own.suspected - own.unfair
    FROM counted own
    WHERE days.deployment_no = own.deployment_no AND days.metric = own.metric AND days.data = own.data AND days.day = own.day
      AND days.scope = own.scope AND days.attribute IS NOT DISTINCT FROM own.attribute AND days."group" IS NOT DISTINCT FROM own."group"
      AND days.definition = own.definition
"""  # noqa: S608 - of constants only


def upgrade() -> None:
    connection = op.get_bind()
    # This transaction has the migrations' lock and waits, however long the figures take.
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    _judge_again(connection.engine)
    # A new database has its tables in this transaction.
    connection.exec_driver_sql(COUNT)


def _judge_again(engine: Engine) -> None:
    """Judges the figures of a stored database in transactions of their own; a judged one is not judged again in the next attempt."""
    with engine.begin() as connection:
        connection.exec_driver_sql(LOCK_TIMEOUT)
        if connection.exec_driver_sql("SELECT to_regclass('figure_days')").scalar() is None:
            return
        connection.exec_driver_sql(COUNT)
        newest = connection.exec_driver_sql("SELECT coalesce(max(no), 0) FROM checks").scalar_one()
    for first in range(0, newest, PIECE):
        with engine.begin() as connection:
            connection.exec_driver_sql(LOCK_TIMEOUT)
            connection.exec_driver_sql(JUDGE_AGAIN.format(first=first, last=first + PIECE))
