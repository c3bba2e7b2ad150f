"""Runs the steps of an evaluation so that a bug in one neither ends the others nor blocks all alerts."""

from collections.abc import Callable

import structlog
from psycopg import Error as PostgresError
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from ..errors import Unavailable

_PASSING = ("08", "40", "53", "57")
"""Classes of Postgres errors that are not the statement's fault: connection, rollback, resources, operator."""

log = structlog.get_logger(__name__)


def run_guarded(session: Session, step: Callable[[], None], **about: object) -> None:
    """Does one step; if a bug breaks it, the step is rolled back, and the other steps are done all the same.

    So neither a check nor a rule can block all alerts permanently. The next check makes up for a missed step, because it judges again.
    """
    try:
        with session.begin_nested():
            step()
    except Unavailable:
        raise
    except Exception as error:  # an unforeseen error in one step must not end the others: logged with its traceback
        # The database's own fault, not the statement's: the same step may succeed the next time.
        if isinstance(error, DBAPIError):
            state = error.orig.sqlstate if isinstance(error.orig, PostgresError) else None
            may_pass = isinstance(error, OperationalError) and (state is None or state.startswith(_PASSING))
            if error.connection_invalidated or may_pass:
                raise
        log.exception("alerts_broke", **about)
