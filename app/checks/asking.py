"""A check's calls of the model: other checks run meanwhile, and an endpoint that keeps failing is not called for a while.

The breaker counts checks, not requests: each request is repeated as before, and a check has failed once the repetitions are used up.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..domain.checks import Progress, Trigger
from ..domain.deployments import Deployment, Endpoint
from ..domain.endpoint_health import OPEN_FOR, OPENS_AFTER, BreakerState, EndpointHealth
from ..errors import EndpointDown, EndpointRefused, ScoringFailed
from ..outbound.egress import EgressPolicy
from ..payloads.wire import Rows
from ..scoring.asking import name_model
from ..scoring.client import OnScored, ScoringClient
from ..scoring.refusals import Scored
from ..store.database.engine import Database
from ..store.deployments.endpoint_health import record_answer, record_no_answer

Report: TypeAlias = Callable[[Progress], None]
"""Reports a check's progress; raises when the check must stop."""

Waiting: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Context entered while the model is called: the worker runs other checks meanwhile."""


Egress: TypeAlias = Callable[[], EgressPolicy]
"""Returns, before each call of a model, the policy for allowed addresses."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Rules for a check's calls of the model: allowed addresses, progress reports, and letting other checks run meanwhile."""

    egress: Egress
    report: Report
    waiting: Waiting


class ModelOfCheck:
    """The model of the deployment, as one check or attribution calls it.

    Raises:
        EndpointRefused: the endpoint's URL or model is not an allowed one.
        ScoringFailed: its credentials cannot be sent.
    """

    def __init__(self, trigger: Trigger, deployment: Deployment, endpoint: Endpoint, *, database: Database, calls: Calls) -> None:
        self._trigger = trigger
        self._deployment = deployment
        self._database = database
        self._calls = calls
        features = deployment.schema.features
        self._client = ScoringClient(
            endpoint,
            deployment.outputs,
            [column.name for column in features],
            types=[column.type for column in features],
            policy=calls.egress(),
        )
        self._host = name_model(endpoint)
        self._has_answered = False

    def score(self, rows: Rows, progress: Progress, on_scored: OnScored | None = None) -> list[Scored]:
        """Returns one prediction or refusal per row; `progress` is the check's state before them, and is reported as they come.

        `on_scored` is called with each page before the progress is reported, which may end the check.

        Raises:
            ScoringFailed: the model gave no usable answer, or is not called because it gave none to earlier checks.
        """

        def on_page(done: int, _total: int) -> None:
            refused = f" ({self._client.refused:,} refused by it)" if self._client.refused else ""
            self._calls.report(replace(progress, step=progress.step + refused, done=progress.done + done))

        def should_stop() -> None:  # called about once a second, also while a slow model keeps a page waiting
            self._calls.report(progress)

        def ask() -> list[Scored]:
            return self._client.score_each(rows, on_page=on_page, should_stop=should_stop, on_scored=on_scored)

        return self.score_by(ask, rows, should_stop) if rows else []

    def score_by(self, ask: Callable[[], list[Scored]], rows: Rows, should_stop: Callable[[], None]) -> list[Scored]:
        """Returns what `ask` returns, which asks about the rows from here or from other machines.

        Raises:
            ScoringFailed: as `score`.
        """
        self._require_closed()
        with self._calls.waiting():
            try:
                if not self._has_answered and self._health.state is not BreakerState.CLOSED:
                    try:
                        self._client.score(rows[:1], should_stop=should_stop, attempts=1)
                    except EndpointDown:
                        raise
                    except ScoringFailed:  # it answers; the fault in the answer is found when all rows are sent
                        pass
                answers = ask()
            except EndpointDown as error:
                with self._database.transaction() as session:
                    record_no_answer(session, self._deployment.no, str(error), opens_after=OPENS_AFTER, open_for=OPEN_FOR)
                raise
            except EndpointRefused:
                raise
            except ScoringFailed:  # an answer, though unusable: the endpoint is there
                self._note_answer()
                raise
            self._note_answer()
        return answers

    def close(self) -> None:
        """Ends the processes of a model that was loaded for the check."""
        self._client.close()

    @property
    def calls(self) -> Calls:
        """Returns the rules of its calls."""
        return self._calls

    def _require_closed(self) -> None:
        """Raises for a scheduled check while the breaker is open.

        A person who requests a check, or a range, may know that the endpoint is back. Nor is a range retried automatically.
        """
        if self._health.state is BreakerState.OPEN and self._trigger is Trigger.SCHEDULE and not self._has_answered:
            health = self._health
            at = "" if health.failed_at is None else f", the last time at {health.failed_at:%Y-%m-%d %H:%M} UTC"
            until = "" if health.tried_again_at is None else f" before {health.tried_again_at:%H:%M} UTC"
            raise ScoringFailed(
                f"The model's endpoint {self._host} was not asked: it gave no answer to {health.failures} checks in a row{at}, and is not"
                f" called again{until}. Last fault: {health.reason} When it is fixed, request a check: that calls the endpoint at once."
            )

    def _note_answer(self) -> None:
        if not self._has_answered and self._health.failures:
            with self._database.transaction() as session:
                record_answer(session, self._deployment.no)
        self._has_answered = True

    @property
    def _health(self) -> EndpointHealth:
        return self._deployment.health
