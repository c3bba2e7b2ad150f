"""State of a figure at each of its limits, in short."""

from datetime import datetime

from ..statistics.e_values.follow import Follower
from ..statistics.e_values.state_words import State
from .figure_state import FigureState, find_hour_start
from .queries.summaries import Alarm, LimitSummary
from .watched_figures import WatchedMetric


def summarise(watched: WatchedMetric, state: FigureState) -> list[LimitSummary]:
    """Summary of each limit, in order."""
    return [
        LimitSummary(
            direction=watched.direction(limit).value,
            state=find_state(follower).value,
            since=find_state_start(follower),
            alarms=[
                Alarm(
                    since=find_hour_start(episode.since.hour),
                    alarm_at=find_hour_start(episode.alarm + 1),
                    resolved_at=None if episode.resolved is None else find_hour_start(episode.resolved + 1),
                    fair_since=None if episode.fair_since is None else find_hour_start(episode.fair_since.hour),
                    closed_at=None if episode.closed is None else find_hour_start(episode.closed),
                )
                for episode in follower.episodes
            ],
        )
        for limit, follower in zip(watched.limits, state.followers, strict=True)
    ]


def find_state(follower: Follower) -> State:
    if follower.open_episode is not None:
        return State.UNFAIR
    return State.UNDECIDED if follower.proof.since is None else State.SHOWN_FAIR


def find_state_start(follower: Follower) -> datetime | None:
    """Most likely start of the unfair hours, or of those that showed it fair; None while undecided."""
    opened, shown = follower.open_episode, follower.proof.since
    if opened is not None:
        return find_hour_start(opened.since.hour)
    return None if shown is None else find_hour_start(shown)
