"""What is known of a column: how its values and the outcomes occur with each other, and from which data."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.deployments import Column
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.training_data import Distribution
from app.domain.values import GroupValue
from app.training.from_distributions import Inexact, outcome_of_label


class Origin(StrEnum):
    """Where the counts come from."""

    TRAINING = "training"
    PAYLOAD = "payload"


@dataclass(frozen=True, slots=True)
class Source:
    """The data that were looked at. `at` is when the training data were processed, or when the newest record was logged."""

    origin: Origin
    records: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Observed:
    """One column of the deployment; without a source nothing is known of its values."""

    column: Column
    is_meta: bool
    distribution: Distribution | None
    source: Source | None

    def counted(self) -> dict[GroupValue, int]:
        """The records of each value, without those that have none."""
        return {value: count.records for value, count in counts_of(self, None).items()}

    @property
    def missing(self) -> int:
        """Records without a value."""
        place = self._place
        return 0 if self.distribution is None else sum(cell.records for cell in self.distribution.cells if cell.values[place] is None)

    @property
    def _place(self) -> int:
        return 0 if self.distribution is None else self.distribution.columns.index(self.column.name)


@dataclass(frozen=True, slots=True)
class Count:
    """Records of one value: all, and those whose outcome is known to be favourable or unfavourable."""

    records: int = 0
    favourable: int = 0
    unfavourable: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.records + other.records, self.favourable + other.favourable, self.unfavourable + other.unfavourable)

    @property
    def classified(self) -> int:
        """Records that a rate is of."""
        return self.favourable + self.unfavourable

    @property
    def rate(self) -> float | None:
        """The share of favourable outcomes; None where no outcome is known."""
        return self.favourable / self.classified if self.classified else None


def counts_of(observed: Observed, rule: OutcomeRule | None) -> Mapping[GroupValue, Count]:
    """Each value's records and outcomes; without a rule, or where labels are too coarse for it, no outcome is known."""
    counted: dict[GroupValue, Count] = {}
    if observed.distribution is None:
        return counted
    place = observed.distribution.columns.index(observed.column.name)
    for cell in observed.distribution.cells:
        value = cell.values[place]
        if value is not None:
            counted[value] = counted.get(value, Count()) + _count(cell.records, cell.label, rule)
    return {value: count for value, count in counted.items() if count.records}


def _count(records: int, label: GroupValue | None, rule: OutcomeRule | None) -> Count:
    try:
        outcome = Outcome.UNCLASSIFIED if rule is None or label is None else outcome_of_label(label, rule)
    except Inexact:
        outcome = Outcome.UNCLASSIFIED
    return Count(
        records,
        records if outcome is Outcome.FAVOURABLE else 0,
        records if outcome is Outcome.UNFAVOURABLE else 0,
    )
