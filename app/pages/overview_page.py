"""Overview page. Its script asks for the same page again."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ..access.gate.caller import NowIn, Reader, SessionIn
from ..access.principals import Permission
from ..base.clock import floor_to_minute
from ..base.values import frozen_by_name
from ..charts.pictures.axes import LogAxis
from ..checks.schedule.worker_queries import choose_notice
from ..evidence.queries.figure_states import EvidenceCounts
from ..overview.fleet import DeploymentState, OverviewSort, OverviewWanted, overview
from ..overview.judge import HEADLINE, WorstGroup
from ..overview.needs import lasting, list_needs
from ..overview.queries import LAST_HOUR, TrendPoint
from ..statistics.catalogue import CATALOGUE
from ..statistics.measures.worst_group import both_sides, is_ratio
from .header import STATES
from .render import page
from .words import verdict

AXIS = LogAxis()
"""Scale of all ratios on the page."""

WIDTH = 120.0
CHECKS = 24
"""Checks in a strip."""

_CELL = 5
_HEIGHTS = {"unfair": 16, "suspected": 11, "unwatched": 11, "undecided": 8, "fair": 6}
"""Heights in a strip of 16, so that colour does not carry the meaning alone; other verdicts are a line."""


@frozen_by_name
class Glyph:
    """Places from 0 to 120. `fair` is inside the limits; an end beyond the axis becomes an arrow."""

    fair: tuple[float, float]
    interval: tuple[float, float] | None
    value: float
    equal: float
    beyond_low: bool
    beyond_high: bool

    @property
    def fair_width(self) -> float:
        return round(self.fair[1] - self.fair[0], 1)


@frozen_by_name
class Strip:
    paths: tuple[tuple[str, str], ...]
    words: str


def glyph(worst: WorstGroup) -> Glyph | None:
    """Draws a ratio; None for other figures, and without a value."""
    if worst.value is None or not is_ratio(CATALOGUE[worst.metric]):
        return None
    lower, upper = worst.lower, worst.upper
    interval = None
    # An end that is not bounded reaches to the end of the axis.
    if lower is not None or upper is not None:
        interval = (_place(0.0 if lower is None else lower), _place(AXIS.high if upper is None else upper))
    low, high = both_sides(CATALOGUE[worst.metric], (worst.lower_limit, worst.upper_limit))
    return Glyph(
        fair=(_place(AXIS.low if low is None else low), _place(AXIS.high if high is None else high)),
        interval=interval,
        value=_place(worst.value),
        equal=_place(1.0),
        beyond_low=worst.value < AXIS.low,
        beyond_high=worst.value > AXIS.high,
    )


def strip(trend: Sequence[TrendPoint], *, about: str) -> Strip | None:
    """Points are oldest first, at the right end of the strip; None without any."""
    if not trend:
        return None
    bars: dict[str, list[str]] = {}
    for position, point in enumerate(trend, CHECKS - len(trend)):
        kind = point.verdict if point.verdict in _HEIGHTS else "none"
        height = _HEIGHTS.get(kind, 2)
        bars.setdefault(kind, []).append(
            f"M{position * _CELL} {16 - height}h{_CELL - 1}v{height}h{1 - _CELL}z"
        )
    counted = Counter(verdict(point.verdict) if point.verdict else "no verdict" for point in trend)
    counts = ", ".join(f"{count} {name}" for name, count in counted.items())
    subject = "The last check" if len(trend) == 1 else f"The last {len(trend)} checks"
    return Strip(
        paths=tuple((kind, "".join(paths)) for kind, paths in bars.items()),
        words=f"{subject} that measured {about}: {counts}.",
    )


def _place(ratio: float) -> float:
    return round(WIDTH * AXIS.place(max(0.0, ratio)), 1)


router = APIRouter(include_in_schema=False)

SHOWN = 50
"""Deployments that are shown first."""

MOST_SHOWN = 1000
"""Max deployments on one page."""

SORTS = {
    OverviewSort.SEVERITY: "most urgent first",
    OverviewSort.NAME: "by name",
    OverviewSort.LAST_CHECK: "last check first",
}


class ChosenOrder(BaseModel):
    """Chosen sort, filters and number of deployments. An empty owner allows all."""

    sort: OverviewSort = OverviewSort.SEVERITY
    state: list[DeploymentState] = Field(default_factory=list, max_length=len(DeploymentState))
    text: str = Field(default="", max_length=200)
    owner: str = Field(default="", max_length=200)
    shown: int = Field(default=SHOWN, ge=1, le=MOST_SHOWN)


@router.get("/")
def overview_page(
    request: Request,
    principal: Reader,
    session: SessionIn,
    now: NowIn,
    chosen: Annotated[ChosenOrder, Query()],
) -> Response:
    overview_query = OverviewWanted(
        sort=chosen.sort,
        states=frozenset(chosen.state),
        text=chosen.text,
        owner=chosen.owner or None,
        only_no=principal.deployment_no,
        limit=chosen.shown + 1,
        points=CHECKS,
    )
    listing = overview(session, overview_query, now=now)
    listed = listing.deployments[: chosen.shown]
    query = {"sort": chosen.sort.value, "text": chosen.text} | (
        {"owner": chosen.owner} if chosen.owner else {}
    )
    longer = query | {
        "state": [state.value for state in chosen.state],
        "shown": min(chosen.shown + SHOWN, MOST_SHOWN),
    }
    may = principal.role.permissions
    values = {
        "worker_notice": choose_notice(listing.workers),
        "found": listing,
        "listed": listed,
        "needs": list_needs(
            listing,
            now=now,
            may_manage=Permission.MANAGE in may,
            may_acknowledge=Permission.ACKNOWLEDGE in may,
        ),
        "glyphs": {
            deployment.no: glyph(deployment.worst) for deployment in listed if deployment.worst is not None
        },
        "strips": {
            deployment.no: strip(
                deployment.trend,
                about=f"{deployment.worst.attribute}: "
                f"{deployment.words.label(deployment.worst.attribute, deployment.worst.group)}",
            )
            for deployment in listed
            if deployment.worst is not None
        },
        "axis": AXIS,
        "chosen": chosen,
        "state_links": [
            (state, STATES[state], count, "/?" + urlencode(query | {"state": state.value}))
            for state, count in listing.counts.items()
            if count
        ],
        "owners": sorted(
            {deployment.owner for deployment in listing.every if deployment.owner} | ({chosen.owner} - {""}),
            key=str.casefold,
        ),
        "every_state": "/?" + urlencode(query),
        "evidence_words": evidence_words,
        "rates_of": find_rates,
        "total": sum(listing.counts.values()),
        "more": f"/?{urlencode(longer, doseq=True)}"
        if len(listing.deployments) > len(listed) and chosen.shown < MOST_SHOWN
        else None,
        "states": STATES,
        "sorts": SORTS,
        "now": now,
        "since": floor_to_minute(now - LAST_HOUR),
        "lasting": lasting,
    }
    return page(request, "overview.html", values)


def evidence_words(counts: EvidenceCounts | None) -> str:
    """Evidence next to the state; nothing where it adds nothing. Fair only if every comparison is."""
    if counts is None or not counts.compared:
        return ""
    if counts.unfair and counts.unfair_since is not None:
        return f"since {counts.unfair_since.day} {counts.unfair_since:%b %Y}"
    return "confirmed fair" if counts.confirmed_fair == counts.compared else ""


def find_rates(worst: WorstGroup | None) -> tuple[float | None, float | None]:
    """Favourable rates of both sides of a disparate impact; of another metric they do not make the figure."""
    if worst is None or worst.metric != HEADLINE or not worst.compared.reference_records:
        return None, None
    favourable = worst.compared.reference_favourable
    reference = None if favourable is None else favourable / worst.compared.reference_records
    return (None if reference is None or worst.value is None else worst.value * reference), reference
