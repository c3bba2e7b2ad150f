"""Overview: where every deployment stands, the most urgent first."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.dashboard.rendering import page
from app.dashboard.sparklines import Sparkline, sparkline
from app.views.overview import DeploymentOverview, DeploymentState, OverviewSort, OverviewWanted, WorstGroup, overview
from app.web.access import NowIn, Reader, SessionIn

router = APIRouter(include_in_schema=False)

SHOWN = 500
"""Deployments on one page; the filter finds the others."""

SORTS = {OverviewSort.SEVERITY: "most urgent first", OverviewSort.NAME: "by name", OverviewSort.LAST_CHECK: "last check first"}

STATES = {
    DeploymentState.UNFAIR: "unfair",
    DeploymentState.FAILING: "check failed",
    DeploymentState.SUSPECTED: "suspected",
    DeploymentState.UNWATCHED: "other side not watched",
    DeploymentState.STALE: "stale",
    DeploymentState.UNDECIDED: "cannot be judged",
    DeploymentState.WAITING: "waiting for records",
    DeploymentState.NO_MONITOR: "no monitor",
    DeploymentState.FAIR: "fair",
}
"""Each state in words."""


class Chosen(BaseModel):
    """How a person sorts and filters."""

    sort: OverviewSort = OverviewSort.SEVERITY
    state: list[DeploymentState] = Field(default_factory=list, max_length=len(DeploymentState))
    text: str = Field(default="", max_length=200)


@router.get("/")
def overview_page(request: Request, principal: Reader, session: SessionIn, now: NowIn, chosen: Annotated[Chosen, Query()]) -> Response:
    """Every deployment the person may see."""
    wanted = OverviewWanted(
        sort=chosen.sort, states=frozenset(chosen.state), text=chosen.text, only_no=principal.deployment_no, limit=SHOWN
    )
    found = overview(session, wanted, now=now)
    values = {
        "found": found,
        "lines": _lines(found.deployments),
        "chosen": chosen,
        "state_links": [(state, STATES[state], count, _only(chosen, state)) for state, count in found.counts.items() if count],
        "total": sum(found.counts.values()),
        "states": STATES,
        "sorts": SORTS,
        "shown": SHOWN,
        "now": now,
    }
    return page(request, "overview.html", values)


def _lines(deployments: Sequence[DeploymentOverview]) -> dict[int, Sparkline | None]:
    return {one.no: _line(one, one.worst) for one in deployments}


def _line(one: DeploymentOverview, worst: WorstGroup | None) -> Sparkline | None:
    if worst is None:
        return None
    return sparkline([point.value for point in one.trend], limits=(worst.lower_limit, worst.upper_limit))


def _only(chosen: Chosen, state: DeploymentState) -> str:
    """The address of the overview with only that state."""
    return "/?" + urlencode({"sort": chosen.sort.value, "text": chosen.text, "state": state.value})
