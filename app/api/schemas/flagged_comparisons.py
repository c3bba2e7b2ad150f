"""Comparisons that are flagged at one look as a body."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...domain.checks import DataSet
from ...evidence.nulls import UnfairSide
from ...evidence.selection import FALSE_DISCOVERY_RATE
from ...tracking.flagging import Look, LookedComparison
from .base import Out, example

_COMPARISON: dict[str, Any] = {
    "id": "0b6f9d38-5f7e-4a66-9b1c-2f4d5e6a7b8c",
    "data": "payload",
    "attribute": "Sex",
    "group": "female",
    "metric": "disparate_impact",
    "direction": "below",
    "limit": 0.8,
    "e_value": 412.6,
    "rank": 1,
    "needed": 80.0,
    "is_flagged": True,
    "until": "2026-11-20T09:00:00Z",
    "is_stale": False,
}
_LOOK: dict[str, Any] = {
    "at": "2026-11-20T09:00:00Z",
    "month": "2026-11-01T00:00:00Z",
    "month_hours": 720,
    "false_discovery_rate": 0.05,
    "flagged": 1,
    "of": 4,
    "words": "Of 4 comparisons with counted hours, 1 is flagged, false discovery rate at most 5 %",
    "comparisons": [_COMPARISON],
    "next_cursor": None,
}


class FlaggedComparisonOut(Out):
    """One comparison at one look."""

    model_config = example(_COMPARISON)

    id: str = Field(description="Names its counts, see `…/evidence/{id}/hours`.")
    data: DataSet
    attribute: str = Field(description="The attribute, or several joined by ' × ' for an intersection.")
    group: str
    metric: str
    direction: UnfairSide = Field(description="The side of the limit on which the metric is unfair.")
    limit: float
    e_value: float = Field(description="Evidence of the month alone: the detector's sum over all starting hours, divided by `month_hours`.")
    rank: int = Field(description="Its place among all comparisons, the largest `e_value` first.")
    needed: float = Field(description="An `e_value` of this size at this place flags it and all above it: `of` / (0.05 · `rank`).")
    is_flagged: bool
    until: datetime = Field(description="The end of its last hour that is counted.")
    is_stale: bool = Field(description="A past hour has changed, and the e-value is about to be computed again.")


class FlaggedComparisonsOut(Out):
    """One look at all comparisons: those that e-BH flags come first."""

    model_config = example(_LOOK)

    at: datetime | None = Field(description="The end of the last hour that is counted; null before the first.")
    month: datetime | None = Field(
        description="The start of the calendar month. Labels belong to the month in which they are counted, not to that of their records."
    )
    month_hours: int | None = Field(description="The hours of the whole month.")
    false_discovery_rate: float
    flagged: int = Field(description="The number of flagged comparisons.")
    of: int = Field(description="The number of comparisons that were looked at.")
    words: str
    comparisons: list[FlaggedComparisonOut]
    next_cursor: str | None = Field(description="Send it as `cursor` for what follows; null at the end.")

    @classmethod
    def from_look(cls, look: Look, page: list[LookedComparison], next_cursor: str | None) -> "FlaggedComparisonsOut":
        """Returns the body of one page."""
        return cls(
            at=look.at,
            month=look.month,
            month_hours=look.month_hours,
            false_discovery_rate=FALSE_DISCOVERY_RATE,
            flagged=look.flagged,
            of=len(look.comparisons),
            words=look.words,
            comparisons=[FlaggedComparisonOut.from_object(one, id=one.figure_id) for one in page],
            next_cursor=next_cursor,
        )
