"""Reads the records of a check's window (`app/checks/window/window.py`), and adds up those of a period."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
import pyarrow as pa
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from ...base.clock import floor_to_minute
from ...base.errors import InvalidInput
from ...base.values import Scalar, frozen
from ...database.binary_rows import write_array_text
from ...database.engine import ArrowReader, Parameter
from ...database.tables import ChangedHourRow
from ...domain.check import Span
from ...domain.deployment import FieldKind, RecordSchema
from .record_queries import SQL_TYPES

KEPT = timedelta(hours=2)
"""Age of the counts of minutes: an hour is shown, and a late clock or a stopped scheduler does no harm."""

_MIN_JOINED_AGE = timedelta(minutes=1)
"""Age of a minute whose rows are joined: no writer adds to it any more."""

_TRY_LOCK = text("SELECT pg_try_advisory_xact_lock(4540261128)")

# A deployment that is being deleted is skipped, not waited for.
_LOCK_DEPLOYMENTS = text("""
    SELECT no FROM deployments WHERE no IN (SELECT deployment_no FROM record_counts)
        ORDER BY no FOR KEY SHARE SKIP LOCKED
""")

_DELETE_OLD = text(
    "DELETE FROM record_counts WHERE minute < now() - CAST(:kept AS interval) AND deployment_no = ANY (:nos)"
)

_JOIN_ROWS = text("""
    WITH several AS (
        SELECT minute, deployment_no FROM record_counts
        WHERE minute < now() - CAST(:settled AS interval) AND deployment_no = ANY (:nos)
        GROUP BY minute, deployment_no HAVING count(*) > 1
    ), taken AS (
        DELETE FROM record_counts c USING several s WHERE c.minute = s.minute
            AND c.deployment_no = s.deployment_no
        RETURNING c.minute, c.deployment_no, c.records
    )
    INSERT INTO record_counts (minute, deployment_no, records)
    SELECT minute, deployment_no, sum(records) FROM taken GROUP BY minute, deployment_no
""")


def fold_counts(session: Session) -> None:
    """Joins rows of past minutes, deletes old ones; nothing while another process does. Readers see the same."""
    if not session.scalar(_TRY_LOCK):
        return
    deployment_nos = list(session.scalars(_LOCK_DEPLOYMENTS))
    session.execute(_DELETE_OLD, {"kept": KEPT, "nos": deployment_nos})
    session.execute(_JOIN_ROWS, {"settled": _MIN_JOINED_AGE, "nos": deployment_nos})


def is_counted(minute: datetime, now: datetime) -> bool:
    return minute > now - KEPT


VALUE_PREFIX = "value_"
"""Prefix of value columns, before their position: names of features never reach the SQL."""

_IN_SPAN = (
    "FROM payload_records WHERE deployment_no = $1 AND schema_version = $2 AND logged_at >= $3 AND "
    "logged_at < $4"
)
_NEWEST_PAYLOAD = f"{_IN_SPAN} ORDER BY logged_at DESC, record_no DESC LIMIT $5"

# OFFSET 0 keeps the lookup by the whole key: with old statistics, a plain join may read all records for every
# label.
_NEWEST_FEEDBACK = """
    FROM feedback_records f
    LEFT JOIN LATERAL (SELECT * FROM payload_records r WHERE r.deployment_no = f.deployment_no
                       AND r.logged_at = f.record_logged_at AND r.record_no = f.record_no OFFSET 0) p ON true
    WHERE f.deployment_no = $1 AND (f.record_no IS NULL OR p.record_no IS NOT NULL)
      AND coalesce(p.schema_version, f.schema_version) = $2 AND f.usable_at >= $3 AND f.usable_at < $4
    ORDER BY f.usable_at DESC, f.feedback_no DESC LIMIT $5
"""
_HAS_LABEL = (
    "EXISTS (SELECT FROM feedback_records f WHERE f.deployment_no = $1 AND f.feedback_id = record_id AND "
    "f.usable_at < $6 AND f.label <> 'null')"
)
_PREDICTED = (
    # A label that a correction took away takes its pair with it.
    "CASE WHEN f.label = 'null' THEN 'null' ELSE coalesce(p.label, p.prediction, f.predicted_label, "
    "f.predicted)::text END AS predicted"
)

_CLOCK_MARGIN = timedelta(minutes=10)
"""Time between a change of the deployment and a span of added minutes, and for which they are kept."""

_DECODER = msgspec.json.Decoder(list[str | float | int | bool | None])


@frozen
class WindowQuery:
    """Columns to read of the records of one schema version."""

    deployment_no: int
    schema: RecordSchema
    columns: tuple[str, ...]
    with_probabilities: bool = False

    def values(self, features: str, meta: str) -> str:
        """The columns in SQL, each after a comma; the arguments are those of features and meta fields."""
        sql = {
            column.name: f"({source}->>{position}){f'::{SQL_TYPES[column.type]}' if column.kind is FieldKind.NUMERIC else ''}"
            for source, columns in ((meta, self.schema.meta), (features, self.schema.features))
            for position, column in enumerate(columns)
        }
        return "".join(f", {sql[name]} AS {VALUE_PREFIX}{no}" for no, name in enumerate(self.columns))


def name_values(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    return rows.select([f"{VALUE_PREFIX}{no}" for no in range(len(columns))]).rename_columns([*columns])


# Minutes hold no schema version, so they count only for a deployment with its first, or unchanged since
# before the span. Erased records stay in the minutes, and a clock that was ahead has made them forget some.
_COUNT = f"""
SELECT CASE WHEN $3 >= now() - interval '{int((KEPT - _CLOCK_MARGIN).total_seconds())} seconds'
             AND ($2 = 1 OR (SELECT updated_at FROM deployments
                 WHERE no = $1) < $3 - interval '{int(_CLOCK_MARGIN.total_seconds())} seconds')
             AND $3 >= (SELECT min(minute) FROM record_counts WHERE deployment_no = $1)
             AND NOT EXISTS (SELECT FROM erased_hours WHERE deployment_no = $1 AND hour >= date_trunc('hour',
                 $3, 'UTC') AND hour < $4)
    THEN (SELECT coalesce(sum(records), 0) FROM record_counts WHERE deployment_no = $1 AND minute >= $5
        AND minute < $6)
         + (SELECT count(*) {_IN_SPAN} AND logged_at < $5) + (SELECT count(*) {_IN_SPAN}
             AND logged_at >= greatest($5, $6))
    ELSE (SELECT count(*) {_IN_SPAN}) END::bigint AS n
"""  # noqa: S608 - constants


def count_payload(reader: ArrowReader, query: WindowQuery, span: Span) -> int:
    first_minute = floor_to_minute(span.start)
    first_minute = first_minute if first_minute == span.start else first_minute + timedelta(minutes=1)
    parameters: list[Parameter] = [
        query.deployment_no,
        query.schema.version,
        span.start,
        span.end,
        first_minute,
        floor_to_minute(span.end),
    ]
    return int(reader.table(_COUNT, parameters)["n"][0].as_py())


def read_newest_payload(reader: ArrowReader, query: WindowQuery, span: Span, limit: int) -> pa.Table:
    """Newest first. Columns: record_no, logged_at, record_id, model_revision, sample_rate (NULL: 1), outcome
    (JSON text of the label or prediction), probability (JSON text or NULL) if wanted, value_0 ….
    """
    probability = (
        ", CASE WHEN coalesce(label, prediction) <> 'null' THEN probability#>>'{}' END AS probability"
        if query.with_probabilities
        else ""
    )
    return reader.table(
        # Only positions of columns are written into the statement, never a name or a value.
        f"""SELECT record_no, logged_at, record_id, model_revision, sample_rate, coalesce(label, prediction)::text AS outcome
                   {probability} {query.values("features", "meta")} {_NEWEST_PAYLOAD}""",
        _list_parameters(query, span, limit),
    )


def read_newest_cohort(
    reader: ArrowReader, query: WindowQuery, span: Span, limit: int, *, until: datetime
) -> pa.Table:
    """Columns outcome as in `read_newest_payload`, labelled (by a label usable before `until`), value_0 …."""
    return reader.table(
        # Only positions of columns, as above.
        f"""SELECT coalesce(label, prediction)::text AS outcome, {_HAS_LABEL} AS labelled {query.values("features", "meta")}
                   {_NEWEST_PAYLOAD}""",
        [*_list_parameters(query, span, limit), until],
    )


def read_payload_numbers(reader: ArrowReader, query: WindowQuery, span: Span, limit: int) -> pa.Table:
    """Reads column record_no of `read_newest_payload` alone, in a fraction of its time."""
    return reader.table(f"SELECT record_no {_NEWEST_PAYLOAD}", _list_parameters(query, span, limit))


def read_newest_feedback(reader: ArrowReader, query: WindowQuery, span: Span, limit: int) -> pa.Table:
    """Reads labels that became usable in the span, newest first, without those whose record is gone.

    Columns: feedback_no, feedback_id, record_no and record_logged_at (NULL: own features), model_revision (of
    the prediction), sample_rate (NULL: 1), label and predicted (JSON texts; predicted is NULL before the
    model is asked), probability (JSON text or NULL) if wanted, value_0 ….
    """
    probability = (
        ", CASE WHEN f.label <> 'null' AND coalesce(p.label, p.prediction, f.predicted) <> 'null'"
        " THEN coalesce(p.probability, f.predicted_probability)#>>'{}' END AS probability"
        if query.with_probabilities
        else ""
    )
    return reader.table(
        # Only positions of columns, as above.
        f"""SELECT f.feedback_no, f.feedback_id, f.record_no, f.record_logged_at,
                   coalesce(p.model_revision, f.predicted_revision) AS model_revision, p.sample_rate,
                   f.label::text AS label, {_PREDICTED} {probability}
                   {query.values("coalesce(p.features, f.features)", "coalesce(p.meta, f.meta)")} {_NEWEST_FEEDBACK}""",
        _list_parameters(query, span, limit),
    )


def read_feedback_numbers(reader: ArrowReader, query: WindowQuery, span: Span, limit: int) -> pa.Table:
    """Reads columns feedback_no and predicted of `read_newest_feedback`."""
    return reader.table(
        f"SELECT f.feedback_no, {_PREDICTED} {_NEWEST_FEEDBACK}", _list_parameters(query, span, limit)
    )


def is_logged_between(reader: ArrowReader, deployment_no: int, span: Span) -> bool:
    table = reader.table(
        "SELECT EXISTS (SELECT FROM payload_records WHERE deployment_no = $1 AND logged_at >= $2 AND "
        "logged_at < $3) OR EXISTS (SELECT FROM feedback_records WHERE deployment_no = $1 AND usable_at >= "
        "$2 AND usable_at < $3) OR EXISTS (SELECT FROM corrections WHERE deployment_no = $1 AND made_at >= "
        "$2) AS is_logged",
        [deployment_no, span.start, span.end],
    )
    return bool(table["is_logged"][0].as_py())


def read_record_features(
    reader: ArrowReader, deployment_no: int, span: Span, record_nos: Sequence[int]
) -> dict[int, list[Scalar | None]]:
    """Reads features (in schema order) of records that were logged in the span, ends included."""
    table = reader.table(
        "SELECT record_no, features::text AS features FROM payload_records WHERE deployment_no = $1 AND "
        "logged_at >= $2 AND logged_at <= $3 AND record_no = ANY($4::text::bigint[])",
        [deployment_no, span.start, span.end, write_array_text(record_nos)],
    )
    return {row["record_no"]: _DECODER.decode(row["features"]) for row in table.to_pylist()}


def read_record_probabilities(
    reader: ArrowReader, deployment_no: int, span: Span, record_nos: Sequence[int]
) -> dict[int, str]:
    """JSON texts; the span's ends are included."""
    table = reader.table(
        "SELECT record_no, probability#>>'{}' AS probability FROM payload_records WHERE deployment_no = $1 "
        "AND logged_at >= $2 AND logged_at <= $3 AND record_no = ANY($4::text::bigint[]) AND probability IS "
        "NOT NULL",
        [deployment_no, span.start, span.end, write_array_text(record_nos)],
    )
    return {row["record_no"]: row["probability"] for row in table.to_pylist()}


def read_feedback_features(
    session: Session, deployment_no: int, feedback_ids: Sequence[str]
) -> dict[str, list[object]]:
    rows = session.execute(
        text(
            "SELECT feedback_id, features FROM feedback_records WHERE deployment_no = :deployment_no AND "
            "feedback_id = ANY(:ids)"
        ),
        {"deployment_no": deployment_no, "ids": list(feedback_ids)},
    )
    return {row.feedback_id: row.features for row in rows}


def match_pending_feedback(session: Session, deployment_no: int) -> None:
    """Joins waiting labels to records that have arrived.

    `usable_at` becomes the moment the later half was logged. The records' hours are noted as changed.
    """
    session.execute(
        text(
            # Looked up by the whole key, as in `read_newest_feedback`.
            """WITH matched AS (
               UPDATE feedback_records f
               SET (record_no, record_logged_at, usable_at) = (
                   SELECT k.record_no, k.logged_at, greatest(f.logged_at, k.logged_at) FROM payload_keys k
                   WHERE k.deployment_no = f.deployment_no AND k.record_id = f.feedback_id)
               WHERE f.deployment_no = :deployment_no AND f.usable_at IS NULL
                 AND (SELECT k.record_no FROM payload_keys k
                      WHERE k.deployment_no = f.deployment_no AND k.record_id = f.feedback_id) IS NOT NULL
               RETURNING deployment_no, record_logged_at)
               INSERT INTO changed_hours (deployment_no, hour)
               SELECT DISTINCT deployment_no, date_trunc('hour', record_logged_at, 'UTC') FROM matched"""
        ),
        {"deployment_no": deployment_no},
    )


def _list_parameters(query: WindowQuery, span: Span, limit: int) -> list[Parameter]:
    return [query.deployment_no, query.schema.version, span.start, span.end, limit]


MAX_COMBINATIONS = 2_000_000
"""Combinations of values and scores that are counted at once."""

_IN_PERIOD = "FROM payload_records WHERE deployment_no = $1 AND logged_at >= $2 AND logged_at < $3"


@frozen
class RevisionCount:
    """Records of a model revision and schema version, with the lowest and highest rate of logging."""

    model_revision: str
    schema_version: int
    records: int
    lowest_rate: float
    highest_rate: float


def count_combinations(reader: ArrowReader, query: WindowQuery, span: Span) -> pa.Table:
    """Counts records of the current schema version.

    Columns: records, outcome (JSON text of the label or prediction), probability (JSON text) if wanted,
    value_0 ….
    """
    probability = (
        ", CASE WHEN coalesce(label, prediction) <> 'null' THEN probability#>>'{}' END AS probability"
        if query.with_probabilities
        else ""
    )
    columns = [
        "outcome",
        *(["probability"] if query.with_probabilities else []),
        *(f"{VALUE_PREFIX}{no}" for no in range(len(query.columns))),
    ]
    table = reader.table(
        f"""SELECT count(*) AS records, {", ".join(columns)} FROM (
              SELECT coalesce(label, prediction)::text
                  AS outcome {probability} {query.values("features", "meta")}
              {_IN_PERIOD} AND schema_version = $4) logged
            GROUP BY {", ".join(columns)}
                LIMIT {MAX_COMBINATIONS + 1}""",  # noqa: S608 - only positions of columns are written into it, never a name or a value
        [query.deployment_no, span.start, span.end, query.schema.version],
    )
    if table.num_rows > MAX_COMBINATIONS:
        raise InvalidInput(
            "since",
            f"must give a shorter period: its records have more than {MAX_COMBINATIONS:,} "
            "different values and scores",
        )
    # Sums depend on the order to the last digit. Postgres sorts texts by a language, which takes seconds.
    return table.sort_by([(name, "ascending") for name in columns])


def sample_period(reader: ArrowReader, query: WindowQuery, span: Span, *, one_in: int) -> pa.Table:
    """Reads one of so many records, evenly spread: outcome (JSON text), value_0 …."""
    return reader.table(
        f"""SELECT coalesce(label, prediction)::text AS outcome {query.values("features", "meta")}
            {_IN_PERIOD} AND schema_version = $4 AND mod(hashint8(record_no)::bigint, $5) = 0 ORDER BY logged_at, record_no""",
        [query.deployment_no, span.start, span.end, query.schema.version, one_in],
    )


def count_revisions(reader: ArrowReader, deployment_no: int, span: Span) -> list[RevisionCount]:
    table = reader.table(
        f"""SELECT model_revision, schema_version::int AS schema_version, count(*) AS records,
                   min(coalesce(sample_rate, 1)) AS lowest_rate, max(coalesce(sample_rate, 1)) AS highest_rate
            {_IN_PERIOD} GROUP BY 1, 2 ORDER BY 1, 2""",
        [deployment_no, span.start, span.end],
    )
    return [RevisionCount(**row) for row in table.to_pylist()]


def count_without_label(reader: ArrowReader, deployment_no: int, span: Span) -> int:
    table = reader.table(
        """SELECT count(*) AS records FROM payload_records p
           WHERE deployment_no = $1 AND logged_at >= $2 AND logged_at < $3
             AND NOT EXISTS (SELECT FROM feedback_records f WHERE f.deployment_no = p.deployment_no
                 AND f.feedback_id = p.record_id
                               AND f.label <> 'null')""",
        [deployment_no, span.start, span.end],
    )
    return int(table["records"][0].as_py())


def note_changed_hours(session: Session, deployment_no: int, hours: Iterable[datetime]) -> None:
    rows = [{"deployment_no": deployment_no, "hour": hour} for hour in hours]
    if rows:
        session.execute(insert(ChangedHourRow), rows)
