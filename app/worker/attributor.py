"""Runs queued attributions on threads next to the checks."""

import secrets
import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..base.errors import CheckCancelled, EvenhandError, LeaseLost, Unavailable
from ..base.polling import join_threads, work_until
from ..checks.ask_model import Report
from ..checks.lease_queries import CHECK_POLICY
from ..database.engine import Database
from ..evidence.attribution.attribution import AttributionRun, AttributionTrigger
from ..evidence.attribution.queries import (
    claim_attribution,
    end_abandoned,
    fail_attribution,
    forget_answers,
    stop_attribution,
)
from .held_work import HeldWork, leased_attribution

QUEUES = (
    (AttributionTrigger.MANUAL, AttributionTrigger.NIGHTLY),
    (AttributionTrigger.ALERT,),
)
"""An alert does not wait for a slow model."""

ATTRIBUTORS = len(QUEUES)

INTERRUPTED = (
    "The attribution was interrupted {attempts} times before it could end: its worker stopped, or lost the "
    "database. The logs of the workers say why; request it again once they run."
)

log = structlog.get_logger(__name__)


class Attribute(Protocol):
    def __call__(self, run: AttributionRun, *, report: Report) -> None: ...


class Attributor:
    """Runs attributions on threads of its own; each has at most `limit`."""

    def __init__(self, database: Database, perform: Attribute, *, limit: timedelta) -> None:
        self._database = database
        self._perform = perform
        self._limit = limit
        self._held: set[HeldWork] = set()
        self._threads: list[threading.Thread] = []

    def start(self, stop: threading.Event) -> None:
        for no, triggers in enumerate(QUEUES):
            work = partial(self.run_next, triggers)
            thread = threading.Thread(
                target=work_until, args=(stop, work), name=f"attributor-{no}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def join(self, seconds: float) -> None:
        """Releases running attributions, and waits up to `seconds` for their threads."""
        # Threads remove theirs meanwhile.
        for held in tuple(self._held):
            held.give_up()
        join_threads(self._threads, seconds)

    def run_next(self, triggers: Sequence[AttributionTrigger]) -> bool:
        """Runs the next attribution with one of those triggers; returns whether there was one. Raises
        LeaseLost and Unavailable.
        """
        attempts = CHECK_POLICY.max_attempts
        lease = CHECK_POLICY.lease
        with self._database.transaction() as session:
            end_abandoned(session, max_attempts=attempts, problem=INTERRUPTED.format(attempts=attempts))
            forget_answers(session)
            run = claim_attribution(session, token=secrets.token_hex(16), lease=lease, triggers=triggers)
        if run is None:
            return False
        about = {
            "attribution": run.id,
            "deployment": run.deployment_id,
            "trigger": run.trigger.value,
            "attempt": run.attempts,
        }
        with (
            structlog.contextvars.bound_contextvars(**about),
            HeldWork(self._database, leased_attribution(run), lease=lease, limit=self._limit) as held,
        ):
            self._held.add(held)
            try:
                log.info("attribution_started")
                self._perform(run, report=held.report)
                log.info("attribution_ended")
            except (LeaseLost, Unavailable, SQLAlchemyError):
                raise
            except CheckCancelled:
                with self._database.transaction() as session:
                    stop_attribution(session, run)
                log.info("attribution_cancelled")
            except EvenhandError as error:
                log.warning("attribution_failed", reason=str(error))
                self._fail(run, str(error))
            except Exception:  # logged; others must go on
                log.exception("attribution_broke")
                self._fail(
                    run,
                    "Evenhand itself failed on this attribution. The worker's log has the details under "
                    f"attribution {run.id}.",
                )
            finally:
                self._held.discard(held)
        return True

    def _fail(self, run: AttributionRun, problem: str) -> None:
        with self._database.transaction() as session:
            fail_attribution(session, run, problem=problem)
