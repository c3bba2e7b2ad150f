"""The overview: every deployment the caller may see, the most urgent first."""

from dataclasses import replace
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query

from ..errors import InvalidInput
from ..views.overview import DeploymentState, OverviewPlace, OverviewSort, OverviewWanted, overview, place_of
from ..web.access import NowIn, Reader, SessionIn
from ..web.paging import Limit, PlaceCursor, cut_at_place, read_place_cursor
from .schemas.overview import OverviewEntryOut, OverviewOut

router = APIRouter(prefix="/v1/overview", tags=["deployments"])

Sort = Annotated[OverviewSort, Query(description="`severity`: the most urgent first. `last_check`: the newest first.")]


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    sort: OverviewSort
    rank: float
    nearness: float
    name: str
    no: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


def place_in_overview(sort: Sort = OverviewSort.SEVERITY, cursor: PlaceCursor = None) -> OverviewPlace | None:
    place = read_place_cursor(cursor, _Place)
    if place is None:
        return None
    # Ranks of two sorts cannot be compared: the next page would leave deployments out.
    if place.sort is not sort:
        raise InvalidInput.of("cursor", f"belongs to the sort {place.sort.value}; send that one, or begin again without a cursor")
    return OverviewPlace(rank=place.rank, nearness=place.nearness, name=place.name, no=place.no)


def wanted_overview(
    principal: Reader,
    after: Annotated[OverviewPlace | None, Depends(place_in_overview)],
    *,
    sort: Sort = OverviewSort.SEVERITY,
    state: Annotated[
        list[DeploymentState] | None, Query(description="Only deployments in one of these states.", max_length=len(DeploymentState))
    ] = None,
    text: Annotated[str, Query(max_length=200, description="Only deployments whose name, id or owner contains it.")] = "",
    owner: Annotated[str | None, Query(max_length=200, description="Only deployments of this owner.")] = None,
) -> OverviewWanted:
    return OverviewWanted(sort=sort, states=frozenset(state or ()), text=text, owner=owner, only_no=principal.deployment_no, after=after)


@router.get("")
def read_overview(
    session: SessionIn, now: NowIn, wanted: Annotated[OverviewWanted, Depends(wanted_overview)], limit: Limit = 100
) -> OverviewOut:
    """Returns the state of every deployment: the group at a disadvantage, since when, and how sure that is.

    `worst` is the group with the gravest verdict on its disparate impact, on payload or balanced data; of several, the one furthest
    out. It may be favoured: `disadvantaged` says who is not. A key that is bound to one deployment sees that one.

    A check that ends between two pages may move a deployment from one to the other; with `sort=name` each comes exactly once.
    """
    found = overview(session, replace(wanted, limit=limit + 1), now=now)
    page, next_cursor = cut_at_place(found.deployments, limit, lambda one: _Place(wanted.sort, *place_of(one, wanted.sort)))
    return OverviewOut(
        deployments=[OverviewEntryOut.of(one) for one in page],
        states={one.value: count for one, count in found.counts.items()},
        next_step=found.next_step,
        next_cursor=next_cursor,
    )
