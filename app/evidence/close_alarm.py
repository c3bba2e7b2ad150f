"""Hours before which people closed alarms."""

from collections.abc import Sequence

from ..domain.check import FigureKey
from .figure_state import Closed, number_hour
from .queries.figure_states import Closure
from .watched_figures import WatchedMetric


def select_closed(closures: Sequence[Closure], watched: WatchedMetric, key: FigureKey) -> Closed:
    """Hours before which a person closed an alarm of the figure, by direction."""
    return {
        limit.direction: frozenset(
            number_hour(closure.hour)
            for closure in closures
            if closure.key == key and closure.direction is watched.direction(limit)
        )
        for limit in watched.limits
    }
