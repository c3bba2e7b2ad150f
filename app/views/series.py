"""Series as people see them: all groups of an attribute of one metric, over hours or rolled up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from app.checks.rollups import Period, RolledUp, period_start, roll_up
from app.checks.tabulation import table_data
from app.domain.checks import CheckState, DataSet, Scope
from app.domain.monitors import Limits
from app.errors import InvalidInput
from app.metrics.catalogue import CATALOGUE
from app.metrics.sides import Disadvantaged, disadvantaged
from app.store.measurements import SeriesFilter, hour_tables
from app.store.mitigation import settings_of
from app.store.monitors import monitor_of
from app.store.series import EndedRun, SeriesKey, StoredPoint, ended_runs, span_counts, stored_points

SHOWN_SCOPES = (Scope.GROUP, Scope.REFERENCE, Scope.ATTRIBUTE, Scope.OVERALL)
"""Scopes that a chart shows. The value furthest out, the pooled ones and the two furthest apart are said in words beside it."""

MOST_TABLES = 20_000
"""Hours that one roll-up adds up: more than two years of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One value, its 95 % interval, and what to say of it.

    `value` is None exactly when `reason` says why. An absent limit of the interval beside a value means unbounded. `at` is the end of
    the time it speaks of; of a roll-up, the start of the period, which has no check of its own. The limits are those that the value was
    held against: a monitor may have had others before. `definition` numbers the definitions that the metric has had on the data.
    """

    at: datetime
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    verdict: str | None
    reason: str | None
    carried_forward: bool
    check_id: str | None
    lower_limit: float | None = None
    upper_limit: float | None = None
    definition: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeries:
    """The points of one group, or of another scope that has no group; oldest first."""

    group: str | None
    scope: Scope
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A check that ended without measurements: the end of its span, how it ended, and why."""

    at: datetime
    state: CheckState
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric on one data set of one attribute (None: of everybody). The limits are those of the newest point.

    `rollup` None means one point a check.
    """

    metric: str
    data: DataSet
    attribute: str | None
    lower_limit: float | None
    upper_limit: float | None
    rollup: Period | None
    groups: tuple[GroupSeries, ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def redefined_at(self) -> datetime | None:
        """Returns the moment of the first point of the newest definition, where earlier points have another one."""
        points = [point for group in self.groups for point in group.points]
        newest = max((point.definition for point in points), default=1)
        if all(point.definition == newest for point in points):
            return None
        return min(point.at for point in points if point.definition == newest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """Records logged in an hour or a period, as the checks counted them, and earlier ones that were added to the windows."""

    at: datetime
    records: int
    additional: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesWanted:
    """What a chart is asked for. `attribute` None stands for everybody; times are half-open [since, until)."""

    metric: str
    data: DataSet
    attribute: str | None
    since: datetime | None = None
    until: datetime | None = None
    rollup: Period | None = None
    scopes: tuple[Scope, ...] = SHOWN_SCOPES

    def key(self) -> SeriesKey:
        """The same for the store."""
        return SeriesKey(
            metric=self.metric, data=self.data, attribute=self.attribute, scopes=self.scopes, since=self.since, until=self.until
        )


def series_of(session: Session, deployment_no: int, wanted: SeriesWanted) -> Series:
    """One metric with all its groups, oldest point first; two statements without a roll-up, three with one.

    Of several checks that end at one moment the one of an hour counts, of these the newest. A roll-up is computed anew from the count
    tables of whole hours, under the monitor's present limits; without a monitor, and for metrics that read records, it has no point.

    Raises:
        InvalidInput: the range leaves more hours than one roll-up adds up.
    """
    if wanted.rollup is None:
        return _hourly(session, deployment_no, wanted)
    return _rolled_up(session, deployment_no, wanted, wanted.rollup)


def disadvantaged_at(series: Series, point: SeriesPoint) -> Disadvantaged | None:
    """Returns who is at a disadvantage by a point of the series, under the limits that it was held against."""
    return disadvantaged(CATALOGUE[series.metric], point.value, (point.lower_limit, point.upper_limit), point.verdict)


def volume_of(
    session: Session, deployment_no: int, since: datetime | None, until: datetime | None, rollup: Period | None
) -> tuple[Volume, ...]:
    """How much was logged: a point for each checked hour, at its end, or for each period, at its start. One statement.

    Of an hour that was checked before its end, too, the last check counts. Checks that are longer, or begin within an hour, are left out.
    """
    counted = span_counts(session, deployment_no, since, until)
    if rollup is None:
        return tuple(Volume(at=one.span_end, records=one.logged, additional=one.additional) for one in counted)
    sums: dict[datetime, tuple[int, int]] = {}
    for one in counted:
        start = period_start(one.span_start.replace(minute=0, second=0, microsecond=0), rollup)
        records, additional = sums.get(start, (0, 0))
        sums[start] = (records + one.logged, additional + one.additional)
    return tuple(Volume(at=start, records=records, additional=additional) for start, (records, additional) in sorted(sums.items()))


def _hourly(session: Session, deployment_no: int, wanted: SeriesWanted) -> Series:
    key = wanted.key()
    runs = ended_runs(session, deployment_no, wanted.since, wanted.until)
    groups = _groups(stored_points(session, deployment_no, key), {run.no: run for run in runs})
    newest = max((point for group in groups for point in group.points), key=lambda point: point.at, default=None)
    limits = Limits() if newest is None else Limits(lower=newest.lower_limit, upper=newest.upper_limit)
    return _series(wanted, limits, groups, _gaps(runs))


def _groups(stored: Iterable[StoredPoint], runs: Mapping[int, EndedRun]) -> tuple[GroupSeries, ...]:
    found: dict[tuple[str, str | None], list[SeriesPoint]] = {}
    last: dict[tuple[str, str | None], EndedRun] = {}
    for check_no, scope, group, value, lower, upper, n, verdict, reason, carried_forward, lower_limit, upper_limit, definition in stored:
        run, whom = runs.get(check_no), (scope, group)
        if run is None:  # it ended in the moment between the two statements, and is there the next time
            continue
        points = found.setdefault(whom, [])
        if points and points[-1].at == run.span_end:
            if last[whom].is_hourly and not run.is_hourly:
                continue
            points.pop()
        last[whom] = run
        points.append(
            SeriesPoint(
                at=run.span_end,
                value=value,
                lower=lower,
                upper=upper,
                n=n,
                verdict=verdict,
                reason=reason,
                carried_forward=carried_forward,
                check_id=run.id,
                lower_limit=lower_limit,
                upper_limit=upper_limit,
                definition=definition,
            )
        )
    return tuple(GroupSeries(group=group, scope=Scope(scope), points=tuple(points)) for (scope, group), points in found.items())


def _gaps(runs: Sequence[EndedRun]) -> tuple[Gap, ...]:
    """The newest check of each moment that no check succeeded for."""
    measured = {run.span_end for run in runs if run.state == CheckState.SUCCEEDED}
    failed = {run.span_end: run for run in runs if run.span_end not in measured}
    return tuple(Gap(at=at, state=CheckState(run.state), reason=run.reason) for at, run in failed.items())


def _rolled_up(session: Session, deployment_no: int, wanted: SeriesWanted, period: Period) -> Series:
    monitor = monitor_of(session, deployment_no)
    if monitor is None:
        return _series(wanted, Limits(), (), ())
    chosen = SeriesFilter(data=table_data(wanted.data), attribute=wanted.attribute or "", since=wanted.since, until=wanted.until)
    tables = hour_tables(session, deployment_no, chosen, outcomes=monitor.outcomes, most=MOST_TABLES + 1)
    if len(tables) > MOST_TABLES:
        raise InvalidInput.of("since", f"leaves more than {MOST_TABLES:,} checked hours to add up; choose a later one")
    only = replace(monitor, metrics=(wanted.metric,))
    results = roll_up(tables, period, only, settings_of(session, deployment_no))
    shown = [one for one in results if one.measurement.data is wanted.data and one.measurement.scope in wanted.scopes]
    limits = (shown[-1].measurement.lower_limit, shown[-1].measurement.upper_limit) if shown else (None, None)
    return _series(wanted, Limits(lower=limits[0], upper=limits[1]), _rolled_groups(shown), ())


def _rolled_groups(results: Iterable[RolledUp]) -> tuple[GroupSeries, ...]:
    found: dict[tuple[Scope, str | None], list[SeriesPoint]] = {}
    for result in results:
        one = result.measurement
        point = SeriesPoint(
            at=one.at,
            value=one.value,
            lower=one.lower,
            upper=one.upper,
            n=one.n,
            verdict=one.verdict,
            reason=one.reason,
            carried_forward=False,
            check_id=None,
            lower_limit=one.lower_limit,
            upper_limit=one.upper_limit,
            definition=one.definition,
        )
        found.setdefault((one.scope, one.group), []).append(point)
    return tuple(GroupSeries(group=group, scope=scope, points=tuple(points)) for (scope, group), points in found.items())


def _series(wanted: SeriesWanted, limits: Limits, groups: tuple[GroupSeries, ...], gaps: tuple[Gap, ...]) -> Series:
    return Series(
        metric=wanted.metric,
        data=wanted.data,
        attribute=wanted.attribute,
        lower_limit=limits.lower,
        upper_limit=limits.upper,
        rollup=wanted.rollup,
        groups=groups,
        gaps=gaps,
    )
