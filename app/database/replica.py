"""A streaming replica that answers readers while it has everything committed before."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ..base.clock import monotonic_seconds
from ..base.errors import Unavailable
from .engine import Database

PATIENCE_SECONDS = 0.05

LEFT_ALONE_SECONDS = 5.0

_POLL_SECONDS = 0.005
_WRITTEN = text("SELECT pg_current_wal_flush_lsn()::text")
# A promoted replica is another database from then on.
_HAS = text("SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= CAST(:position AS pg_lsn)")

log = structlog.get_logger("evenhand.database")


class Replica:
    """Safe for threads; `close()` it."""

    def __init__(self, url: str, primary: Database) -> None:
        self._database = Database(url)
        self._primary = primary
        self._is_used = True
        self._asked_again_at = 0.0

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Uses the replica if it is up to date. Raises Unavailable."""
        chosen = self._primary if monotonic_seconds() < self._asked_again_at else self._choose()
        with chosen.transaction() as session:
            yield session

    def close(self) -> None:
        self._database.close()

    def _choose(self) -> Database:
        with self._primary.transaction() as session:
            position = session.scalar(_WRITTEN)
        try:
            reason = None if self._has(position) else "it is late, or is no replica any more"
        except (Unavailable, SQLAlchemyError) as error:
            reason = str(error)
        was_used, self._is_used = self._is_used, reason is None
        if reason is None:
            if not was_used:
                log.info("replica_used")
            return self._database
        self._asked_again_at = monotonic_seconds() + LEFT_ALONE_SECONDS
        if was_used:
            log.warning("replica_left", reason=reason)
        return self._primary

    def _has(self, position: str | None) -> bool:
        until = monotonic_seconds() + PATIENCE_SECONDS
        while True:
            with self._database.transaction() as session:
                if session.scalar(_HAS, {"position": position}):
                    return True
            if monotonic_seconds() >= until:
                return False
            time.sleep(_POLL_SECONDS)
