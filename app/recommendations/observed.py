"""Facts about a column: how its values and the outcomes occur with each other."""

from datetime import datetime
from enum import StrEnum

from ..domain.deployments import Column
from ..domain.outcomes import Outcome, OutcomeRule
from ..domain.training_data import Distribution
from ..domain.values import GroupValue
from ..frozen import frozen
from ..training.from_distributions import Inexact, classify_cell_label


class CountsOrigin(StrEnum):
    """The source of the counts."""

    TRAINING = "training"
    PAYLOAD = "payload"


@frozen
class Source:
    """The data that were looked at. `at` is when the training data were processed, or when the newest record was logged."""

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
        return Count(self.records + other.records, self.favourable + other.favourable, self.unfavourable + other.unfavourable)

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

    @property
    def missing(self) -> int:
        if self.distribution is None:
            return 0
        place = self.distribution.columns.index(self.column.name)
        return sum(cell.records for cell in self.distribution.cells if cell.values[place] is None)

    def count_records(self) -> dict[GroupValue, int]:
        return {value: count.records for value, count in self.count_outcomes(None).items()}

    def count_outcomes(self, rule: OutcomeRule | None) -> dict[GroupValue, Count]:
        """Returns each value's records and outcomes; without a rule, or if labels are too coarse for it, no outcome is known."""
        if self.distribution is None:
            return {}
        counted: dict[GroupValue, Count] = {}
        place = self.distribution.columns.index(self.column.name)
        for cell in self.distribution.cells:
            value = cell.values[place]
            if value is None:
                continue
            try:
                outcome = Outcome.UNCLASSIFIED if rule is None or cell.label is None else classify_cell_label(cell.label, rule)
            except Inexact:
                outcome = Outcome.UNCLASSIFIED
            count = Count(
                cell.records,
                cell.records if outcome is Outcome.FAVOURABLE else 0,
                cell.records if outcome is Outcome.UNFAVOURABLE else 0,
            )
            counted[value] = counted.get(value, Count()) + count
        return {value: count for value, count in counted.items() if count.records}
