"""Facts about a column, the groups that would be compared, and the known facts of each."""

from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from ...base.values import GroupValue, frozen, frozen_by_name, name_value
from ...domain.deployment import Column
from ...domain.monitor import Outcome, OutcomeRule
from ...statistics.intervals.intervals import wilson
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE
from ..training.from_distributions import Inexact, classify_cell_label
from ..training.training_facts import Cell, Distribution

Role = Literal["monitored", "reference", "neither"]

MIN_RECORDS = 30

MIN_REFERENCE_SHARE = 0.1
"""Min share of all groups' records that a reference has, so that chance does not choose it."""


class CountsOrigin(StrEnum):
    """The source of the counts."""

    TRAINING = "training"
    AS_LOGGED = "as_logged"


@frozen
class Source:
    """The data that were looked at. `at` is when the training data were processed, or when the newest
    record was logged.
    """

    origin: CountsOrigin
    records: int
    at: datetime


@frozen
class Count:
    """Records of one value: all, and those whose outcome is known to be favourable or unfavourable."""

    records: int = 0
    favourable: int = 0
    unfavourable: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.records + other.records,
            self.favourable + other.favourable,
            self.unfavourable + other.unfavourable,
        )

    @property
    def classified(self) -> int:
        """The number of records that a rate is of."""
        return self.favourable + self.unfavourable

    @property
    def rate(self) -> float | None:
        return self.favourable / self.classified if self.classified else None


@frozen
class Observed:
    """One column of the deployment; without a source nothing is known of its values."""

    column: Column
    is_meta: bool
    distribution: Distribution | None
    source: Source | None

    def _cells(self) -> Iterator[tuple[GroupValue | None, Cell]]:
        if self.distribution is not None:
            position = self.distribution.columns.index(self.column.name)
            yield from ((cell.values[position], cell) for cell in self.distribution.cells)

    @property
    def missing(self) -> int:
        return sum(cell.records for value, cell in self._cells() if value is None)

    def count_records(self) -> dict[GroupValue, int]:
        return {value: count.records for value, count in self.count_outcomes(None).items()}

    def count_outcomes(self, rule: OutcomeRule | None) -> dict[GroupValue, Count]:
        """Each value's records and outcomes; without a rule, or if labels are too coarse for it,
        no outcome is known.
        """
        counted: dict[GroupValue, Count] = {}
        for value, cell in self._cells():
            if value is None:
                continue
            try:
                outcome = (
                    Outcome.UNCLASSIFIED
                    if rule is None or cell.label is None
                    else classify_cell_label(cell.label, rule)
                )
            except Inexact:
                outcome = Outcome.UNCLASSIFIED
            count = Count(
                cell.records,
                cell.records * (outcome is Outcome.FAVOURABLE),
                cell.records * (outcome is Outcome.UNFAVOURABLE),
            )
            counted[value] = counted.get(value, Count()) + count
        return {value: count for value, count in counted.items() if count.records}


@frozen_by_name
class ObservedShare:
    """One group: its records, its favourable rate with the 95 % interval, or why there is none."""

    value: GroupValue
    meaning: str | None
    role: Role
    records: int
    favourable: int | None
    rate: float | None
    lower: float | None
    upper: float | None
    reason: str | None


@frozen_by_name
class GroupChoice:
    """The groups of one attribute. `because` gives the reason for the reference, `warnings` what a person
    should know first.

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


def build_share(
    value: GroupValue, count: Count, *, role: Role, meaning: str | None = None, has_outcomes: bool
) -> ObservedShare:
    interval = wilson(count.favourable, count.classified) if count.classified else None
    reason = (
        "no record of it has a favourable or unfavourable outcome"
        if has_outcomes
        else "the favourable outcomes are not known"
    )
    return ObservedShare(
        value=value,
        meaning=meaning,
        role=role,
        records=count.records,
        favourable=count.favourable if has_outcomes else None,
        rate=count.rate,
        lower=None if interval is None else interval.lower,
        upper=None if interval is None else interval.upper,
        reason=reason if interval is None else None,
    )


def warn_of_small_groups(groups: list[ObservedShare]) -> list[str]:
    """Warnings about compared groups that have few records; they stay in the proposal."""
    small = [group for group in groups if group.role != "neither" and group.records < MIN_RECORDS]
    if not small:
        return []
    listed = ", ".join(f"{name_value(group.value)!r:.60} ({group.records})" for group in small[:5])
    remainder = f" and {len(small) - 5} more" if len(small) > 5 else ""  # noqa: PLR2004 - as many as are shown
    checked = (
        f"in a check, a group of fewer than {MINIMUM_GROUP_SIZE} records gets no verdict, and a small "
        "one a wide interval"
    )
    return [f"few records: {listed}{remainder}. They stay in the proposal; {checked}"]
