"""States of the labels of records, the figures that they allow, and the words for both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple, Self

from ...base.values import frozen
from ..catalogue import CATALOGUE, Metric
from ..catalogue.metric import CountFigure, RateComparison, RateFigure
from ..group_labels import Groups, IntArray
from ..intervals.rate_estimates import Share
from ..intervals.verdicts import Measured, Undefined, Value
from ..tables.count_table import LabelledCells
from .measure_rates import list_members, measure_significance, pool_reference

MIN_LABELS = 10
"""Labels of the records of one decision, for any figure."""

MIN_SHARE_RATIO = 0.02
"""Share of records with a label, over that of the other decision, for any figure."""

MIN_EVEN_SHARE_RATIO = 0.8
"""Ratio of those shares from which on labels count as even."""

MAX_UNEVEN_P_VALUE = 0.01
"""Below it, shares of labels that differ count as uneven."""

_RATES_OF_DECISION = {
    "favourable": {"positive_predictive", "false_discovery"},
    "unfavourable": {"negative_predictive", "false_omission"},
}


class LabelState(StrEnum):
    """State of the labels of some records, the worst first."""

    NONE = "none"
    ONE_DECISION = "one_decision"
    UNEVEN = "uneven"
    EVEN = "even"
    ALL = "all"


@frozen
class DecidedLabels:
    """Records with one prediction that could have a label, and those that have one."""

    decision: str
    records: int
    labelled: int

    @property
    def share(self) -> float:
        return self.labelled / self.records


class LabelCounts(NamedTuple):
    """Labels of the records of either decision."""

    favourable: DecidedLabels
    unfavourable: DecidedLabels

    @classmethod
    def of(cls, counts: IntArray) -> Self:
        """Builds them from counts [unfavourable and favourable, records and labelled]."""
        unfavourable, favourable = (tuple(map(int, row)) for row in counts)
        return cls(DecidedLabels("favourable", *favourable), DecidedLabels("unfavourable", *unfavourable))

    @property
    def labelled(self) -> int:
        return self.favourable.labelled + self.unfavourable.labelled

    @property
    def records(self) -> int:
        return self.favourable.records + self.unfavourable.records

    @property
    def decided(self) -> list[DecidedLabels]:
        """Decisions that were made, the one with the smallest share of labels first."""
        return sorted((side for side in self if side.records), key=lambda side: side.share)

    @property
    def lacking(self) -> list[str]:
        """Decisions with too few labels for any figure."""
        decided = self.decided
        is_far_below = bool(decided) and decided[0].share < MIN_SHARE_RATIO * decided[-1].share
        return [
            side.decision
            for side in decided
            if side.labelled < min(MIN_LABELS, side.records) or (is_far_below and side is decided[0])
        ]

    @property
    def state(self) -> LabelState:
        if not self.labelled:
            return LabelState.NONE
        if self.labelled == self.records:
            return LabelState.ALL
        if self.lacking:
            return LabelState.ONE_DECISION
        low = self.decided[0]
        is_uneven = (
            low.share < MIN_EVEN_SHARE_RATIO * self.decided[-1].share and self.p_value < MAX_UNEVEN_P_VALUE
        )
        return LabelState.UNEVEN if is_uneven else LabelState.EVEN

    @property
    def p_value(self) -> float:
        """P-value of both decisions having the same share of labels; 1 where only one has records."""
        shares = [Share(side.labelled, side.records, side.records) for side in self]
        can_differ = all(share.total for share in shares) and 0 < self.labelled < self.records
        return measure_significance(*shares, pairs=1).p_value if can_differ else 1.0

    def allows(self, metric: Metric) -> bool:
        """Whether labels tell a metric; those of one decision tell counts, calibration and its rates."""
        measure = metric.measure
        if self.state is not LabelState.ONE_DECISION or isinstance(measure, CountFigure):
            return self.state is not LabelState.NONE
        labelled = [side.decision for side in self.decided if side.decision not in self.lacking]
        if len(labelled) != 1:
            return False
        is_calibration = metric.key in {"calibration_gap", "calibration_error"}
        return is_calibration or (
            isinstance(measure, RateFigure | RateComparison)
            and measure.rate in _RATES_OF_DECISION[labelled[0]]
        )

    def explain(self, metric: Metric) -> str:
        if self.state is LabelState.NONE:
            return "no label"
        decisions = " and ".join(f"{side.labelled:,} of {side.records:,} {side.decision}" for side in self)
        name = f"{metric.title[:1].lower()}{metric.title[1:]}"
        return f"labels exist for {decisions} predictions: no {name} can be known from labels of one decision"

    @property
    def headline(self) -> str | None:
        """Says how many records have a label; None where all or none have."""
        if self.state in {LabelState.NONE, LabelState.ALL}:
            return None
        larger = max(self, key=lambda side: side.labelled)
        of_these = "all of them" if larger.labelled == self.labelled else f"{larger.labelled:,} of them"
        return (
            f"Labels of some: {self.labelled:,} of {self.records:,} records have a label, "
            f"{of_these} {larger.decision}."
        )

    def to_json(self) -> dict[str, int]:
        counts = {side.decision: side.records for side in self} | {
            f"labelled_{side.decision}": side.labelled for side in self
        }
        return {"records": self.records, **counts}


def describe_labels(labels: Mapping[str, Any]) -> tuple[str, str]:
    """Writes the end of a figure's sentence, and a caution or "", from its `Details.labels`."""
    mark = f", of the {labels['labelled']:,} with a label"
    counted = {name: labels.get(f"labelled_{name}", 0) for name in ("favourable", "unfavourable")}
    if labels.get("state") == LabelState.ONE_DECISION:
        larger = max(counted, key=counted.__getitem__)
        total = sum(counted.values())
        if counted[larger] == total:
            count = "all"
        elif total == labels["labelled"]:
            count = f"{counted[larger]:,}"
        else:
            count = "most"
        return f"{mark}, {count} of them {'approved' if larger == 'favourable' else 'refused'}", ""
    if labels.get("state") != LabelState.UNEVEN:
        return mark, ""
    shares = {name: 100 * count / labels[name] if labels[name] else 0.0 for name, count in counted.items()}
    decisions = " and ".join(f"{share:.0f} of 100 {name}" for name, share in shares.items())
    leaning = f"figures of the labelled lean towards the {max(shares, key=shares.__getitem__)} ones"
    return mark, f" Caution: {decisions} predictions have a label: {leaning}."


def judge_labels(results: Iterable[Measured], table: LabelledCells) -> list[Measured]:
    """Marks figures as of labelled records, and gives a reason for numbers that these cannot tell."""
    return [_judge_result(result, table) for result in results]


def _judge_result(result: Measured, table: LabelledCells) -> Measured:
    metric = CATALOGUE[result.metric]
    sides = _find_sides(result, table.groups)
    columns = sorted({column for side in sides for column in side})
    mark = {"of": "labelled", "labelled": int(table.confusion[columns].sum())}
    if table.cohort is None:
        return replace(result, details=result.details.changed(labels=mark))
    counted = [LabelCounts.of(table.cohort[list(side)].sum(0)) for side in sides]
    worst = min((side.state for side in counted), key=list(LabelState).index)
    if worst is LabelState.ALL:
        return result
    together = LabelCounts.of(table.cohort[columns].sum(0))
    details = result.details.changed(labels=mark | {"state": worst.value} | together.to_json())
    forbidding = next((side for side in counted if not side.allows(metric)), None)
    if forbidding is None:
        return replace(result, details=details)
    number = result.number
    if isinstance(number, Value):
        number = Undefined(forbidding.explain(metric), number.n)
    details = details.changed(p_value=None, chosen_p_value=None)
    return replace(result, number=number, interval_of_choice=None, details=details)


def _find_sides(result: Measured, groups: Groups) -> list[Sequence[int]]:
    metric = CATALOGUE[result.metric]
    if result.scope == "worst_pair":
        names = (result.details.monitored, result.details.reference)
        return [(position,) for position, group in enumerate(groups) if group.label in names]
    columns = next(
        member.columns for member in list_members((result.scope,), groups) if member.label == result.group
    )
    if result.scope == "attribute":
        return [(column,) for column in columns]
    return (
        [columns, pool_reference(groups).columns]
        if "reference" not in metric.scopes and result.scope in {"group", "pooled"}
        else [columns]
    )
