"""States of figures as bytes: nothing is lost."""

import numpy as np
import pytest

from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule, list_comparisons
from app.evidence.figure_state import FigureState
from app.evidence.watched_figures import DEFINITIONS, RateDefinition, WatchedMetric
from app.statistics.e_values.nulls import Limit, Scale, UnfairSide

SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(SEX,))


def draw(definition: RateDefinition) -> tuple[WatchedMetric, FigureState]:
    """A state whose interval has zeros at one end, as all have."""
    limit = Limit(definition.scale, UnfairSide.BELOW, 0.8 if definition.scale is Scale.RATIO else -0.1)
    watched = WatchedMetric(comparison=list_comparisons(MONITOR)[0], definition=definition, limits=(limit,))
    state, rng = FigureState.starting(watched, 5), np.random.default_rng(1)
    below, above = state.interval.below.ravel(), state.interval.above.ravel()
    below[below.size // 2 :], above[: above.size // 2 + 3] = rng.normal(size=below.size - below.size // 2), -0.25
    above[1] = 0.0
    return watched, state


@pytest.mark.parametrize("definition", DEFINITIONS[:3])
def test_a_state_is_read_as_it_was_written(definition: RateDefinition) -> None:
    watched, state = draw(definition)
    for figure in (state, FigureState.starting(watched, 5)):
        read = FigureState.decode(figure.encode(), watched)
        assert (read.followers, read.chapter) == (figure.followers, figure.chapter)
        assert np.array_equal(read.interval.below, figure.interval.below)
        assert np.array_equal(read.interval.above, figure.interval.above)
        assert read.encode() == figure.encode()
    assert len(state.encode()) < state.interval.below.nbytes + state.interval.above.nbytes
