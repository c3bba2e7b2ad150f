"""Sentences on how often evidence raises false alarms, and on an alarm of some group."""

from collections.abc import Iterable

from .nulls import HOURS_OF_A_YEAR

SINGLE_CHECKS_ALARM = (
    "Each check is judged by itself, so a rule about verdicts opens alerts on fair models, too: in "
    "simulations with 300 records an hour and the limit 0.8, a model whose true disparate impact is 0.85 is "
    "called unfair in about 4 hours of 1,000."
)


def say_some_group(comparisons: int, leading: Iterable[str]) -> str:
    """Says that one of so many comparisons is outside, and which have most evidence."""
    return (
        f"At least one of {comparisons:,} comparisons is outside its limit; not yet clear which. "
        f"Most evidence so far: {', '.join(leading)}."
    )


NOT_COVERED = (
    "False means inside the limit in every hour. Not covered: labels that are missing for a reason, "
    "corrections that depend on the outcome."
)


def say_guarantee(
    comparisons: int, budget_hours: float, *, by_person: bool = False, declared: tuple[str, str] | None = None
) -> str:
    """Says the bound on false alarms and its condition.

    `declared` says who declared that each record is another person, and when.
    """
    budget = f"{budget_hours:,.0f}"
    rate = "a year" if budget_hours == HOURS_OF_A_YEAR else f"in {budget} blocks"
    if by_person:
        condition = "counting each person's first record only"
    elif declared is not None:
        condition = f"if each record is another person, as declared by {declared[0]} on {declared[1]}"
    else:
        condition = (
            "if nobody has more than 10 records in an hour or comes back in another; who the records are of "
            "has not been said, so evidence counts at a tenth"
        )
    together = (
        "for the one comparison" if comparisons == 1 else f"for all {comparisons:,} comparisons together"
    )
    return (
        f"At most one false alarm {rate} on average {together} (at most H/{budget} in any H hours), "
        f"{condition}."
    )
