"""The overview: every deployment the caller may see, the most urgent first."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ..access.gate.caller import NowIn, Reader, SessionIn
from ..base.errors import InvalidInput
from ..web.route_declarations import Limit, PlaceCursor, cut_at_place, read_place_cursor
from .bodies import OverviewEntryOut, OverviewOut
from .fleet import (
    DeploymentState,
    OverviewPlace,
    OverviewSelection,
    OverviewSort,
    build_overview,
    rank_deployment,
)

router = APIRouter(prefix="/v1/overview", tags=["deployments"])

Sort = Annotated[
    OverviewSort, Query(description="`severity`: the most urgent first. `last_check`: the newest first.")
]


def read_place(sort: Sort = OverviewSort.SEVERITY, cursor: PlaceCursor = None) -> OverviewPlace | None:
    position = read_place_cursor(cursor, OverviewPlace)
    # The next page would leave deployments out.
    if position is not None and position.sort is not sort:
        raise InvalidInput(
            "cursor",
            f"belongs to the sort {position.sort.value}; send that one, or begin again without a cursor",
        )
    return position


def read_overview_selection(
    principal: Reader,
    after: Annotated[OverviewPlace | None, Depends(read_place)],
    *,
    sort: Sort = OverviewSort.SEVERITY,
    state: Annotated[
        list[DeploymentState] | None,
        Query(description="Only deployments in one of these states.", max_length=len(DeploymentState)),
    ] = None,
    text: Annotated[
        str, Query(max_length=200, description="Only deployments whose name, id or owner contains it.")
    ] = "",
    owner: Annotated[str | None, Query(max_length=200, description="Only deployments of this owner.")] = None,
) -> OverviewSelection:
    return OverviewSelection(
        sort=sort,
        states=frozenset(state or ()),
        text=text,
        owner=owner,
        only_no=principal.deployment_no,
        after=after,
    )


@router.get("")
def read_overview(
    session: SessionIn,
    now: NowIn,
    filters: Annotated[OverviewSelection, Depends(read_overview_selection)],
    limit: Limit = 100,
) -> OverviewOut:
    """Returns the state of every deployment: the group at a disadvantage, since when, and how sure that is.

    `worst` is the group with the gravest verdict on its disparate impact, as logged or counterfactual; of
    several, the one furthest out. It may be favoured: `disadvantaged` says who is not. A key that is bound to
    one deployment sees that one.

    A check that ends between two pages may move a deployment from one to the other; with `sort=name` each
    comes exactly once.
    """
    view = build_overview(session, replace(filters, limit=limit + 1), now=now)
    page, next_cursor = cut_at_place(
        view.deployments, limit, lambda entry: rank_deployment(entry, filters.sort)
    )
    return OverviewOut(
        deployments=[OverviewEntryOut.of(entry) for entry in page],
        states={state.value: count for state, count in view.counts.items()},
        next_step=view.next_step,
        next_cursor=next_cursor,
    )
