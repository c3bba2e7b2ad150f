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
from ..base.clock import HOUR, floor_to_minute
from ..base.values import frozen_by_name
from ..charts.pictures.axes import LogAxis
from ..charts.pictures.timeline_picture import PanelPicture, TimeAxis, build_level_axis, draw_panel
from ..charts.timeline import TimePanel, TimeStep
from ..checks.schedule.worker_queries import choose_notice
from ..domain.check import DataSet, Scope, Span
from ..overview.fleet import DeploymentState, OverviewSelection, OverviewSort, build_overview
from ..overview.judge import HEADLINE, WorstGroup
from ..overview.needs import list_needs
from ..overview.queries import LAST_HOUR, TrendPoint
from ..statistics.catalogue import CATALOGUE
from ..statistics.intervals.verdicts import Verdict
from ..statistics.measures.worst_group import add_mirror_limits, is_ratio
from .range_bar import find_zone
from .render import STATES, show_page
from .words import name_verdict

AXIS = LogAxis()

GLYPH_WIDTH = 120.0
TREND_CHECKS = 24
"""Checks of a trend."""

MIN_LOW_ROWS = 8
"""Deployments on a page, from which on their rows are low."""


@frozen_by_name
class Glyph:
    """Places of a ratio, from 0 to `GLYPH_WIDTH`. `fair` is inside the limits; a value beyond is an arrow."""

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
class Trend:
    picture: PanelPicture
    words: str


def draw_glyph(worst: WorstGroup) -> Glyph | None:
    if worst.value is None or not is_ratio(CATALOGUE[worst.metric]):
        return None
    interval = None
    # An end that is not bounded reaches to the end of the axis.
    if worst.lower is not None or worst.upper is not None:
        interval = (
            _place(0.0 if worst.lower is None else worst.lower),
            _place(AXIS.high if worst.upper is None else worst.upper),
        )
    lower_limit, upper_limit = add_mirror_limits(
        CATALOGUE[worst.metric], (worst.lower_limit, worst.upper_limit)
    )
    return Glyph(
        fair=(
            _place(AXIS.low if lower_limit is None else lower_limit),
            _place(AXIS.high if upper_limit is None else upper_limit),
        ),
        interval=interval,
        value=_place(worst.value),
        equal=_place(1.0),
        beyond_low=worst.value < AXIS.low,
        beyond_high=worst.value > AXIS.high,
    )


def draw_trend(worst: WorstGroup, trend: Sequence[TrendPoint], *, name: str, height: float) -> Trend | None:
    """`trend` is in the order of time. `name` is that of the group."""
    if not trend:
        return None
    steps = tuple(
        TimeStep(
            start=point.at - HOUR,
            end=point.at,
            at=point.at,
            figures=1,
            carried=0,
            verdicts={None if point.verdict is None else Verdict(point.verdict): 1},
            value=point.value,
            lowest=point.value,
            highest=point.value,
            lower=point.lower,
            upper=point.upper,
            n=0,
            limits=(point.lower_limit, point.upper_limit),
            definition=0,
            reason=None,
            check_no=None,
        )
        for point in trend
    )
    panel = TimePanel(attribute=worst.attribute, group=worst.group, scope=Scope.GROUP, name=name, steps=steps)
    levels = build_level_axis(worst.metric, [panel], height=height)
    axis = TimeAxis(Span(start=steps[0].start, end=steps[-1].end))
    verdicts = Counter(name_verdict(point.verdict) if point.verdict else "no verdict" for point in trend)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    subject = "The last check" if len(trend) == 1 else f"The last {len(trend)} checks"
    return Trend(
        picture=draw_panel(panel, worst.metric, axis, levels),
        words=f"{subject} that measured {name}: {counts}.",
    )


def _place(ratio: float) -> float:
    return round(GLYPH_WIDTH * AXIS.place(max(0.0, ratio)), 1)


router = APIRouter(include_in_schema=False)

DEFAULT_DEPLOYMENTS = 30
"""On a page, below 3,000 pixels on a phone, and how many more a click adds."""

MAX_DEPLOYMENTS = 1000
"""On a page."""


class ChosenListing(BaseModel):
    sort: OverviewSort = OverviewSort.SEVERITY
    state: list[DeploymentState] = Field(default_factory=list, max_length=len(DeploymentState))
    text: str = Field(default="", max_length=200)
    owner: str = Field(default="", max_length=200)
    shown: int = Field(default=DEFAULT_DEPLOYMENTS, ge=1, le=MAX_DEPLOYMENTS)


@router.get("/")
def show_overview_page(
    request: Request,
    principal: Reader,
    session: SessionIn,
    now: NowIn,
    chosen: Annotated[ChosenListing, Query()],
) -> Response:
    overview_query = OverviewSelection(
        sort=chosen.sort,
        states=frozenset(chosen.state),
        text=chosen.text,
        owner=chosen.owner or None,
        only_no=principal.deployment_no,
        limit=chosen.shown + 1,
        points=TREND_CHECKS,
    )
    listing = build_overview(session, overview_query, now=now)
    listed = listing.deployments[: chosen.shown]
    query = {"text": chosen.text} | ({"owner": chosen.owner} if chosen.owner else {})
    longer_query = query | {
        "state": [state.value for state in chosen.state],
        "shown": min(chosen.shown + DEFAULT_DEPLOYMENTS, MAX_DEPLOYMENTS),
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
            deployment.no: draw_glyph(deployment.worst)
            for deployment in listed
            if deployment.worst is not None
        },
        "trends": {
            deployment.no: draw_trend(
                deployment.worst,
                deployment.trend,
                height=56 if len(listed) < MIN_LOW_ROWS else 28,
                name=f"{deployment.worst.attribute}: "
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
            {deployment.owner for deployment in listing.visible_deployments if deployment.owner}
            | ({chosen.owner} - {""}),
            key=str.casefold,
        ),
        "every_state": "/?" + urlencode(query),
        "rates_of": find_rates,
        "total": sum(listing.counts.values()),
        "more": f"/?{urlencode(longer_query, doseq=True)}"
        if len(listing.deployments) > len(listed) and chosen.shown < MAX_DEPLOYMENTS
        else None,
        "states": STATES,
        "is_short": len(listed) < MIN_LOW_ROWS,
        "day_of": lambda at: f"{at.astimezone(find_zone(request)):%-d %b %Y}".removesuffix(f" {now.year}"),
        "now": now,
        "since": floor_to_minute(now - LAST_HOUR),
    }
    return show_page(request, "overview.html", values)


def find_rates(worst: WorstGroup | None) -> tuple[float | None, float | None]:
    """Rates of both sides of a disparate impact; another metric has none."""
    if worst is None or worst.metric != HEADLINE or not worst.compared.reference_records:
        return None, None
    # A check counts favourable copies, but records without copies.
    if worst.data is DataSet.COUNTERFACTUAL and worst.interval_kind is None:
        return None, None
    favourable = worst.compared.reference_favourable
    reference = None if favourable is None else favourable / worst.compared.reference_records
    return (None if reference is None or worst.value is None else worst.value * reference), reference
