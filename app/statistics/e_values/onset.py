"""Hour at which a comparison went beyond its limit, or came back."""

import numpy as np

from ...base.values import frozen
from .betting import project, repeat_hours
from .nulls import FloatArray, Hours, Limit, Lines, Scale, UnfairSide

ONSET_HOURS = 720

GRIDS = {Scale.RATIO: np.geomspace(0.2, 2.0, 93), Scale.DIFFERENCE: np.linspace(-0.6, 0.6, 97)}
TOLERANCE = 3.0
"""Distance from the best log-likelihood of hours in the range."""


@frozen
class Onset:
    hour: int
    earliest: int
    latest: int


def find_onset(hours: Hours, limit: Limit, *, start: int, end: int, leaves: bool) -> Onset:
    """`end` is exclusive; `leaves` the limits, else comes back."""
    within = hours.between(start, end)
    monitored, reference = (side.records > 0 for side in within.sides)
    blocks = np.flatnonzero(monitored | reference)[-ONSET_HOURS:]
    # In an hour without records of both nothing can have changed.
    both = blocks[monitored[blocks] & reference[blocks]]
    if not both.size:
        return Onset(start, start, start)
    grid = GRIDS[limit.scale]
    likelihoods = _log_likelihoods(repeat_hours(within, both, 1), Lines.of(grid, limit.scale))
    outside = grid < limit.value if limit.direction is UnfairSide.BELOW else grid > limit.value
    before, after = (
        likelihoods[:, side] for side in ((~outside, outside) if leaves else (outside, ~outside))
    )
    up_to = np.vstack([np.zeros(before.shape[1]), np.cumsum(before, axis=0)])[:-1].max(axis=1)
    scores = up_to + np.cumsum(after[::-1], axis=0)[::-1].max(axis=1)
    near = both[scores >= scores.max() - TOLERANCE]
    return Onset(start + int(both[scores.argmax()]), start + int(near[0]), start + int(near[-1]))


def _log_likelihoods(hours: Hours, lines: Lines) -> FloatArray:
    sides = hours.sides
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = [(side.favourable / side.records)[:, None] for side in sides]
        projected = project(lines, *rates, *(side.records[:, None] for side in sides))
        # KL with 0 · ln 0 = 0: a rate of 0 or 1 has one term.
        distances = [
            side.records[:, None] * (_relative(rate, at.rate) + _relative(1 - rate, at.rest))
            for side, rate, at in zip(sides, rates, projected, strict=True)
        ]
    return -(distances[0] + distances[1])


def _relative(rate: FloatArray, at: FloatArray) -> FloatArray:
    return np.where(rate > 0, rate * np.log(np.where(rate > 0, rate / at, 1.0)), 0.0)
