"""State of a comparison in words."""

from datetime import datetime
from enum import StrEnum

from .detector import HOURS_OF_A_YEAR

SINGLE_CHECKS_ALARM = (
    "Each check is judged by itself, so a rule about verdicts opens alerts on fair models, too: in simulations with 300 records an hour"
    " and the limit 0.8, a model whose true disparate impact is 0.85 is called unfair in about 4 hours of 1,000."
)
"""Measured frequency of false alarms of the rule about single checks."""


class State(StrEnum):
    """State of a comparison after its last hour."""

    UNFAIR = "unfair"
    SHOWN_FAIR = "shown_fair"
    UNDECIDED = "undecided"


def say_state(state: State, *, since: datetime | None, more_hours: int | None, budget_hours: float, reason: str | None = None) -> str:
    """State in words. `since` is aware and in UTC; `budget_hours` hold one false alarm on average."""
    if state is State.UNFAIR and since is not None:
        return f"unfair since {since:%Y-%m-%d %H:%M} (false-alarm budget {say_budget(budget_hours)})"
    if state is State.SHOWN_FAIR and since is not None:
        return f"shown fair since {since:%Y-%m-%d %H:%M}"
    if reason is not None:
        return f"undecided ({reason})"
    if more_hours is None:
        return "undecided (the hours that it still needs cannot be estimated)"
    return f"undecided (needs about {more_hours:,} more {'hour' if more_hours == 1 else 'hours'} at this traffic)"


def say_budget(hours: float) -> str:
    years = hours / HOURS_OF_A_YEAR
    if years == 1:
        return "one a year"
    return f"one in {years:g} years" if years > 1 and years.is_integer() else f"one in {hours:,.0f} hours"
