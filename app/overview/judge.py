"""Chooses the gravest figure of a deployment's newest check."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache, partial

import msgspec
from sqlalchemy.orm import Session

from ..checks.advice.deployment_facts import Compared, GroupFigure, OverviewEntry, Success
from ..database.binary_rows import read_row
from ..domain.check import DataSet, Details, Measurement, Scope
from ..evidence.queries.figure_states import LeadingFigure
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.state_words import IntervalKind
from ..statistics.intervals.verdicts import GRAVEST, ON_FAIRNESS, Limits, Value, Verdict, verdict
from ..statistics.measures.worst_group import Disadvantaged, build_distance, widen_for_choice
from ..statistics.sentences.statements import JudgedFigure, other_side
from .queries import RankedFigure, RankedKey, group_figures, ranked_figures

HEADLINE = "disparate_impact"
"""Metric that deployments are judged by, as logged and counterfactual."""

FEW = 2
"""Most figures whose distances are all measured: faster than to find the ends of their values first."""

FURTHEST = 1e6
"""Max distance for sorting: a ratio of 0 is infinitely far, which a cursor cannot hold."""

_HEADLINE_DATA = {DataSet.AS_LOGGED.value, DataSet.COUNTERFACTUAL.value}

_JUDGED_ON = {
    key: frozenset(
        _HEADLINE_DATA & {data.value for data in map(DataSet, metric.data)} or {DataSet.LABELLED.value}
    )
    for key, metric in CATALOGUE.items()
}
"""Logged and counterfactual data, or labels where the metric needs them."""


class WorstGroup(GroupFigure, frozen=True, kw_only=True):
    """Group with the gravest verdict, of several the furthest out.

    Its value and interval are those of the evidence, of the records that `interval_kind` names, or else of
    the newest check, where that is None.
    """

    metric: str
    beyond: float
    """Distance beyond the limits; 0 without a value."""

    measured_at: datetime
    carried_forward: bool
    check_id: str
    interval_kind: IntervalKind | None = None
    for_choice: Value | None = None
    """With an interval valid although the figure was chosen; None for one figure."""

    @property
    def chosen_interval(self) -> list[float | None] | None:
        return None if self.for_choice is None else [self.for_choice.lower, self.for_choice.upper]

    @property
    def is_unfair_in_its_attribute_alone(self) -> bool:
        """Whether the interval that allows for the choice among all comparisons reaches the limit."""
        if self.for_choice is None or self.value is None or self.verdict != Verdict.UNFAIR:
            return False
        allowing = verdict(
            self.for_choice, lower_limit=self.lower_limit, upper_limit=self.upper_limit, smallest_group=None
        )
        return allowing is Verdict.SUSPECTED

    @property
    def judged(self) -> JudgedFigure:
        """Made when asked for: statements take time for hundreds."""
        return JudgedFigure(
            metric=self.metric,
            scope="group",
            value=self.value,
            lower=self.lower,
            upper=self.upper,
            method=None,
            limits=(self.lower_limit, self.upper_limit),
            verdict=self.verdict,
            details=Details(monitored=self.group, reference=self.compared.reference),
        )

    @property
    def disadvantaged(self) -> Disadvantaged | None:
        """Role at a disadvantage, which may be the reference."""
        return self.judged.disadvantaged

    @property
    def disadvantaged_group(self) -> str | None:
        return self.judged.disadvantaged_group

    @property
    def other_side(self) -> str | None:
        """Says that the reference is at a disadvantage; None where it is not."""
        return other_side(self.judged)

    def allow_for_choice(self, chosen_from: int) -> "WorstGroup":
        """Adds the interval for a choice from so many figures."""
        if self.value is None or chosen_from <= 1 or self.interval_kind is not None:
            return self
        alone = Value(self.value, self.lower, self.upper, "", self.n)
        return msgspec.structs.replace(
            self, for_choice=widen_for_choice(CATALOGUE[self.metric], alone, chosen_from)
        )


def read_evidence(leading: LeadingFigure, success: Success) -> WorstGroup:
    """The leading figure of the evidence, measured up to the newest check."""
    return read_row(
        WorstGroup,
        leading,
        no=0,
        reason=None,
        beyond=min(max(leading.beyond, -FURTHEST), FURTHEST),
        measured_at=success.measured_at,
        carried_forward=False,
        check_id=success.id,
        for_choice=None,
    )


class JudgedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Gravest figure, number of figures, and how many have a verdict on fairness."""

    worst: WorstGroup | None = None
    groups: int = 0
    judged: int = 0


NOTHING_JUDGED = JudgedBy()


def judge(session: Session, entries: Iterable[OverviewEntry]) -> dict[int, JudgedBy]:
    """Keys are numbers of newest successes."""
    of_check: dict[int, tuple[Success, str]] = {}
    keys = []
    for entry in entries:
        if entry.success is not None and entry.monitor_version is not None:
            metric = _choose_metric(entry)
            of_check[entry.success.no] = (entry.success, metric)
            keys.append(RankedKey(entry.no, entry.success.no, entry.success.at, metric))

    figures: dict[int, list[RankedFigure]] = {}
    for figure in ranked_figures(session, keys):
        if figure.data in _JUDGED_ON[of_check[figure.check_no][1]]:
            figures.setdefault(figure.check_no, []).append(figure)

    beyond = Distances()
    # One figure per deployment is read in full.
    worst = {no: beyond.gravest(of_check[no][1], ranked) for no, ranked in figures.items()}
    figures_of = {
        figure.no: figure for figure in group_figures(session, [figure.no for figure in worst.values()])
    }
    judged_by = {}
    for no, ranked in figures.items():
        success, metric = of_check[no]
        distance = beyond.of(metric, worst[no])
        judged_by[no] = _judge(success, metric, figures_of[worst[no].no], ranked, distance)
    return judged_by


def judge_measured(entry: OverviewEntry, measured: Sequence[Measurement]) -> JudgedBy:
    """The same of one deployment by all measurements of its newest success."""
    if entry.success is None or entry.monitor_version is None:
        return NOTHING_JUDGED
    metric = _choose_metric(entry)
    beyond = Distances()
    ranked = [
        read_row(RankedFigure, figure, no=position, check_no=entry.success.no)
        for position, figure in enumerate(measured)
        if figure.metric == metric
        and figure.data in _JUDGED_ON[metric]
        and figure.scope is Scope.GROUP
        and figure.attribute is not None
        and figure.group is not None
    ]
    if not ranked:
        return NOTHING_JUDGED
    worst = beyond.gravest(metric, ranked)
    details = measured[worst.no].details
    compared = Compared(
        reference=details.reference,
        monitored_records=details.records_of("monitored"),
        reference_records=details.records_of("reference"),
        reference_favourable=details.reference_counts.get("favourable"),
    )
    figure = read_row(GroupFigure, measured[worst.no], no=worst.no, compared=compared)
    return _judge(entry.success, metric, figure, ranked, beyond.of(metric, worst))


def _choose_metric(entry: OverviewEntry) -> str:
    """Disparate impact, else the first picked metric that has limits."""
    picked = (
        []
        if entry.picked is None or HEADLINE in entry.picked
        else [key for key in entry.picked if key in CATALOGUE]
    )
    limited = (
        key for key in picked if "group" in CATALOGUE[key].scopes and CATALOGUE[key].limits != (None, None)
    )
    return next(limited, HEADLINE)


def _judge(
    success: Success, metric: str, figure: GroupFigure, ranked: Sequence[RankedFigure], beyond: float
) -> JudgedBy:
    worst = WorstGroup(
        **msgspec.structs.asdict(figure),
        metric=metric,
        beyond=beyond,
        measured_at=success.measured_at,
        carried_forward=success.carried_forward,
        check_id=success.id,
    )
    judged = sum(candidate.verdict in ON_FAIRNESS for candidate in ranked)
    return JudgedBy(worst=worst, groups=len(ranked), judged=judged)


class Distances:
    """Marks of a metric and limits are computed once."""

    def __init__(self) -> None:
        self._measure = cache(lambda metric, limits: build_distance(CATALOGUE[metric], limits))

    def gravest(self, metric: str, figures: Sequence[RankedFigure]) -> RankedFigure:
        """Figure with the gravest verdict, of several the furthest out."""
        verdicts = [figure.verdict for figure in figures]
        gravest = next(verdict for verdict in GRAVEST if verdict in verdicts)
        return self.furthest(metric, [figure for figure in figures if figure.verdict == gravest])

    def furthest(self, metric: str, figures: Sequence[RankedFigure]) -> RankedFigure:
        """Figure furthest beyond its limits, the first of equals. Expects at least one."""
        if len(figures) <= FEW:
            return figures[0] if len(figures) == 1 else max(figures, key=partial(self.of, metric))
        # Distance grows to both sides of a point between the limits: only the ends can be furthest out.
        ends: dict[Limits, tuple[RankedFigure, RankedFigure]] = {}
        for figure in figures:
            limits = figure.lower_limit, figure.upper_limit
            lowest, highest = ends.get(limits, (figure, figure))
            if figure.value is None or lowest.value is None or highest.value is None:
                return max(figures, key=partial(self.of, metric))
            ends[limits] = (
                figure if figure.value < lowest.value else lowest,
                figure if figure.value > highest.value else highest,
            )
        candidates = {end.no: end for pair in ends.values() for end in pair}
        return max((candidates[no] for no in sorted(candidates)), key=partial(self.of, metric))

    def of(self, metric: str, figure: RankedFigure) -> float:
        """Distance beyond the limits; 0 without a value."""
        if figure.value is None:
            return 0.0
        limits = figure.lower_limit, figure.upper_limit
        return min(max(self._measure(metric, limits)(figure.value), -FURTHEST), FURTHEST)
