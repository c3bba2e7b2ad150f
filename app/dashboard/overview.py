"""Overview page. Its script asks for the same page again."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ..clock import minute_of
from ..security.principals import Permission
from ..store.evidence.summaries import EvidenceCounts
from ..store.overviews.overview import LAST_HOUR
from ..views.needs import lasting, needs_of
from ..views.overview import DeploymentState, OverviewSort, OverviewWanted, overview
from ..views.workers import notice_of
from ..web.access import NowIn, Reader, SessionIn
from .glyphs import AXIS, CHECKS, glyph, strip
from .rendering import page

router = APIRouter(include_in_schema=False)

SHOWN = 50
"""Deployments that are shown first."""

MOST_SHOWN = 1000
"""Max deployments on one page."""

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


class ChosenOrder(BaseModel):
    """Chosen sort, filters and number of deployments. An empty owner allows all."""

    sort: OverviewSort = OverviewSort.SEVERITY
    state: list[DeploymentState] = Field(default_factory=list, max_length=len(DeploymentState))
    text: str = Field(default="", max_length=200)
    owner: str = Field(default="", max_length=200)
    shown: int = Field(default=SHOWN, ge=1, le=MOST_SHOWN)


@router.get("/")
def overview_page(request: Request, principal: Reader, session: SessionIn, now: NowIn, chosen: Annotated[ChosenOrder, Query()]) -> Response:
    wanted = OverviewWanted(
        sort=chosen.sort,
        states=frozenset(chosen.state),
        text=chosen.text,
        owner=chosen.owner or None,
        only_no=principal.deployment_no,
        limit=chosen.shown + 1,
        points=CHECKS,
    )
    found = overview(session, wanted, now=now)
    listed = found.deployments[: chosen.shown]
    kept = {"sort": chosen.sort.value, "text": chosen.text} | ({"owner": chosen.owner} if chosen.owner else {})
    more = kept | {"state": [state.value for state in chosen.state], "shown": min(chosen.shown + SHOWN, MOST_SHOWN)}
    may = principal.role.permissions
    values = {
        "worker_notice": notice_of(found.workers),
        "found": found,
        "listed": listed,
        "needs": needs_of(found, now=now, may_manage=Permission.MANAGE in may, may_acknowledge=Permission.ACKNOWLEDGE in may),
        "glyphs": {one.no: glyph(one.worst) for one in listed if one.worst is not None},
        "strips": {
            one.no: strip(one.trend, about=f"{one.worst.attribute}: {one.words.label(one.worst.attribute, one.worst.group)}")
            for one in listed
            if one.worst is not None
        },
        "axis": AXIS,
        "chosen": chosen,
        "state_links": [
            (state, STATES[state], count, "/?" + urlencode(kept | {"state": state.value})) for state, count in found.counts.items() if count
        ],
        "owners": sorted({one.owner for one in found.every if one.owner} | ({chosen.owner} - {""}), key=str.casefold),
        "every_state": "/?" + urlencode(kept),
        "evidence_words": evidence_words,
        "total": sum(found.counts.values()),
        "more": f"/?{urlencode(more, doseq=True)}" if len(found.deployments) > len(listed) and chosen.shown < MOST_SHOWN else None,
        "states": STATES,
        "sorts": SORTS,
        "now": now,
        "since": minute_of(now - LAST_HOUR),
        "lasting": lasting,
    }
    return page(request, "overview.html", values)


def evidence_words(counts: EvidenceCounts | None) -> str:
    """Evidence in a few words; nothing before any comparison has records. Fair only if every comparison is."""
    known = 0 if counts is None else counts.unfair + counts.shown_fair + counts.undecided
    if counts is None or not known:
        return ""
    if counts.unfair and counts.unfair_since is not None:
        return f"unfair since {counts.unfair_since.day} {counts.unfair_since:%b %Y}"
    if counts.unfair:
        return "unfair"
    return "shown fair" if counts.shown_fair == known else "undecided"
