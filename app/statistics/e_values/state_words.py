"""States and labels of a comparison, and the words of a start."""

from datetime import datetime, timedelta
from enum import StrEnum

MINUTE, DAY = "%Y-%m-%d %H:%M", "%Y-%m-%d"

MAX_RANGE_IN_HOURS = timedelta(hours=24)
"""Range of a start; in a wider one days are named, no hours."""


class State(StrEnum):
    """State of a comparison over time."""

    UNFAIR = "unfair"
    SHOWN_FAIR = "shown_fair"
    UNDECIDED = "undecided"


class EvidenceState(StrEnum):
    """Evidence on a figure; of two limits, the first in this order counts."""

    UNFAIR_SINCE = "unfair since"
    SUPERSEDED = "superseded"
    CLOSED = "closed by hand"
    RESOLVED = "resolved"
    SOME_GROUP = "some group"
    UNDECIDED = "undecided"
    COLLECTING = "collecting"
    NONE_YET = "none yet"
    CONFIRMED_FAIR = "confirmed fair"


class FigureLabel(StrEnum):
    """Evidence on a figure, its newest hour and its alert in one word."""

    UNFAIR = "Unfair"
    UNDER_REVIEW = "Unfair, under review"
    RESTARTED = "Restarted"
    CLOSED = "Closed"
    RESOLVED = "Resolved"
    CONFIRMED_FAIR = "Confirmed fair"
    SUSPECTED = "Suspected"
    FAIR = "Fair"
    UNDECIDED = "Undecided"
    TOO_FEW = "Too few records"
    NOT_COMPUTABLE = "Not computable"


class IntervalKind(StrEnum):
    """Records that an interval is of."""

    ONSET = "since the onset"
    CHAPTER = "valid at every look"
    HOUR = "this hour"


def choose_form(earliest: datetime | None, latest: datetime | None, form: str) -> str:
    return (
        DAY
        if earliest is not None and latest is not None and latest - earliest > MAX_RANGE_IN_HOURS
        else form
    )


def say_start(
    since: datetime,
    earliest: datetime | None,
    latest: datetime | None,
    form: str = MINUTE,
    *,
    is_first: bool = False,
) -> str:
    """Writes the start of a state, and the times between which it may be. All are aware, in UTC.

    `is_first`: nothing before it was counted.
    """
    chosen = choose_form(earliest, latest, form)
    between = ""
    if earliest and latest and earliest != latest:
        closing = "%H:%M" if chosen == MINUTE and earliest.date() == latest.date() else chosen
        between = f" (between {earliest:{chosen}} and {latest:{closing}})"
    return f"{'about ' if chosen != form else ''}{since:{chosen}}{between}{' or before' if is_first else ''}"
