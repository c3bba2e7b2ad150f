"""A check's calls of the model; an endpoint that keeps failing is not called for a while.

The breaker counts checks, not requests: a check has failed once a request's repetitions are used up.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from ..base.errors import EndpointDown, EndpointRefused, ScoringFailed
from ..base.values import frozen
from ..calls.egress_policy import EgressPolicy
from ..calls.scoring.ask_page import name_model
from ..calls.scoring.scoring_client import OnScored, Scored, ScoringClient
from ..database.engine import Database
from ..deployments.queries import record_answer, record_no_answer
from ..domain.check import Progress, Trigger
from ..domain.deployment import BreakerState, Deployment, Endpoint
from ..payloads.wire import Rows

Report = Callable[[Progress], None]
"""Raises when the check must stop."""

Waiting = Callable[[], AbstractContextManager[None]]
"""Entered while the model is called: other checks run meanwhile."""


Egress = Callable[[], EgressPolicy]


@frozen
class Calls:
    egress: Egress
    report: Report
    waiting: Waiting


class ModelOfCheck:
    """Raises EndpointRefused: the URL or model is not an allowed one; ScoringFailed: credentials cannot be
    sent.
    """

    def __init__(
        self,
        trigger: Trigger,
        deployment: Deployment,
        endpoint: Endpoint,
        *,
        database: Database,
        calls: Calls,
    ) -> None:
        self._trigger = trigger
        self._deployment_no, self._health = deployment.no, deployment.health
        self._database = database
        self.calls = calls
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
        """One prediction or refusal per row; `progress` is the state before them.

        `on_scored` gets each page before the progress is reported, which may end the check.

        Raises:
            ScoringFailed: no usable answer, or not called because earlier checks got none.
        """

        def on_page(scored: int, _total: int) -> None:
            refused = f" ({self._client.refused:,} refused by it)" if self._client.refused else ""
            self.calls.report(replace(progress, step=progress.step + refused, done=progress.done + scored))

        def should_stop() -> None:  # about once a second, also while a slow model keeps a page waiting
            self.calls.report(progress)

        def ask() -> list[Scored]:
            return self._client.score_each(
                rows, on_page=on_page, should_stop=should_stop, on_scored=on_scored
            )

        return self.score_by(ask, rows, should_stop) if rows else []

    def score_by(
        self, ask: Callable[[], list[Scored]], rows: Rows, should_stop: Callable[[], None]
    ) -> list[Scored]:
        """`ask` asks about the rows from here or elsewhere; raises as `score`."""
        health = self._health
        # A person may know that the endpoint is back.
        if health.state is BreakerState.OPEN and self._trigger is Trigger.SCHEDULE and not self._has_answered:
            at = (
                ""
                if health.failed_at is None
                else f", the last time at {health.failed_at:%Y-%m-%d %H:%M} UTC"
            )
            until = "" if health.tried_again_at is None else f" before {health.tried_again_at:%H:%M} UTC"
            raise ScoringFailed(
                f"The model's endpoint {self._host} was not asked: it gave no answer to {health.failures} "
                f"checks in a row{at}, and is not called again{until}. Last fault: {health.reason} When it "
                "is fixed, request a check: that calls the endpoint at once."
            )
        with self.calls.waiting():
            try:
                if not self._has_answered and health.state is not BreakerState.CLOSED:
                    try:
                        self._client.score(rows[:1], should_stop=should_stop, attempts=1)
                    except EndpointDown:
                        raise
                    except ScoringFailed:  # it answers; a fault in the answer shows when all rows are sent
                        pass
                answers = ask()
            except EndpointDown as error:
                with self._database.transaction() as session:
                    record_no_answer(session, self._deployment_no, str(error))
                raise
            except EndpointRefused:
                raise
            except ScoringFailed:  # an unusable answer: the endpoint is there
                self._note_answer()
                raise
            self._note_answer()
        return answers

    def close(self) -> None:
        self._client.close()

    def _note_answer(self) -> None:
        if not self._has_answered and self._health.failures:
            with self._database.transaction() as session:
                record_answer(session, self._deployment_no)
        self._has_answered = True
