"""State of a figure at each of its limits, in short."""

from ..statistics.e_values.state_words import State
from .figure_state import FigureState, find_hour_start
from .queries.summaries import Alarm, LimitSummary
from .watched_figures import WatchedMetric


def summarise(watched: WatchedMetric, state: FigureState) -> list[LimitSummary]:
    """Summary of each limit, in order."""
    summaries = []
    for limit, follower in zip(watched.limits, state.followers, strict=True):
        opened = follower.open_episode
        shown = follower.proof.since
        since = shown if opened is None else opened.since.hour
        alarms = [
            Alarm(
                since=find_hour_start(episode.since.hour),
                alarm_at=find_hour_start(episode.alarm + 1),
                resolved_at=None if episode.resolved is None else find_hour_start(episode.resolved + 1),
                fair_since=None if episode.fair_since is None else find_hour_start(episode.fair_since.hour),
                closed_at=None if episode.closed is None else find_hour_start(episode.closed),
            )
            for episode in follower.episodes
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
            )
        )
    return summaries
