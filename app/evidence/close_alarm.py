"""Hours before which people closed alarms."""

from collections.abc import Sequence

from ..store.evidence.closures import Closure
from ..store.evidence.figures import FigureKey
from .figures import WatchedMetric
from .series import number_hour
from .states import Closed


def select_closed(closures: Sequence[Closure], watched: WatchedMetric, key: FigureKey) -> Closed:
    """Hours before which a person closed an alarm of the figure, by direction."""
    return {
        limit.direction: frozenset(
            number_hour(closure.hour) for closure in closures if closure.key == key and closure.direction is watched.direction(limit)
        )
        for limit in watched.limits
    }
