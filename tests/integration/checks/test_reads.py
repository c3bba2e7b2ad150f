"""What the reads of a check go through, told by Postgres itself: a bulk load leaves statistics in which the deployment is empty."""

from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import text

from app.database.engine import ArrowReader, Database, arrow_reader
from app.domain.check import Span
from app.sources.stored.window_queries import (
    WindowQuery,
    match_pending_feedback,
    read_newest_feedback,
    read_newest_payload,
    read_record_features,
)
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.scenes import HOUR, NOON, Scene, scene

RECORDS = 1000
SPAN = Span(start=NOON, end=NOON + HOUR)
VISITED = (
    "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint AS rows"
    " FROM pg_stat_xact_user_tables WHERE relname LIKE 'payload%'"
)


def loaded_in_bulk(database: Database) -> Scene:
    """A deployment with labels whose records are not looked for yet; the statistics know another deployment only."""
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    rows = applicants(RECORDS // 2, RECORDS // 2, 100)
    for _ in range(2):
        with database.transaction() as session:
            for table in ("payload_keys", "payload_records", "feedback_records"):
                session.execute(text(f"UPDATE {table} SET deployment_no = 99"))  # noqa: S608 - the names above
        with database.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
        stage.log(rows, NOON)
        stage.label([(row["id"], 1) for row in rows], NOON + timedelta(minutes=5))
        rows = [{**row, "id": f"again{row['id']}"} for row in rows]
    return stage


@pytest.mark.thorough
def test_looking_for_the_records_of_labels_visits_each_key_twice_at_most(database: Database) -> None:
    stage = loaded_in_bulk(database)

    with database.transaction() as session:
        before = session.scalars(text(VISITED)).one()
        match_pending_feedback(session, stage.deployment.no)
        visited = session.scalars(text(VISITED)).one() - before
        matched = session.scalar(text("SELECT count(*) FROM feedback_records WHERE deployment_no <> 99 AND usable_at IS NOT NULL"))

    assert matched == RECORDS
    assert visited <= 2 * RECORDS


@pytest.mark.thorough
def test_reading_the_window_visits_each_record_once_a_read(database: Database) -> None:
    stage = loaded_in_bulk(database)
    query = WindowQuery(stage.deployment.no, stage.deployment.schema, ("sex",), with_probabilities=True)
    with database.transaction() as session:
        match_pending_feedback(session, stage.deployment.no)

    with arrow_reader(database) as reader:
        visited = [_visited(reader)]
        record_nos = read_newest_payload(reader, query, SPAN, RECORDS)["record_no"].to_pylist()
        visited.append(_visited(reader))
        labels = read_newest_feedback(reader, query, SPAN, RECORDS)
        visited.append(_visited(reader))
        features = read_record_features(reader, stage.deployment.no, Span(start=NOON, end=NOON), record_nos)
        visited.append(_visited(reader))

    assert (len(record_nos), labels.num_rows, len(features)) == (RECORDS, RECORDS, RECORDS)
    assert labels["predicted"].null_count == 0
    assert max(after - before for before, after in pairwise(visited)) <= 2 * RECORDS


def _visited(reader: ArrowReader) -> int:
    return int(reader.table(VISITED)["rows"][0].as_py())
