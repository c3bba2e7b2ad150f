"""The groups that would be compared, and the known facts of each."""

from dataclasses import field
from typing import Literal, TypeAlias

from ..domain.values import GroupValue, label_of
from ..frozen import frozen
from ..metrics.intervals import wilson
from ..metrics.verdicts import MINIMUM_GROUP_SIZE
from .observed import Count

Role: TypeAlias = Literal["monitored", "reference", "neither"]

MIN_RECORDS = 30

MIN_REFERENCE_SHARE = 0.1
"""Min share of all groups' records that a reference has, so that chance does not choose it."""

NO_OUTCOMES = "the favourable outcomes are not known"
NO_RECORDS = "no record of it has a favourable or unfavourable outcome"


@frozen(kw_only=True)
class ObservedShare:
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


@frozen(kw_only=True)
class GroupChoice:
    """The groups of one attribute. `because` gives the reason for the reference, `warnings` what a person should know first.

    `customary` are the groups that custom compares, whatever the rates.
    """

    monitored: tuple[GroupValue, ...]
    reference: tuple[GroupValue, ...]
    groups: tuple[ObservedShare, ...]
    because: str
    warnings: tuple[str, ...] = field(default=())
    customary: "GroupChoice | None" = None


class NoChoice(Exception):
    pass


def build_share(value: GroupValue | None, count: Count, *, role: Role, meaning: str | None = None, has_outcomes: bool) -> ObservedShare:
    interval = wilson(count.favourable, count.classified) if count.classified else None
    return ObservedShare(
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


def warn_of_small_groups(groups: list[ObservedShare]) -> list[str]:
    """Returns the warnings about compared groups that have few records; they stay in the proposal."""
    small = [group for group in groups if group.role != "neither" and group.records < MIN_RECORDS and group.value is not None]
    if not small:
        return []
    listed = ", ".join(f"{label_of(group.value)!r:.60} ({group.records})" for group in small[:5] if group.value is not None)
    more = f" and {len(small) - 5} more" if len(small) > 5 else ""  # noqa: PLR2004 - as many as are shown
    checked = f"in a check, a group of fewer than {MINIMUM_GROUP_SIZE} records gets no verdict, and a small one a wide interval"
    return [f"few records: {listed}{more}. They stay in the proposal; {checked}"]
