"""Heartbeats of workers, put straight into the store."""

from datetime import datetime, timedelta

from sqlalchemy import text

from app.database.engine import Database


def let_a_worker_answer(database: Database) -> None:
    """Notes a heartbeat that stays fresh however long a test takes."""
    with database.transaction() as session:
        session.execute(
            text("INSERT INTO workers (id, beat_at) VALUES ('w', now() + :d) ON CONFLICT (id) DO UPDATE SET beat_at = now() + :d"),
            {"d": timedelta(days=1)},
        )


def silence_workers(database: Database, *, since: datetime) -> None:
    """Moves the heartbeat of every worker to that moment, as if none had answered since."""
    with database.transaction() as session:
        session.execute(text("UPDATE workers SET beat_at = :since"), {"since": since})
