from collections.abc import Sequence

import numpy as np

from app.statistics.e_values.nulls import Hours, SideHours


def count_hours(monitored: Sequence[tuple[float, float]], reference: Sequence[tuple[float, float]]) -> Hours:
    """The hours of these (favourable, records), one pair an hour on each side."""
    return Hours(*(SideHours(*np.asarray(side, np.float64).reshape(-1, 2).T) for side in (monitored, reference)))
