"""Records as the database has them."""

from collections import Counter

from sqlalchemy import text

from app.database.engine import Database


def stored_ids(database: Database) -> Counter[str]:
    """How often each record id is stored."""
    with database.transaction() as session:
        return Counter(session.scalars(text("SELECT record_id FROM payload_records")))
