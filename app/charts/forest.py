"""Forest of a deployment, now or as a check saw it: one row for each compared group, worst first."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from ..base.frozen import frozen, frozen_by_name
from ..checks.advice.advice import STALE_AFTER
from ..checks.recent_queries import RecentCheck, RecentFigure, recent_checks, recent_figures
from ..checks.views.headlines import IMPACT
from ..checks.views.logged_view import notes_on_unseen
from ..checks.views.view_source import counted_check
from ..domain.check import CheckRun, CheckState, DataSet, Measurement, Scope
from ..domain.group_words import GroupWords
from ..domain.monitor import Monitor
from ..evidence.present_state import ComparisonState, DeploymentEvidence
from ..evidence.words import find_governing
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.nulls import UnfairSide
from ..statistics.intervals.verdicts import GRAVEST, Verdict, keeps_to, reaches
from ..statistics.measures.worst_group import how_far_out
from ..statistics.sentences.sides import is_ratio

STRIP_CHECKS = 72
"""Checks whose verdicts a row shows: three days of hourly ones."""

LOGGED = (DataSet.AS_LOGGED, DataSet.LABELLED)
"""A metric that needs labels has no figure on the first."""
SHOWN = (*LOGGED, DataSet.COUNTERFACTUAL)


@frozen_by_name
class StripPoint:
    """`value` and `verdict` are None where the check has no figure of the group."""

    check_id: str
    at: datetime
    value: float | None
    verdict: str | None
    carried_forward: bool
    is_topped_up: bool = False


@frozen
class ForestFigure:
    measurement: Measurement
    strip: tuple[StripPoint, ...]
    evidence: ComparisonState | None

    @property
    def verdict(self) -> Verdict | None:
        return None if self.measurement.verdict is None else Verdict(self.measurement.verdict)

    @property
    def gravity(self) -> tuple[int, float]:
        """Sort key, the gravest first; of equals by the distance beyond the limits (`how_far_out`)."""
        measurement = self.measurement
        limits = (measurement.lower_limit, measurement.upper_limit)
        beyond = (
            0.0
            if measurement.value is None
            else how_far_out(measurement.value, CATALOGUE[measurement.metric], limits)
        )
        return GRAVEST.index(self.verdict), -beyond


@frozen_by_name
class ForestRow:
    """One group compared with its reference. At least one figure is there.

    `name` and `reference_name` are for people; `parts` are the names by feature.
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
    """Counterfactual figure of an attribute that the model does not see."""

    @property
    def is_unseen(self) -> bool:
        """Whether the counterfactual figure is of an attribute that the model does not see."""
        return bool(self.notes)

    @property
    def figures(self) -> tuple[ForestFigure, ...]:
        return tuple(figure for figure in (self.logged, self.counterfactual) if figure is not None)

    @property
    def leading(self) -> ForestFigure:
        """Gravest figure; of equals the one as logged."""
        return min(self.figures, key=lambda figure: figure.gravity[0])

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

    def _count(self, side: str) -> int | None:
        for figure in self.figures:
            details = figure.measurement.details
            counts = details.monitored_counts if side == "monitored" else details.reference_counts
            count = next(
                (counts[name] for name in ("own_n", "original_n", "n") if counts.get(name) is not None), None
            )
            if count is not None:
                return round(count)
        return None


@frozen_by_name
class Forest:
    """Forest of one metric. `check` is the newest with figures; `checks` are newest first.

    `is_stale`: figures are older than a day. `is_outdated`: they were measured under another version of
    the monitor.
    """

    metric: str
    rows: tuple[ForestRow, ...]
    words: GroupWords
    check: RecentCheck | None
    checks: tuple[RecentCheck, ...]
    recent: Sequence[RecentFigure]
    is_stale: bool
    is_outdated: bool

    @property
    def year(self) -> int | None:
        """That of the check, which sentences leave out."""
        return None if self.check is None else self.check.at.astimezone(UTC).year

    @property
    def attribute(self) -> str | None:
        """Attribute of the headline."""
        return self.rows[0].attribute if self.rows else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for row in self.rows for note in row.notes))

    @property
    def compared(self) -> int:
        """Number of figures that the worst one is chosen from: those with enough records."""
        few = (Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE)
        return sum(figure.verdict not in few for row in self.rows for figure in row.figures)


@frozen_by_name
class ForestSource:
    """`measured` are of the newest check, `recent` of the last checks."""

    monitor: Monitor | None
    evidence: DeploymentEvidence | None
    checks: Sequence[RecentCheck]
    measured: Sequence[Measurement]
    recent: Sequence[RecentFigure] = ()


def choose_metric(measured: Iterable[Measurement]) -> str:
    """Disparate impact, else the first metric of groups with limits, else the first."""
    eligible = [
        measurement
        for measurement in measured
        if measurement.scope is Scope.GROUP and measurement.data in SHOWN and measurement.metric in CATALOGUE
    ]
    if not eligible or any(measurement.metric == IMPACT for measurement in eligible):
        return IMPACT
    return min(eligible, key=lambda measurement: measurement.verdict is None).metric


def build_forest(source: ForestSource, *, metric: str, now: datetime) -> Forest:
    """Without rows where the newest check did not measure the metric."""
    names, unseen = (
        GroupWords.of(source.monitor),
        notes_on_unseen(source.checks[0].unseen if source.checks else {}),
    )
    figures: dict[str, dict[str, dict[DataSet, Measurement]]] = {}
    for figure in source.measured:
        if (
            figure.metric == metric
            and figure.scope is Scope.GROUP
            and figure.data in SHOWN
            and figure.attribute is not None
            and figure.group is not None
        ):
            figures.setdefault(figure.attribute, {}).setdefault(figure.group, {})[figure.data] = figure
    strips = collect_strips(source)
    states = [] if source.evidence is None else source.evidence.comparisons

    def figure_of(measurement: Measurement | None) -> ForestFigure | None:
        if measurement is None:
            return None
        key = _Series(measurement.data, measurement.attribute, measurement.group)
        matching = [
            state
            for state in states
            if _Series(state.data, state.attribute, state.group) == key and state.metric == metric
        ]
        return ForestFigure(measurement, strips.get(key, ()), find_evidence(measurement, matching))

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
            row = ForestRow(
                attribute=attribute,
                group=group,
                name=names.label(attribute, group),
                reference=reference,
                reference_name=names.label(attribute, reference),
                parts=names.parts(attribute, group),
                logged=figure_of(next((by_data[data] for data in LOGGED if data in by_data), None)),
                counterfactual=figure_of(by_data.get(DataSet.COUNTERFACTUAL)),
                notes=unseen.get(attribute, ()) if DataSet.COUNTERFACTUAL in by_data else (),
            )
            rows.append(row)
    newest = source.checks[0] if source.checks else None
    return Forest(
        metric=metric,
        rows=tuple(sorted(rows, key=lambda row: row.leading.gravity)),
        words=names,
        check=newest,
        checks=tuple(source.checks),
        recent=source.recent,
        is_stale=newest is not None and now - newest.measured_at > STALE_AFTER,
        is_outdated=newest is not None
        and source.monitor is not None
        and newest.monitor_version != source.monitor.version,
    )


def is_on_ratios(metric: str) -> bool:
    return is_ratio(CATALOGUE[metric])


@frozen
class _Series:
    data: DataSet
    attribute: str | None
    group: str | None


def collect_strips(source: ForestSource) -> dict[_Series, tuple[StripPoint, ...]]:
    """Last verdicts by series: one for each check since the first with a figure, oldest first."""
    by_series: dict[_Series, dict[int, RecentFigure]] = {}
    for figure in source.recent:
        by_series.setdefault(_Series(figure.data, figure.attribute, figure.group), {})[figure.check_no] = (
            figure
        )
    strips = {}
    oldest_first = list(reversed(source.checks))
    for series, by_check in by_series.items():
        # Figures of an earlier definition are other figures.
        definition = list(by_check.values())[-1].definition
        comparable = {no: figure for no, figure in by_check.items() if figure.definition == definition}
        start = next(position for position, check in enumerate(oldest_first) if check.no in comparable)
        strips[series] = tuple(
            StripPoint(
                check_id=check.id,
                at=check.at,
                value=None if figure is None else figure.value,
                verdict=None if figure is None else figure.verdict,
                carried_forward=check.carried_forward,
                is_topped_up=check.is_topped_up,
            )
            for check in oldest_first[start:]
            for figure in [comparable.get(check.no)]
        )
    return strips


def find_evidence(measurement: Measurement, sides: Sequence[ComparisonState]) -> ComparisonState | None:
    """Evidence on the limit that the figure is beyond, else on the side that decides the state."""
    # Evidence that a group is favoured says nothing about a figure that shows it at a disadvantage.
    side = None
    if measurement.value is not None and not reaches(measurement.value, measurement.lower_limit):
        side = UnfairSide.BELOW
    elif measurement.value is not None and not keeps_to(measurement.value, measurement.upper_limit):
        side = UnfairSide.ABOVE
    return find_governing([state for state in sides if side is None or state.direction is side])


def build_past_forest(
    session: Session,
    evidence: DeploymentEvidence | None,
    check: CheckRun | None,
    measured: Sequence[Measurement],
    *,
    end: datetime,
) -> Forest:
    """Forest of the newest check before `end`; the verdicts of those before it are included."""
    checks = _list_checks(session, check) if check is not None and check.state == CheckState.SUCCEEDED else []
    metric = choose_metric(measured)
    # States that began before that moment.
    past = evidence and replace(
        evidence,
        comparisons=[state for state in evidence.comparisons if state.since is None or state.since < end],
    )
    source = ForestSource(
        monitor=None if evidence is None else evidence.monitor,
        evidence=past,
        checks=checks,
        measured=measured,
        recent=[] if check is None else recent_figures(session, check.deployment_no, metric, checks),
    )
    # Judged from the end of the time: it does not become stale.
    return build_forest(source, metric=metric, now=end)


def _list_checks(session: Session, check: CheckRun) -> list[RecentCheck]:
    """The check and those before it, newest first."""
    counted, window = counted_check(session, check), check.window or {}
    newest = RecentCheck(
        no=check.no,
        id=check.id,
        at=check.span.end,
        measured_at=counted.origin.span.end,
        carried_forward=check.carried_from is not None,
        monitor_version=check.monitor_version,
        unseen={
            name: window[name]
            for name in ("correlated_features", "attributes_unseen_by_model")
            if name in window
        },
        is_topped_up=bool(window.get("additional_records")),
    )
    before = recent_checks(session, check.deployment_no, most=STRIP_CHECKS, until=check.span.end)
    return [newest, *(earlier for earlier in before if earlier.at < newest.at)][:STRIP_CHECKS]
