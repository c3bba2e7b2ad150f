"""Counts of a column's values by outcome, and the groups that a recommendation proposes for it."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from ...base.values import GroupValue, frozen, frozen_by_name, join_first, name_value
from ...domain.deployment import Column
from ...domain.monitor import Outcome, OutcomeRule
from ...statistics.intervals.intervals import build_wilson_interval
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE
from ...web.body import GroupValueJson, Out
from ..training.from_distributions import InexactDistribution, classify_cell_label
from ..training.queries import Cell, Distribution

Role = Literal["monitored", "reference", "neither"]

MIN_GROUP_RECORDS = 30

MIN_REFERENCE_SHARE = 0.1
"""Min share of all groups' records that a reference has, so that chance does not choose it."""


class CountsOrigin(StrEnum):
    """The source of the counts."""

    TRAINING = "training"
    AS_LOGGED = "as_logged"


@frozen
class Source:
    """Data in which a column was counted: so many `records`, as of `at`."""

    origin: CountsOrigin
    records: int
    at: datetime


@frozen
class Count:
    """Records of a value, and those of them with a favourable or an unfavourable outcome."""

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
        return self.favourable + self.unfavourable

    @property
    def rate(self) -> float | None:
        return self.favourable / self.classified if self.classified else None


@frozen
class ObservedColumn:
    """A column with the counts of its values, and the data that they are from."""

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
        counts: dict[GroupValue, Count] = {}
        for value, cell in self._cells():
            if value is None:
                continue
            outcome = Outcome.UNCLASSIFIED
            if rule is not None and cell.label is not None:
                with suppress(InexactDistribution):
                    outcome = classify_cell_label(cell.label, rule)
            count = Count(
                cell.records,
                cell.records * (outcome is Outcome.FAVOURABLE),
                cell.records * (outcome is Outcome.UNFAVOURABLE),
            )
            counts[value] = counts.get(value, Count()) + count
        return {value: count for value, count in counts.items() if count.records}


class ProposedGroupOut(Out):
    """One group: its records, and the share of favourable outcomes with its 95 % interval."""

    value: GroupValueJson
    meaning: str | None
    """The meaning for which the value is taken; null where it speaks for itself or is not known."""

    role: Role
    records: int
    favourable: int | None
    rate: float | None
    lower: float | None
    upper: float | None
    reason: str | None
    """Why there is no rate."""


@frozen_by_name
class GroupChoice:
    """Groups of one attribute. `because` is the reason for the reference, `warnings` say what a person should
    know first. `customary` are the groups that custom compares, whatever the rates.
    """

    monitored: tuple[GroupValue, ...]
    reference: tuple[GroupValue, ...]
    groups: tuple[ProposedGroupOut, ...]
    because: str
    warnings: tuple[str, ...] = field(default=())
    customary: "GroupChoice | None" = None


class NoChoice(Exception):
    """Raised where no groups can be proposed; the message says why."""


def build_proposed_group(
    value: GroupValue, count: Count, *, role: Role, meaning: str | None = None, has_outcomes: bool
) -> ProposedGroupOut:
    interval = build_wilson_interval(count.favourable, count.classified) if count.classified else None
    reason = (
        "no record of it has a favourable or unfavourable outcome"
        if has_outcomes
        else "the favourable outcomes are not known"
    )
    return ProposedGroupOut(
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


def warn_of_small_groups(groups: list[ProposedGroupOut]) -> list[str]:
    small = [group for group in groups if group.role != "neither" and group.records < MIN_GROUP_RECORDS]
    if not small:
        return []
    listed = join_first((f"{name_value(group.value)!r:.60} ({group.records})" for group in small), 5)
    warning = (
        f"few records: {listed}. They stay in the proposal; in a check, a group of fewer than "
        f"{MINIMUM_GROUP_SIZE} records gets no verdict, and a small one a wide interval"
    )
    return [warning]
