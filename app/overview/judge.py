"""Chooses the gravest figure of a deployment's newest check."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from ..checks.advice.deployment_facts import ComparedGroups, GroupFigure, OverviewEntry, Success
from ..database.binary_rows import read_row
from ..domain.check import Details
from ..evidence.queries.figure_states import LeadingFigure
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.state_words import IntervalKind
from ..statistics.intervals.verdicts import Value, Verdict, judge_number
from ..statistics.measures.worst_group import Disadvantaged, measure_distance, widen_for_choice
from ..statistics.sentences.statements import JudgedFigure, describe_other_side
from .queries import JudgedKey, read_gravest_figures

HEADLINE = "disparate_impact"
"""Metric that deployments are judged by, as logged and counterfactual."""

MAX_DISTANCE = 1e6
"""Max distance for sorting: a ratio of 0 is infinitely far, which a cursor cannot hold."""


class WorstGroup(GroupFigure, frozen=True, kw_only=True):
    """Group with the gravest verdict, of several the furthest out.

    Its value and interval are those of the evidence, of the records that `interval_kind` names, or else of
    the newest check, where that is None.
    """

    beyond: float
    """Distance beyond the limits; 0 without a value."""

    measured_at: datetime
    carried_forward: bool
    check_id: str
    interval_kind: IntervalKind | None = None
    interval_of_choice: Value | None = None
    """The value with an interval that allows for the choice of the figure; None for a single figure."""

    @property
    def chosen_interval(self) -> list[float | None] | None:
        return (
            None
            if self.interval_of_choice is None
            else [self.interval_of_choice.lower, self.interval_of_choice.upper]
        )

    @property
    def is_unfair_in_its_attribute_alone(self) -> bool:
        """Whether the interval that allows for the choice among all comparisons reaches the limit."""
        if self.interval_of_choice is None or self.value is None or self.verdict != Verdict.UNFAIR:
            return False
        verdict = judge_number(
            self.interval_of_choice,
            lower_limit=self.lower_limit,
            upper_limit=self.upper_limit,
            smallest_group=None,
        )
        return verdict is Verdict.SUSPECTED

    @property
    def judged(self) -> JudgedFigure:
        """Figure for statements, which take time for hundreds of groups."""
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
        """May be the reference."""
        return self.judged.disadvantaged

    @property
    def disadvantaged_group(self) -> str | None:
        return self.judged.disadvantaged_group

    @property
    def other_side(self) -> str | None:
        return describe_other_side(self.judged)

    def allow_for_choice(self, chosen_from: int) -> "WorstGroup":
        if self.value is None or chosen_from <= 1 or self.interval_kind is not None:
            return self
        alone = Value(self.value, self.lower, self.upper, "", self.n)
        return msgspec.structs.replace(
            self, interval_of_choice=widen_for_choice(CATALOGUE[self.metric], alone, chosen_from)
        )


def read_evidence(leading: LeadingFigure, success: Success) -> WorstGroup:
    """Measured up to the newest check."""
    return _read_worst(leading, success, compared=leading.compared, reason=None, carried_forward=False)


def _read_worst(figure: Any, success: Success, **members: object) -> WorstGroup:  # noqa: ANN401 - of two sources
    defaults = {"interval_kind": None, "interval_of_choice": None, "carried_forward": success.carried_forward}
    return read_row(
        WorstGroup,
        figure,
        **defaults | members,
        beyond=_measure_beyond(figure),
        measured_at=success.measured_at,
        check_id=success.id,
    )


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Judgement of a check: its gravest figure, the number of figures, and how many have a verdict on
    fairness.
    """

    worst: WorstGroup | None = None
    groups: int = 0
    judged: int = 0


NOTHING_JUDGED = Judgement()


def judge_deployments(session: Session, entries: Iterable[OverviewEntry]) -> dict[int, Judgement]:
    """Keys are the checks' numbers."""
    successes = {}
    keys = []
    for entry in entries:
        if entry.success is not None and entry.monitor_version is not None:
            metric = _choose_metric(entry)
            is_of_label = not {"as_logged", "counterfactual"} & set(CATALOGUE[metric].data)
            successes[entry.success.no] = entry.success
            keys.append(JudgedKey(entry.no, entry.success.no, entry.success.at, metric, is_of_label))
    return {
        check_no: Judgement(
            worst=_read_worst(worst, successes[check_no], compared=read_row(ComparedGroups, worst)),
            groups=worst.groups,
            judged=worst.judged,
        )
        for check_no, worst in choose_gravest(session, keys).items()
    }


def choose_gravest(session: Session, keys: Sequence[JudgedKey]) -> dict[int, Any]:
    """Chooses the gravest figure of each check, by its number; of figures equally far out the first."""
    by_check = groupby(read_gravest_figures(session, keys), key=attrgetter("check_no"))
    candidates = {check_no: list(figures) for check_no, figures in by_check}
    return {
        check_no: figures[0] if len(figures) == 1 else max(figures, key=_measure_beyond)
        for check_no, figures in candidates.items()
    }


def _choose_metric(entry: OverviewEntry) -> str:
    """Chooses disparate impact, else the first of the monitor's metrics that has limits."""
    if entry.metrics is None or HEADLINE in entry.metrics:
        return HEADLINE
    for key in entry.metrics:
        metric = CATALOGUE.get(key)
        if metric is not None and "group" in metric.scopes and metric.limits != (None, None):
            return key
    return HEADLINE


def _measure_beyond(figure: Any) -> float:  # noqa: ANN401 - as above
    """Distance beyond the limits; 0 without a value."""
    if figure.value is None:
        return 0.0
    limits = (figure.lower_limit, figure.upper_limit)
    return min(
        max(measure_distance(figure.value, CATALOGUE[figure.metric], limits), -MAX_DISTANCE), MAX_DISTANCE
    )
