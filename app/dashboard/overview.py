"""Overview page: the state of every deployment, the most urgent first."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ..views.overview import DeploymentState, OverviewSort, OverviewWanted, overview
from ..web.access import NowIn, Reader, SessionIn
from .rendering import page
from .sparklines import sparkline

router = APIRouter(include_in_schema=False)

SHOWN = 500
"""Max deployments on one page; the filter finds the others."""

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
"""Words for each state."""


class Chosen(BaseModel):
    """Sort and filters that a person chose."""

    sort: OverviewSort = OverviewSort.SEVERITY
    state: list[DeploymentState] = Field(default_factory=list, max_length=len(DeploymentState))
    text: str = Field(default="", max_length=200)


@router.get("/")
def overview_page(request: Request, principal: Reader, session: SessionIn, now: NowIn, chosen: Annotated[Chosen, Query()]) -> Response:
    """Returns every deployment the person may see."""
    wanted = OverviewWanted(
        sort=chosen.sort, states=frozenset(chosen.state), text=chosen.text, only_no=principal.deployment_no, limit=SHOWN
    )
    found = overview(session, wanted, now=now)
    lines = {
        one.no: sparkline([point.value for point in one.trend], limits=(one.worst.lower_limit, one.worst.upper_limit))
        if one.worst
        else None
        for one in found.deployments
    }
    kept = {"sort": chosen.sort.value, "text": chosen.text}
    values = {
        "found": found,
        "lines": lines,
        "chosen": chosen,
        "state_links": [
            (state, STATES[state], count, "/?" + urlencode(kept | {"state": state.value})) for state, count in found.counts.items() if count
        ],
        "total": sum(found.counts.values()),
        "states": STATES,
        "sorts": SORTS,
        "shown": SHOWN,
        "now": now,
    }
    return page(request, "overview.html", values)
