"""Hour at which a comparison went beyond its limit, or came back."""

import numpy as np

from ...base.values import frozen
from .betting import project
from .nulls import FloatArray, Hours, Limit, Lines, Scale, UnfairSide

ONSET_HOURS = 720
"""Hours before an alarm in which its onset is searched."""

GRIDS = {Scale.RATIO: np.geomspace(0.2, 2.0, 93), Scale.DIFFERENCE: np.linspace(-0.6, 0.6, 97)}
MAX_LIKELIHOOD_LOSS = 3.0
"""Distance from the best log-likelihood of an hour that may be the onset, too."""


@frozen
class Onset:
    """Most likely hour of a change; others from `earliest` to `latest` are nearly as likely."""

    hour: int
    earliest: int
    latest: int


def find_onset(hours: Hours, limit: Limit, *, start: int, end: int, leaves: bool) -> Onset:
    """Hour from `start` to `end` (exclusive) at which the figure most likely left the limits if `leaves`,
    else came back.
    """
    searched = hours.between(start, end)
    monitored, reference = (side.records > 0 for side in searched.sides)
    blocks = np.flatnonzero(monitored | reference)[-ONSET_HOURS:]
    # In an hour without records of both groups nothing can have changed.
    filled = blocks[monitored[blocks] & reference[blocks]]
    if not filled.size:
        return Onset(start, start, start)
    grid = GRIDS[limit.scale]
    likelihoods = _compute_log_likelihoods(searched.take(filled), Lines.of(grid, limit.scale))
    outside = grid < limit.value if limit.direction is UnfairSide.BELOW else grid > limit.value
    before, after = (
        likelihoods[:, side] for side in ((~outside, outside) if leaves else (outside, ~outside))
    )
    best_before = np.vstack([np.zeros(before.shape[1]), np.cumsum(before, axis=0)])[:-1].max(axis=1)
    scores = best_before + np.cumsum(after[::-1], axis=0)[::-1].max(axis=1)
    likely = filled[scores >= scores.max() - MAX_LIKELIHOOD_LOSS]
    return Onset(start + int(filled[scores.argmax()]), start + int(likely[0]), start + int(likely[-1]))


def _compute_log_likelihoods(hours: Hours, lines: Lines) -> FloatArray:
    sides = hours.sides
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = [(side.favourable / side.records)[:, None] for side in sides]
        projected = project(lines, *rates, *(side.records[:, None] for side in sides))
        # KL with 0 · ln 0 = 0: a rate of 0 or 1 has one term.
        distances = [
            side.records[:, None]
            * (_compute_divergence(rate, at.rate) + _compute_divergence(1 - rate, at.rest))
            for side, rate, at in zip(sides, rates, projected, strict=True)
        ]
    return -(distances[0] + distances[1])


def _compute_divergence(rate: FloatArray, at: FloatArray) -> FloatArray:
    return np.where(rate > 0, rate * np.log(np.where(rate > 0, rate / at, 1.0)), 0.0)
