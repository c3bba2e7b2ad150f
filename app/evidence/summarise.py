"""State of a figure at each of its limits, in short."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from ..domain.check import FigureKey
from ..statistics.e_values.follow import Episode
from ..statistics.e_values.onset import Onset
from ..statistics.e_values.state_words import State
from .figure_state import Closed, FigureState, find_hour_start, number_hour
from .queries.figure_states import Alarm, Closure, LimitSummary, StoredStatement
from .watched_figures import WatchedMetric


def summarise(
    watched: WatchedMetric, state: FigureState, statement: StoredStatement | UnsetType = UNSET
) -> list[LimitSummary]:
    """The first has the figure's statement."""
    summaries: list[LimitSummary] = []
    for limit, follower in zip(watched.limits, state.followers, strict=True):
        opened = follower.open_episode
        shown = follower.proof.since
        since = shown if opened is None else opened.since.hour
        alarms = [
            Alarm(
                since=find_hour_start(episode.since.hour),
                earliest=find_hour_start(episode.since.earliest),
                latest=find_hour_start(episode.since.latest),
                log_evidence=episode.log_evidence,
                alarm_at=find_hour_start(episode.alarm + 1),
                resolved_at=None if episode.resolved is None else find_hour_start(episode.resolved + 1),
                fair_since=None if episode.fair_since is None else find_hour_start(episode.fair_since.hour),
                closed_at=None if episode.closed is None else find_hour_start(episode.closed),
                found_at=None if episode.found is None else find_hour_start(episode.found),
                is_below=episode.is_open and follower.is_below,
            )
            for episode in [*follower.episodes, *follower.past]
        ]
        summaries.append(
            LimitSummary(
                direction=watched.direction(limit).value,
                state=State.UNFAIR
                if opened is not None
                else State.UNDECIDED
                if shown is None
                else State.SHOWN_FAIR,
                since=None if since is None else find_hour_start(since),
                alarms=alarms,
                statement=UNSET if summaries else statement,
            )
        )
    return summaries


def read_episode(alarm: Alarm) -> Episode:
    since, earliest, latest = map(
        number_hour, (alarm.since, alarm.earliest or alarm.since, alarm.latest or alarm.since)
    )
    back = None if alarm.fair_since is None else number_hour(alarm.fair_since)
    return Episode(
        number_hour(alarm.alarm_at) - 1,
        Onset(since, earliest, latest),
        alarm.log_evidence or 0.0,
        resolved=None if alarm.resolved_at is None else number_hour(alarm.resolved_at) - 1,
        fair_since=None if back is None else Onset(back, back, back),
        closed=None if alarm.closed_at is None else number_hour(alarm.closed_at),
        found=None if alarm.found_at is None else number_hour(alarm.found_at),
    )


def select_closed(closures: Sequence[Closure], watched: WatchedMetric, key: FigureKey) -> Closed:
    return {
        limit.direction: frozenset(
            number_hour(closure.hour)
            for closure in closures
            if closure.key == key and closure.direction is watched.direction(limit)
        )
        for limit in watched.limits
    }
