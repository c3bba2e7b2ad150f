"""One metric of every group over a time, joined to at most `MAX_STEPS` steps a group.

Steps keep the lowest and highest figure and the hull of intervals. From a day on, they are read as they were
joined when stored; only the ends of the time, which are parts of a day, are read figure by figure.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy.orm import Session

from ..base.values import frozen, frozen_by_name
from ..checks.days.day_queries import (
    DAY,
    ORIGIN,
    CheckStep,
    FigureSelection,
    FigureStep,
    VersionChange,
    cut_to_days,
    join_steps,
    list_version_changes,
    read_ended_checks,
    read_figure_days,
    read_figure_steps,
    read_revision_before,
)
from ..checks.days.roll_up import Period
from ..domain.alert import Alert
from ..domain.check import DataSet, FigureKey, Scope, Span
from ..domain.groups import GroupWords
from ..statistics.catalogue import CATALOGUE
from ..statistics.intervals.verdicts import GRAVEST, Limits, Verdict
from ..statistics.measures.worst_group import rank_value
from .series import SeriesPoint, SeriesQuery, build_series
from .time_ranges import (
    EarlierKind,
    RangeChoice,
    RangePreset,
    choose_picture_step,
    choose_usual_preset,
    find_period_before,
)

MAX_STEPS = 400
MAX_PANELS = 60

MAX_SPAN_OF_HOURS = timedelta(days=35)
"""Longest time whose steps may be shorter than a day."""

ACCURACY = FigureSelection(metric="accuracy", data=DataSet.LABELLED, of_all=True)
# In the order of the counts that `_join_step` reads from a step; `_rank_panel` takes the first three.
_VERDICT_COUNTS = ("unfair", "suspected", "unwatched", "undecided", "fair", "insufficient", "absent")
SCOPE_NAMES = {Scope.REFERENCE: "the reference", Scope.ATTRIBUTE: "all groups", Scope.OVERALL: "all records"}


class TimeStep(NamedTuple):
    """Figures of one group in a step of time, `start` to `end`; `at` is the end of the last check.

    `figures` were measured in it, `carried` count in no verdict. `check_no` is the check of `value`, which is
    furthest out; without any value `reason` says why. `lower` and `upper` are the hull of the 95 % intervals,
    None where unbounded. The limits are the widest that applied.
    """

    start: datetime
    end: datetime
    at: datetime
    figures: int
    carried: int
    verdicts: Mapping[Verdict | None, int]
    value: float | None
    lowest: float | None
    highest: float | None
    lower: float | None
    upper: float | None
    n: int
    limits: Limits
    definition: int
    reason: str | None
    check_no: int | None

    @property
    def is_single(self) -> bool:
        return self.figures + self.carried == 1

    @property
    def gravest(self) -> Verdict | None:
        """None where no limit is set, or all were carried forward."""
        return next((verdict for verdict in GRAVEST if self.verdicts.get(verdict)), None)


@frozen_by_name
class TimePanel:
    """Steps of one group, the oldest first; `earlier` ones are those compared with, at their own times."""

    attribute: str | None
    group: str | None
    scope: Scope
    name: str
    steps: tuple[TimeStep, ...]
    earlier: tuple[TimeStep, ...] = ()

    @property
    def figures(self) -> int:
        return sum(step.figures for step in self.steps)

    @property
    def absence(self) -> str:
        return next((step.reason for step in reversed(self.steps) if step.reason), "no reason is known")

    def key(self, timeline: "Timeline") -> FigureKey:
        return FigureKey(
            metric=timeline.metric,
            data=timeline.data,
            scope=self.scope,
            attribute=self.attribute,
            group=self.group,
        )


@frozen
class ShownRange:
    """Time that a page shows, and the preset that it shows if a person chooses none."""

    span: Span
    usual: RangePreset


@frozen
class EarlierTime:
    """Earlier time to compare with, drawn `shift` later. `revision`: the model revision then in use."""

    kind: EarlierKind
    span: Span
    shift: timedelta
    revision: str | None = None


@frozen_by_name
class Timeline:
    """Panels, those outside their limits most often first. `accuracy` is None if it was not measured.

    `checks` are the ended checks by step. `no_earlier` says why there is no time to compare with.
    """

    metric: str
    data: DataSet
    span: Span
    step: timedelta
    panels: tuple[TimePanel, ...]
    accuracy: TimePanel | None
    checks: tuple[CheckStep, ...]
    changes: tuple[VersionChange, ...]
    alerts: tuple[Alert, ...]
    earlier: EarlierTime | None
    no_earlier: str | None

    @property
    def is_single(self) -> bool:
        return all(sum(step.figures + step.carried for step in panel.steps) <= 1 for panel in self.panels)


def choose_range(choice: RangeChoice, *, oldest: datetime | None, now: datetime) -> ShownRange:
    is_open = choice.start is None and choice.preset in (None, RangePreset.ALL)
    oldest = oldest if is_open else None
    usual = choose_usual_preset(oldest, now)
    return ShownRange(choice.span(now, usual=usual, oldest=oldest), usual)


def read_timeline(
    session: Session,
    deployment_no: int,
    span: Span,
    figures: FigureSelection,
    *,
    words: GroupWords,
    alerts: Iterable[Alert] = (),
    compared: EarlierKind | None = None,
) -> Timeline:
    """Reads the steps of every group; of the alerts, those that opened in the span are shown.

    It takes at most 8 statements, however long the time and many the checks and groups.
    """
    step = choose_picture_step(span, MAX_STEPS)
    if span.end - span.start > MAX_SPAN_OF_HOURS:
        step = max(step, DAY)
    earlier, no_earlier = _find_earlier(session, deployment_no, span, compared)

    rows = _read_steps(session, deployment_no, span, step, figures, ACCURACY)
    group_steps = _group_steps((row for row in rows if row.attribute is not None), span, step, figures)
    accuracy_steps = _group_steps((row for row in rows if row.attribute is None), span, step, ACCURACY)
    earlier_steps = {}
    if earlier is not None:
        earlier_rows = _read_steps(session, deployment_no, earlier.span, step, figures)
        earlier_steps = _group_steps(earlier_rows, earlier.span, step, figures)
    panels = [
        TimePanel(
            attribute=key.attribute,
            group=key.group,
            scope=key.scope,
            name=_name_panel(key, words),
            steps=steps,
            earlier=earlier_steps.get(key, ()),
        )
        for key, steps in group_steps.items()
    ]
    checks = read_ended_checks(session, deployment_no, span, step)
    name = "Accuracy on labelled records"
    accuracy = next(
        (
            TimePanel(attribute=None, group=None, scope=Scope.OVERALL, name=name, steps=steps)
            for steps in accuracy_steps.values()
        ),
        None,
    )
    return Timeline(
        metric=figures.metric,
        data=figures.data,
        span=span,
        step=step,
        panels=tuple(sorted(panels, key=_rank_panel)),
        accuracy=accuracy,
        checks=tuple(join_steps(checks, step)),
        changes=tuple(list_version_changes(checks)),
        alerts=tuple(
            sorted(
                (alert for alert in alerts if span.start <= alert.opened_at < span.end), key=attrgetter("no")
            )
        ),
        earlier=earlier,
        no_earlier=no_earlier,
    )


def pool_panels(session: Session, deployment_no: int, timeline: Timeline) -> Timeline:
    """Gives each panel a step for each day, measured from the counts of all its hours.

    The limits are the present ones. Panels whose counts are not stored stay.

    Raises:
        InvalidInput: these are more hours than one roll-up adds up.
    """
    points: dict[tuple[str | None, Scope, str | None], Sequence[SeriesPoint]] = {}
    for attribute in dict.fromkeys(panel.attribute for panel in timeline.panels):
        query = SeriesQuery(
            metric=timeline.metric,
            data=timeline.data,
            attribute=attribute,
            since=timeline.span.start,
            until=timeline.span.end,
            rollup=Period.DAY,
        )
        for group in build_series(session, deployment_no, query).groups:
            points[attribute, group.scope, group.group] = group.points
    panels = []
    for panel in timeline.panels:
        pooled = points.get((panel.attribute, panel.scope, panel.group))
        steps = panel.steps if not pooled else tuple(_pool_day(point, timeline.span) for point in pooled)
        panels.append(replace(panel, steps=steps, earlier=()))
    return replace(timeline, panels=tuple(panels))


def _pool_day(point: SeriesPoint, span: Span) -> TimeStep:
    """Makes a step of a day's point, which is at the start of the day."""
    (step,) = join_points([point._replace(at=point.at + DAY / 2)], span, DAY)
    return step._replace(start=max(point.at, span.start), end=min(point.at + DAY, span.end))


def join_points(points: Iterable[SeriesPoint], span: Span, step: timedelta) -> tuple[TimeStep, ...]:
    """Joins the points of each step, oldest first; figures carried forward count apart."""
    points_by_start = defaultdict[datetime, list[SeriesPoint]](list)
    for point in points:
        points_by_start[find_step_start(point.at, step)].append(point)
    steps = []
    for start, members in sorted(points_by_start.items()):
        new = [point for point in members if not point.carried_forward]
        with_value = [point for point in members if point.value is not None]
        values = [point.value for point in members if point.value is not None]
        lowest = min(values, default=None)
        steps.append(
            TimeStep(
                start=max(start, span.start),
                end=min(start + step, span.end),
                at=members[-1].at,
                figures=len(new),
                carried=len(members) - len(new),
                verdicts=Counter(None if point.verdict is None else Verdict(point.verdict) for point in new),
                value=lowest,
                lowest=lowest,
                highest=max(values, default=None),
                lower=_find_end(min, [point.lower for point in with_value]),
                upper=_find_end(max, [point.upper for point in with_value]),
                n=max(point.n for point in members),
                limits=(members[-1].lower_limit, members[-1].upper_limit),
                definition=members[-1].definition,
                reason=members[-1].reason,
                check_no=None,
            )
        )
    return tuple(steps)


def find_step_start(at: datetime, step: timedelta) -> datetime:
    """Finds the start of the step in which a check ends; one that ends at a start is in the step before."""
    return ORIGIN + (at - timedelta.resolution - ORIGIN) // step * step


def _find_end(choose: Callable[[Iterable[float]], float], ends: Sequence[float | None]) -> float | None:
    """Chooses the outermost end; None if one is unbounded, or without intervals."""
    bounds = [end for end in ends if end is not None]
    return choose(bounds) if bounds and len(bounds) == len(ends) else None


def _find_earlier(
    session: Session, deployment_no: int, span: Span, kind: EarlierKind | None
) -> tuple[EarlierTime | None, str | None]:
    match kind:
        case None:
            return None, None
        case EarlierKind.PERIOD:
            period = find_period_before(span)
            if period is None:
                return None, "The calendar has no time of this length before this one."
            return EarlierTime(kind=kind, span=period, shift=span.end - span.start), None
        case EarlierKind.REVISION:
            previous = read_revision_before(session, deployment_no, span.end)
            if previous is None:
                return None, "No check up to the end of this time was of another model revision."
            revision, last = previous
            # At most as long as the range, and not before the revision came into use.
            period = find_period_before(Span(last, last + (span.end - span.start)))
            start = last if period is None else period.start
            revision_before = read_revision_before(session, deployment_no, last)
            if revision_before is not None:
                start = max(start, revision_before[1])
            return EarlierTime(
                kind=kind, span=Span(start, last), shift=span.end - last, revision=revision
            ), None


def _read_steps(
    session: Session, deployment_no: int, span: Span, step: timedelta, *selections: FigureSelection
) -> Sequence[FigureStep]:
    if step < DAY:
        return read_figure_steps(session, deployment_no, span, step, *selections)
    days = cut_to_days(span)
    head, tail = (
        read_figure_steps(session, deployment_no, part, DAY, *selections) if part.start < part.end else []
        for part in (Span(span.start, days.start), Span(days.end, span.end))
    )
    return [*head, *read_figure_days(session, deployment_no, days, *selections), *tail]


def _group_steps(
    rows: Iterable[FigureStep], span: Span, step: timedelta, query: FigureSelection
) -> dict[FigureKey, tuple[TimeStep, ...]]:
    rows_by_key: dict[FigureKey, dict[tuple[datetime, int], list[FigureStep]]] = {}
    for row in rows:
        start = row.start if step <= DAY else ORIGIN + (row.start - ORIGIN) // step * step
        key = FigureKey(
            metric=query.metric,
            data=query.data,
            scope=Scope(row.scope),
            attribute=row.attribute,
            group=row.group,
        )
        rows_by_key.setdefault(key, {}).setdefault((start, row.definition), []).append(row)
    return {
        key: tuple(
            _join_step(members, start, span, step, query.metric)
            for (start, _), members in sorted(steps.items(), key=lambda item: item[0])
        )
        for key, steps in sorted(
            rows_by_key.items(),
            key=lambda item: (item[0].attribute or "", item[0].scope, item[0].group or ""),
        )
    }


def _join_step(
    rows: Sequence[FigureStep], start: datetime, span: Span, step: timedelta, metric: str
) -> TimeStep:
    row = rows[0] if len(rows) == 1 else _merge_rows(rows)
    limits = (row.lower_limit, row.upper_limit)
    furthest = row.lowest
    if row.lowest is not None and row.highest is not None and row.lowest[0] != row.highest[0]:
        furthest = (
            row.highest if _is_further_out(row.highest[0], row.lowest[0], metric, limits) else row.lowest
        )
    counts = [getattr(row, name) for name in _VERDICT_COUNTS]
    verdicts = {verdict: count for verdict, count in zip(GRAVEST, counts, strict=False) if count}
    unjudged = row.figures - sum(counts)
    if unjudged > 0:
        verdicts[None] = unjudged
    value, check_no = (None, None) if furthest is None else (furthest[0], int(furthest[1]))
    lowest = None if row.lowest is None else row.lowest[0]
    highest = None if row.highest is None else row.highest[0]
    # By position, which takes half the time.
    return TimeStep(
        max(start, span.start),
        min(start + step, span.end),
        row.last_at,
        row.figures,
        row.carried,
        verdicts,
        value,
        lowest,
        highest,
        row.lower,
        row.upper,
        row.n,
        limits,
        row.definition,
        row.reason,
        check_no,
    )


def _merge_rows(rows: Sequence[FigureStep]) -> FigureStep:
    with_value = [row for row in rows if row.lowest is not None]
    sums = {
        name: sum(getattr(row, name) for row in rows) for name in ("figures", "carried", *_VERDICT_COUNTS)
    }
    return rows[0]._replace(
        **sums,
        last_at=max(row.last_at for row in rows),
        lowest=min((row.lowest for row in with_value if row.lowest is not None), default=None),
        highest=max((row.highest for row in with_value if row.highest is not None), default=None),
        lower=_find_end(min, [row.lower for row in with_value]),
        upper=_find_end(max, [row.upper for row in with_value]),
        n=max(row.n for row in rows),
        lower_limit=min((row.lower_limit for row in rows if row.lower_limit is not None), default=None),
        upper_limit=max((row.upper_limit for row in rows if row.upper_limit is not None), default=None),
        reason=next((row.reason for row in rows if row.reason is not None), None),
    )


def _is_further_out(highest: float, lowest: float, metric: str, limits: Limits) -> bool:
    """Whether `highest` is further beyond its limit than `lowest`; inside both, nearer to it."""
    lower, upper = limits
    if (upper is not None and highest > upper) != (lower is not None and lowest < lower):
        return upper is not None and highest > upper
    return rank_value(highest, CATALOGUE[metric], limits) < rank_value(lowest, CATALOGUE[metric], limits)


def _name_panel(key: FigureKey, names: GroupWords) -> str:
    if key.attribute is None or key.group is None:
        of_attribute = "" if key.attribute is None else f" of {key.attribute}"
        return f"{SCOPE_NAMES.get(key.scope, key.scope.value)}{of_attribute}"
    return names.label(key.attribute, key.group)


def _rank_panel(panel: TimePanel) -> tuple[object, ...]:
    """Makes a sort key: groups first, those most often unfair, suspected or unwatched first."""
    figure_count = max(panel.figures, 1)
    shares = [
        -sum(step.verdicts.get(verdict, 0) for step in panel.steps) / figure_count for verdict in GRAVEST[:3]
    ]
    return (panel.scope is not Scope.GROUP, *shares, panel.attribute or "", panel.name)
