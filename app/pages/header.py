"""Header of every page of a deployment: its state, since when, and what can be done."""

from datetime import datetime

from sqlalchemy.orm import Session

from ..base.values import frozen_by_name
from ..checks.advice.advice import Advice
from ..domain.check import CheckRun
from ..overview.fleet import DeploymentState, DeploymentStatus, look_at_state
from .check_words import origin as word_origin
from .check_words import step as word_step

STATES = {
    DeploymentState.UNFAIR: "unfair",
    DeploymentState.FAILING: "check failed",
    DeploymentState.SUSPECTED: "suspected",
    DeploymentState.UNWATCHED: "other side not watched",
    DeploymentState.STALE: "stale",
    DeploymentState.UNDECIDED: "undecided",
    DeploymentState.WAITING: "waiting for records",
    DeploymentState.NO_MONITOR: "no monitor",
    DeploymentState.FAIR: "fair",
}
"""Words for each state."""


@frozen_by_name
class DeploymentHeader:
    """`since` is the first hour of what is unfair; `updated` ends the records of the newest figures, of the
    check `check_id`. A check is `busy`, with the advice on it.
    """

    state: DeploymentState
    since: datetime | None
    updated: datetime | None
    check_id: str | None
    open_alerts: int
    now: datetime
    busy: CheckRun | None = None
    advice: Advice | None = None
    asker: str = ""

    @property
    def words(self) -> str:
        return STATES[self.state]

    @property
    def origin(self) -> str:
        return "" if self.busy is None else word_origin(self.busy, self.asker)

    @property
    def step(self) -> str:
        return "" if self.busy is None or self.advice is None else word_step(self.busy, self.advice)


def make_header(
    status: DeploymentStatus,
    now: datetime,
    *,
    busy: CheckRun | None = None,
    advice: Advice | None = None,
    asker: str = "",
) -> DeploymentHeader:
    shown = status.state
    success = status.entry.success
    evidence = shown.evidence
    is_unfair = evidence is not None and shown.state is DeploymentState.UNFAIR
    return DeploymentHeader(
        state=shown.state,
        since=evidence.unfair_since if evidence is not None and is_unfair else None,
        updated=None if success is None else success.measured_at,
        check_id=None if success is None else success.id,
        open_alerts=shown.open_alerts,
        now=now,
        busy=busy,
        advice=advice,
        asker=asker,
    )


def read_header(session: Session, deployment_no: int, now: datetime) -> DeploymentHeader:
    return make_header(look_at_state(session, deployment_no, now=now), now)
