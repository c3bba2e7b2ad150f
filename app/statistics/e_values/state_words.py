"""State of a comparison in words."""

from datetime import datetime, timedelta
from enum import StrEnum

from .change_detector import HOURS_OF_A_YEAR

SINGLE_CHECKS_ALARM = (
    "Each check is judged by itself, so a rule about verdicts opens alerts on fair models, too: in "
    "simulations with 300 records an hour and the limit 0.8, a model whose true disparate impact is 0.85 is "
    "called unfair in about 4 hours of 1,000."
)
"""Measured frequency of false alarms of the rule about single checks."""


IF_OTHER_PEOPLE = "if each record is another person, which nobody has said"
"""Condition of the bound on false alarms where no column says whose record it is."""

MINUTE, DAY = "%Y-%m-%d %H:%M", "%Y-%m-%d"

WIDE = timedelta(hours=24)
"""Range of a start beyond which no hour is named."""


class State(StrEnum):
    """State of a comparison after its last hour."""

    UNFAIR = "unfair"
    SHOWN_FAIR = "shown_fair"
    UNDECIDED = "undecided"


def choose_form(earliest: datetime | None, latest: datetime | None, form: str = MINUTE) -> str:
    """Form of a start: by days where the range of those nearly as likely is wider than a day."""
    return DAY if earliest is not None and latest is not None and latest - earliest > WIDE else form


def say_start(since: datetime, earliest: datetime | None, latest: datetime | None, form: str = MINUTE) -> str:
    """Most likely start, and the range of those that are nearly as likely; all aware, in UTC."""
    chosen = choose_form(earliest, latest, form)
    between = (
        f" (between {earliest:{chosen}} and {latest:{chosen}})"
        if earliest and latest and earliest != latest
        else ""
    )
    return f"{'about ' if chosen != form else ''}{since:{chosen}}{between}"


def say_state(
    state: State, *, since: str | None, more_hours: int | None, budget_hours: float, reason: str | None = None
) -> str:
    """State in words; `since` is what `say_start` says, `budget_hours` hold one false alarm on average."""
    if state is State.UNFAIR and since is not None:
        return f"unfair since {since} (false-alarm budget {say_budget(budget_hours)})"
    if state is State.SHOWN_FAIR and since is not None:
        return f"shown fair since {since}"
    if reason is not None:
        return f"undecided ({reason})"
    if more_hours is None:
        return "undecided (the hours that it still needs cannot be estimated)"
    return (
        f"undecided (needs about {more_hours:,} more {'hour' if more_hours == 1 else 'hours'} at this "
        "traffic)"
    )


def say_budget(hours: float) -> str:
    years = hours / HOURS_OF_A_YEAR
    if years == 1:
        return "one a year"
    return f"one in {years:g} years" if years > 1 and years.is_integer() else f"one in {hours:,.0f} hours"
