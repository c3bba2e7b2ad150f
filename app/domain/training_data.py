"""What is kept of the data a model was trained on: how their values and labels are distributed, never the rows."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import outcome_texts
from app.domain.texts import TOGETHER
from app.domain.values import GroupValue


class TrainingForm(StrEnum):
    """In which form training data were sent."""

    CSV = "csv"
    PARQUET = "parquet"
    DISTRIBUTION = "distribution"


@dataclass(frozen=True, slots=True)
class Cell:
    """Records that have these values (in the order of the distribution's columns) and this label; None is a missing one.

    A range stands for the records whose number lies in it. `weight` is the sum of their weights, `squares` of the weights' squares;
    both None where records carry none.
    """

    values: tuple[GroupValue | None, ...]
    label: GroupValue | None
    records: int
    weight: float | None = None
    squares: float | None = None


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the values of a column, or of several together, and the labels occur with each other.

    `note` says what is coarse or left out (bins, or nothing kept); None where every value stands by itself.
    """

    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSummary:
    """One upload. `labels` is the distribution of the label by itself, `absent` the meta fields that were not in it."""

    form: TrainingForm
    label: str
    weight: str | None
    records: int
    schema_version: int
    labels: Distribution
    absent: tuple[str, ...]
    processed_at: datetime
    processing_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedBy:
    """What a count table of labels rests on: a monitor of the same has the same table, whatever else of it changes."""

    favourable: tuple[str, ...]
    unfavourable: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...], tuple[str, ...] | None], ...]
    """Of each attribute: feature, monitored and reference values."""
    strata: str | None

    @property
    def attribute(self) -> str:
        """The attribute, or several joined by ` × `."""
        return TOGETHER.join(feature for feature, _, _ in self.groups)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """A count table of labels, `cells` in its JSON form.

    `reason` says why there is no table (`cells` None), or why it has no strata though it should.
    """

    counted_by: CountedBy
    cells: dict[str, Any] | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Everything that is kept of one upload."""

    summary: TrainingSummary
    distributions: tuple[Distribution, ...]
    tables: tuple[LabelTable, ...]


def counted_by(monitor: Monitor, attributes: tuple[MonitoredAttribute, ...]) -> CountedBy:
    """What the table of an attribute, or of several together, rests on under that monitor."""
    return CountedBy(
        favourable=tuple(outcome_texts(monitor.outcomes.favourable)),
        unfavourable=tuple(outcome_texts(monitor.outcomes.unfavourable)),
        groups=tuple(
            (
                attribute.feature,
                tuple(outcome_texts(attribute.monitored)),
                None if attribute.reference is None else tuple(outcome_texts(attribute.reference)),
            )
            for attribute in attributes
        ),
        strata=monitor.strata,
    )


def watched(monitor: Monitor) -> list[tuple[MonitoredAttribute, ...]]:
    """Each attribute of the monitor by itself, then its intersections."""
    of_feature = {attribute.feature: attribute for attribute in monitor.attributes}
    together = [tuple(of_feature[feature] for feature in features) for features in monitor.intersections]
    return [*((attribute,) for attribute in monitor.attributes), *together]
