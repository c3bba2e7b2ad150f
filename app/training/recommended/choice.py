"""Who would be compared with whom, and what is known of each group."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.domain.values import GroupValue, label_of
from app.metrics.intervals import wilson
from app.metrics.verdicts import MINIMUM_GROUP_SIZE
from app.training.recommended.observed import Count

Role: TypeAlias = Literal["monitored", "reference", "neither"]

SMALL = 30
"""Records of a group below which its rate says little."""

LARGE_SHARE = 0.1
"""Of the records that belong to a group: a reference must be at least that large, so that chance does not choose it."""

NO_OUTCOMES = "the favourable outcomes are not known"
NO_RECORDS = "no record of it has a favourable or unfavourable outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare:
    """One group: its records, its favourable rate with the 95 % interval, or why there is none."""

    value: GroupValue | None
    meaning: str | None
    role: Role
    records: int
    favourable: int | None
    rate: float | None
    lower: float | None
    upper: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The groups of one attribute. `because` says how the reference was chosen, `warnings` what a person should know first.

    `customary` are the groups that custom compares, whatever the rates; None where no custom is known.
    """

    monitored: tuple[GroupValue, ...]
    reference: tuple[GroupValue, ...]
    groups: tuple[GroupShare, ...]
    because: str
    warnings: tuple[str, ...] = field(default=())
    customary: "Choice | None" = None


class NoChoice(Exception):
    """There are no two groups to compare; the message says why."""


def share_of(value: GroupValue | None, count: Count, *, role: Role, meaning: str | None = None, has_outcomes: bool) -> GroupShare:
    """What is known of one group."""
    interval = wilson(count.favourable, count.classified) if count.classified else None
    return GroupShare(
        value=value,
        meaning=meaning,
        role=role,
        records=count.records,
        favourable=count.favourable if has_outcomes else None,
        rate=count.rate,
        lower=None if interval is None else interval.lower,
        upper=None if interval is None else interval.upper,
        reason=None if interval is not None else NO_RECORDS if has_outcomes else NO_OUTCOMES,
    )


def small_warnings(groups: list[GroupShare]) -> list[str]:
    """What is said of compared groups that have few records; they stay in the proposal."""
    small = [group for group in groups if group.role != "neither" and group.records < SMALL and group.value is not None]
    if not small:
        return []
    listed = ", ".join(f"{label_of(group.value)!r:.60} ({group.records})" for group in small[:5] if group.value is not None)
    more = f" and {len(small) - 5} more" if len(small) > 5 else ""  # noqa: PLR2004 - as many as are shown
    checked = f"in a check, a group of fewer than {MINIMUM_GROUP_SIZE} records gets no verdict, and a small one a wide interval"
    return [f"few records: {listed}{more}. They stay in the proposal; {checked}"]
