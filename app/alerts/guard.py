"""Runs steps of an evaluation so that a bug in one does not block the others."""

from collections.abc import Callable

import structlog
from psycopg import Error as PostgresError
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from ..base.errors import Unavailable

_PASSING = ("08", "40", "53", "57")
"""Classes of Postgres errors that are not the statement's fault."""

log = structlog.get_logger(__name__)


def run_guarded(session: Session, step: Callable[[], None], **about: object) -> None:
    """Does one step; if a bug breaks it, it is rolled back and logged, for the next check."""
    try:
        with session.begin_nested():
            step()
    except Unavailable:
        raise
    except Exception as error:  # logged; others must go on
        # The database's fault: the same step may succeed the next time.
        if isinstance(error, DBAPIError):
            state = error.orig.sqlstate if isinstance(error.orig, PostgresError) else None
            may_pass = isinstance(error, OperationalError) and (state is None or state.startswith(_PASSING))
            if error.connection_invalidated or may_pass:
                raise
        log.exception("alerts_broke", **about)
