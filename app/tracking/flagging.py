"""Many comparisons at one look: which of them the rule on many groups flags in the present calendar month."""

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from ..clock import HOUR
from ..domain.checks import DataSet
from ..evidence.nulls import UnfairSide
from ..evidence.selection import FALSE_DISCOVERY_RATE, flag_groups, say_flags
from ..store.deployments.monitors import monitor_of
from ..store.evidence.eras import find_era, followed_deployment
from ..store.evidence.figures import figures_of
from .figures import watched_metrics
from .series import number_hour, number_month, start_of
from .states import FigureState


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedComparison:
    """One comparison at one look. `rank` counts from 1, the largest `e_value` first; `needed` flags it and all above it."""

    figure_id: str
    data: DataSet
    attribute: str
    group: str
    metric: str
    direction: UnfairSide
    limit: float
    e_value: float
    until: datetime
    is_stale: bool
    rank: int = 0
    needed: float = 0.0
    is_flagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at all comparisons of a deployment, by the evidence of one calendar month of the clock.

    `at` is the end of the last hour that is counted; it and `month` (its start) are None before the first. `month_hours` are the hours
    of the whole month.
    """

    at: datetime | None
    month: datetime | None
    month_hours: int | None
    flagged: int
    words: str
    comparisons: Sequence[LookedComparison]


def look_at_month(session: Session, deployment_no: int) -> Look | None:
    """Returns the comparisons by their e-values, the largest first, with the flags of e-BH; None without a monitor."""
    monitor = monitor_of(session, deployment_no)
    if monitor is None:
        return None
    era = find_era(session, deployment_no, followed_deployment(session, deployment_no).model_revision)
    if era is None or era.counted_until is None:
        return Look(at=None, month=None, month_hours=None, flagged=0, words=say_flags(0, 0), comparisons=[])
    month = start_of(number_hour(era.counted_until - HOUR)).replace(day=1, hour=0)
    month_hours = 24 * monthrange(month.year, month.month)[1]
    metrics = {(one.place, one.definition.metric): one for one in watched_metrics(monitor)}
    weighed = []
    for figure in figures_of(session, era.no):
        watched = metrics[figure.key.place, figure.key.metric]
        monthly = FigureState.decode(figure.state, watched).monthly if figure.state else [None for _ in watched.limits]
        for limit, evidence in zip(watched.limits, monthly, strict=True):
            # Checks come an hour after the records: in the first hour of a month balanced data may be ahead of the look.
            has_begun = evidence is not None and evidence.month is not None and evidence.month >= number_month(number_hour(month))
            weighed.append(
                LookedComparison(
                    figure_id=figure.id,
                    data=figure.key.place.data,
                    attribute=figure.key.place.attribute,
                    group=figure.key.group,
                    metric=figure.key.metric,
                    direction=watched.direction(limit),
                    limit=watched.own_value(limit.value),
                    e_value=evidence.e_value(month_hours) if evidence is not None and has_begun else 0.0,
                    until=figure.until,
                    is_stale=figure.is_stale,
                )
            )
    flagged = len(flag_groups([one.e_value for one in weighed]))
    comparisons = [
        replace(one, rank=rank, needed=len(weighed) / (FALSE_DISCOVERY_RATE * rank), is_flagged=rank <= flagged)
        for rank, one in enumerate(sorted(weighed, key=lambda one: -one.e_value), 1)
    ]
    words = say_flags(flagged, len(weighed))
    return Look(at=era.counted_until, month=month, month_hours=month_hours, flagged=flagged, words=words, comparisons=comparisons)
