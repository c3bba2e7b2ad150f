"""Forest of a deployment, now or as a check saw it: one row for each compared group, worst first."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from ..base.values import frozen, frozen_by_name
from ..checks.advice.causes import STALE_AFTER
from ..checks.result_queries import RecentCheck, RecentFigure, RecentFigures, read_recent_figures
from ..checks.views.headlines import IMPACT, VERDICT_WORDS
from ..checks.views.view_source import list_notes_on_unseen, read_counted_check
from ..database.binary_rows import read_row
from ..domain.check import CheckRun, CheckState, DataSet, FigureKey, Measurement, Scope, Side
from ..domain.groups import GroupWords
from ..domain.monitor import Monitor
from ..evidence.present_state import ComparisonState, DeploymentEvidence
from ..evidence.words import find_leading
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.state_words import FigureStatement
from ..statistics.intervals.verdicts import GRAVEST, Limits, Verdict
from ..statistics.measures.worst_group import is_ratio, measure_distance

STRIP_CHECKS = 72
"""Checks whose verdicts a row shows: three days of hourly ones."""

LOGGED_DATA = (DataSet.AS_LOGGED, DataSet.LABELLED)
"""Data of the figure as logged; a metric that needs labels has none on the first."""
SHOWN_DATA = (*LOGGED_DATA, DataSet.COUNTERFACTUAL)


@frozen
class StripPoint:
    """Verdict of a check; None where it has no figure of the group."""

    check_id: str
    verdict: str | None
    is_topped_up: bool


@frozen
class ForestFigure:
    """Figure of a group; value, interval and verdict are those over all hours if there is a `statement`."""

    measurement: Measurement
    strip: tuple[StripPoint, ...]
    evidence: ComparisonState | None
    statement: FigureStatement | None = None

    @property
    def verdict(self) -> Verdict | None:
        check_verdict = None if self.measurement.verdict is None else Verdict(self.measurement.verdict)
        if self.statement is None:
            return check_verdict
        if self.statement.verdict is Verdict.FAIR and check_verdict is Verdict.UNWATCHED:
            return check_verdict
        return self.statement.verdict

    @property
    def state(self) -> str:
        if self.statement is None or self.verdict is Verdict.UNWATCHED:
            return VERDICT_WORDS[self.verdict]
        return self.statement.state.lower()

    @property
    def since(self) -> datetime | None:
        return self.evidence.since if self.evidence is not None and self.verdict is Verdict.UNFAIR else None

    @property
    def value(self) -> float | None:
        return self.measurement.value if self.statement is None else self.statement.value

    @property
    def interval(self) -> Limits:
        if self.statement is None:
            return self.measurement.lower, self.measurement.upper
        return self.statement.interval or (None, None)

    @property
    def limits(self) -> Limits:
        return self.measurement.lower_limit, self.measurement.upper_limit

    def count(self, side: Side) -> tuple[float | None, float | None]:
        """Counts favourable and all records of a side; None where they are not stored."""
        compared = None if self.statement is None else self.statement.compared
        if compared is not None:
            return compared.monitored if side == "monitored" else compared.reference
        counts = self.measurement.details.counts_of(side)
        return counts.get("favourable"), counts.get("n")

    def rate(self, side: Side) -> float | None:
        return find_rate(*self.count(side))

    @property
    def gravity(self) -> tuple[int, float]:
        """Sort key, the gravest first; of equals by `how_far_out`."""
        metric = CATALOGUE[self.measurement.metric]
        beyond = 0.0 if self.value is None else measure_distance(self.value, metric, self.limits)
        return GRAVEST.index(self.verdict), -beyond


def find_rate(favourable: float | None, records: float | None) -> float | None:
    return favourable / records if favourable is not None and records else None


@frozen_by_name
class ForestRow:
    """One compared group, with at least one figure; `parts` are its names by feature.

    `name` and `reference_name` are for people.
    """

    attribute: str
    group: str
    name: str
    reference: str
    reference_name: str
    parts: tuple[str, ...]
    logged: ForestFigure | None
    counterfactual: ForestFigure | None
    notes: tuple[str, ...]
    """Notes on a counterfactual figure of an attribute that the model does not see; else empty."""

    @property
    def is_unseen(self) -> bool:
        return bool(self.notes)

    @property
    def figures(self) -> tuple[ForestFigure, ...]:
        return tuple(figure for figure in (self.logged, self.counterfactual) if figure is not None)

    @property
    def leading(self) -> ForestFigure:
        return min(self.figures, key=lambda figure: figure.gravity[0])

    @property
    def main(self) -> ForestFigure:
        """The counterfactual figure where there is none as logged."""
        return self.figures[0]

    @property
    def verdict(self) -> Verdict | None:
        return self.leading.verdict

    @property
    def n(self) -> int | None:
        return self._count("monitored")

    @property
    def n_reference(self) -> int | None:
        return self._count("reference")

    @property
    def strip(self) -> tuple[StripPoint, ...]:
        return self.leading.strip

    @property
    def evidence(self) -> ComparisonState | None:
        return self.leading.evidence

    def _count(self, side: Side) -> int | None:
        numbers = (figure.measurement.details.records_of(side) for figure in self.figures)
        return next((number for number in numbers if number is not None), None)


@frozen_by_name
class Forest:
    """Rows of one metric, the gravest first. `checks` are those with figures, newest first.

    `is_stale`: figures are older than a day. `is_outdated`: they are of another version of the monitor.
    """

    metric: str
    rows: tuple[ForestRow, ...]
    words: GroupWords
    checks: Sequence[RecentCheck]
    recent: Sequence[RecentFigure]
    is_stale: bool
    is_outdated: bool

    @property
    def check(self) -> RecentCheck | None:
        return self.checks[0] if self.checks else None

    @property
    def year(self) -> int | None:
        return None if self.check is None else self.check.at.astimezone(UTC).year

    @property
    def attribute(self) -> str | None:
        return self.rows[0].attribute if self.rows else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for row in self.rows for note in row.notes))

    @property
    def compared(self) -> int:
        """Figures that the worst one is chosen from: those with enough records."""
        without_verdict = (Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE)
        return sum(figure.verdict not in without_verdict for row in self.rows for figure in row.figures)


def choose_metric(measured: Iterable[Measurement]) -> str:
    """Chooses disparate impact if it was measured, else the first metric that is judged."""
    eligible = [
        measurement
        for measurement in measured
        if measurement.scope is Scope.GROUP
        and measurement.data in SHOWN_DATA
        and measurement.metric in CATALOGUE
    ]
    if not eligible or any(measurement.metric == IMPACT for measurement in eligible):
        return IMPACT
    return min(eligible, key=lambda measurement: measurement.verdict is None).metric


def build_forest(
    recent: RecentFigures,
    measured: Sequence[Measurement],
    *,
    monitor: Monitor | None,
    evidence: DeploymentEvidence | None,
    metric: str,
    now: datetime,
    shows_evidence: bool = False,
) -> Forest:
    """Builds the forest of the newest check, whose figures are `measured`; no rows if none is of the metric.

    `shows_evidence`: figures are of all hours, where evidence has them.
    """
    names = GroupWords.of(monitor)
    newest = next(iter(recent.checks), None)
    unseen = {} if newest is None else list_notes_on_unseen(newest.unseen)
    figures: dict[str, dict[str, dict[DataSet, Measurement]]] = {}
    for figure in measured:
        if (
            figure.metric == metric
            and figure.scope is Scope.GROUP
            and figure.data in SHOWN_DATA
            and figure.attribute is not None
            and figure.group is not None
        ):
            figures.setdefault(figure.attribute, {}).setdefault(figure.group, {})[figure.data] = figure
    strips = collect_strips(recent, metric)
    states = [] if evidence is None else evidence.comparisons

    def describe_figure(measurement: Measurement | None) -> ForestFigure | None:
        if measurement is None:
            return None
        key = measurement.key
        matching = [state for state in states if state.key == key]
        state = find_leading(matching) if matching else None
        statement = state.statement if state is not None and shows_evidence else None
        if statement is not None and (statement.compared is None or statement.interval is None):
            statement = None
        return ForestFigure(measurement, strips.get(key, ()), state, statement)

    rows = []
    for attribute, groups in figures.items():
        for group, by_data in groups.items():
            reference = next(
                (
                    measurement.details.reference
                    for measurement in by_data.values()
                    if measurement.details.reference is not None
                ),
                "the reference group",
            )
            rows.append(
                ForestRow(
                    attribute=attribute,
                    group=group,
                    name=names.label(attribute, group),
                    reference=reference,
                    reference_name=names.label(attribute, reference),
                    parts=names.parts(attribute, group),
                    logged=describe_figure(
                        next((by_data[data] for data in LOGGED_DATA if data in by_data), None)
                    ),
                    counterfactual=describe_figure(by_data.get(DataSet.COUNTERFACTUAL)),
                    notes=unseen.get(attribute, ()) if DataSet.COUNTERFACTUAL in by_data else (),
                )
            )
    return Forest(
        metric=metric,
        rows=tuple(sorted(rows, key=lambda row: row.leading.gravity)),
        words=names,
        checks=recent.checks,
        recent=recent.figures,
        is_stale=newest is not None and now - newest.measured_at > STALE_AFTER,
        is_outdated=newest is not None and monitor is not None and newest.monitor_version != monitor.version,
    )


def is_on_ratios(metric: str) -> bool:
    return is_ratio(CATALOGUE[metric])


def collect_strips(recent: RecentFigures, metric: str) -> dict[FigureKey, tuple[StripPoint, ...]]:
    """Collects the last verdicts of each figure: one a check since the first that has it, oldest first."""
    figures_by_key: dict[FigureKey, dict[int, RecentFigure]] = {}
    for figure in recent.figures:
        key = FigureKey(metric=metric, data=figure.data, attribute=figure.attribute, group=figure.group)
        figures_by_key.setdefault(key, {})[figure.check_no] = figure
    strips = {}
    oldest_first = list(reversed(recent.checks))
    for key, figures in figures_by_key.items():
        # Figures of an earlier definition are other figures.
        definition = list(figures.values())[-1].definition
        comparable = {no: figure for no, figure in figures.items() if figure.definition == definition}
        start = next(position for position, check in enumerate(oldest_first) if check.no in comparable)
        strips[key] = tuple(
            StripPoint(
                check.id,
                comparable[check.no].verdict if check.no in comparable else None,
                check.is_topped_up,
            )
            for check in oldest_first[start:]
        )
    return strips


def build_past_forest(
    session: Session,
    evidence: DeploymentEvidence | None,
    check: CheckRun | None,
    measured: Sequence[Measurement],
    *,
    end: datetime,
) -> Forest:
    """Builds the forest of the newest check before `end`, with verdicts of the checks before it."""
    metric = choose_metric(measured)
    recent = RecentFigures((), ())
    if check is not None and check.state == CheckState.SUCCEEDED:
        recent = _read_recent(session, check, metric, measured)
    monitor = None
    if evidence is not None:
        monitor = evidence.monitor
        began = [state for state in evidence.comparisons if state.since is None or state.since < end]
        evidence = replace(evidence, comparisons=began)
    # With `end` as the present, the figures do not become stale.
    return build_forest(recent, measured, monitor=monitor, evidence=evidence, metric=metric, now=end)


def _read_recent(
    session: Session, check: CheckRun, metric: str, measured: Sequence[Measurement]
) -> RecentFigures:
    counted_check = read_counted_check(session, check)
    window = check.window or {}
    newest = RecentCheck(
        no=check.no,
        id=check.id,
        at=check.span.end,
        measured_at=counted_check.origin.span.end,
        carried_forward=check.carried_from is not None,
        monitor_version=check.monitor_version,
        unseen={
            name: window[name]
            for name in ("correlated_features", "attributes_unseen_by_model")
            if name in window
        },
        is_topped_up=bool(window.get("additional_records")),
    )
    recent = read_recent_figures(
        session, check.deployment_no, metric, limit=STRIP_CHECKS, until=check.span.end
    )
    earlier = [past for past in recent.checks if past.at < newest.at][: STRIP_CHECKS - 1]
    earlier_nos = {past.no for past in earlier}
    newest_figures = [
        read_row(RecentFigure, figure, check_no=check.no)
        for figure in measured
        if figure.metric == metric
        and figure.scope is Scope.GROUP
        and figure.attribute
        and figure.group is not None
    ]
    return RecentFigures(
        [newest, *earlier],
        [*(figure for figure in recent.figures if figure.check_no in earlier_nos), *newest_figures],
    )
