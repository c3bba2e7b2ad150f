"""Follows one figure again from its first hour, for looking at each."""

import math
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from ..base.errors import NotFound
from ..base.values import frozen_by_name
from ..deployments.monitor.queries import find_monitor
from ..domain.check import Span
from ..statistics.e_values.follow import Followed, Together, WeighedHour, follow_together
from ..statistics.e_values.nulls import UnfairSide, log_mean
from .count_hours import FollowedEra
from .figure_state import (
    Course,
    FigureState,
    find_hour_start,
    number_hour,
    number_month,
    weigh_together,
)
from .queries.eras import find_era, followed_deployment
from .queries.figure_states import (
    StoredFigure,
    ended_figures,
    get_figure,
    known_figures,
    read_closures,
    read_summaries_of,
)
from .queries.hour_counts import read_first_hours
from .settle import Budget, count_lag_hours, load_series
from .summarise import read_episode, select_closed


@frozen_by_name
class LimitEvidence:
    """Logarithms after one hour, for one limit. `log_e` is of the hour alone, None where skipped.

    `is_closed`: a person closed the alarm before this hour, so evidence begins again.
    """

    direction: UnfairSide
    log_e: float | None
    log_evidence: float
    log_fairness: float
    log_threshold: float
    confirmed_fair: bool
    is_closed: bool


@frozen_by_name
class ReplayedHour:
    """All and favourable records of both sides, and the evidence after it for each limit.

    Of a paired metric both sides have the same records; `favourable` are sums of outcomes from 0 to 1.
    """

    number: int
    hour: datetime
    monitored_favourable: float
    monitored_records: float
    reference_favourable: float
    reference_records: float
    evidence: Sequence[LimitEvidence]


def replay_figure(session: Session, deployment_no: int, figure_id: str) -> list[ReplayedHour]:
    """Oldest first.

    Raises:
        NotFound: the deployment's present era has no such figure.
    """
    followed, figure = _find_followed(session, deployment_no, figure_id)
    era = followed.era
    watched = next(metric for metric in followed.metrics if metric.key == figure.metric_key)
    budget = Budget.of(known_figures(session, era.no), ended_figures(session, era.no), followed)
    lag = count_lag_hours(watched.definition.data, followed.monitor)
    place_start = read_first_hours(session, era.no).get(watched.place, figure.first_hour)
    span = Span(start=min(place_start, figure.first_hour), end=figure.until)
    (series,) = load_series(session, era.no, watched, span, [figure.group])
    start = number_hour(figure.first_hour)
    end = number_hour(figure.until)
    course = Course(
        watched,
        FigureState.starting(watched, start),
        series,
        lambda *_: series,
        era.divisors_at,
        start,
        end,
        select_closed(read_closures(session, era.no), watched, figure.key),
    )
    ((_, weighed),) = weigh_together([course], start, end)
    summaries = read_summaries_of(session, [figure.no])[figure.no]
    lives: list[list[LimitEvidence]] = []
    months = [number_month(hour) for hour in range(start, end)]
    for limit, comparison, blocks, summary in zip(
        watched.limits, course.comparisons(), weighed, summaries, strict=True
    ):
        # Its alarms are given: others decided about them, too.
        comparison.follower.past = list(map(read_episode, summary.alarms))
        (life,) = follow_together(
            Together(math.log(budget.hours)),
            [(comparison, blocks)],
            months,
            total=lambda hour: budget.total(hour + lag),
            start=start,
        )
        lives.append(
            _replay_limit(watched.direction(limit), blocks, life, budget, hours=range(start, end), lag=lag)
        )
    hours = series.between(start, end)
    return [
        ReplayedHour(
            number=start + position,
            hour=find_hour_start(start + position),
            monitored_favourable=float(hours.monitored.favourable[position]),
            monitored_records=float(hours.monitored.records[position]),
            reference_favourable=float(hours.reference.favourable[position]),
            reference_records=float(hours.reference.records[position]),
            evidence=[life[position] for life in lives],
        )
        for position in range(end - start)
    ]


def _find_followed(session: Session, deployment_no: int, figure_id: str) -> tuple[FollowedEra, StoredFigure]:
    era_no, figure = get_figure(session, deployment_no, figure_id)
    monitor = find_monitor(session, deployment_no)
    deployment = followed_deployment(session, deployment_no)
    era = find_era(session, deployment_no, deployment.model_revision)
    if monitor is None or era is None or era.no != era_no:
        raise NotFound("comparison", figure_id)
    followed = FollowedEra(deployment, monitor, era)
    # The limits of a figure that is no longer compared are not stored.
    if not followed.compares(figure):
        raise NotFound("comparison", figure_id)
    return followed, figure


def _replay_limit(
    direction: UnfairSide,
    blocks: Sequence[WeighedHour],
    life: Followed,
    budget: Budget,
    *,
    hours: range,
    lag: int,
) -> list[LimitEvidence]:
    by_hour = {block.hour: block for block in blocks}
    replayed = []
    for position, hour in enumerate(hours):
        block = by_hour.get(hour)
        replayed.append(
            LimitEvidence(
                direction=direction,
                log_e=None if block is None or math.isnan(block.unfair[0]) else log_mean(block.unfair),
                log_evidence=float(life.log_evidence[position]),
                log_fairness=float(life.log_fairness[position]),
                log_threshold=budget.log_threshold(hour + lag),
                confirmed_fair=life.shown_fair[position],
                is_closed=block is not None and block.closed is not None,
            )
        )
    return replayed
