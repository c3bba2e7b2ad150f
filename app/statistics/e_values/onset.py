"""Hour at which a comparison went beyond its limit, or came back."""

import numpy as np

from ...base.values import frozen
from ..group_labels import FloatArray
from .betting import project
from .nulls import Hours, Limit, Lines, Scale, UnfairSide

ONSET_HOURS = 720
"""Hours with records, up to an alarm, among which its onset is searched."""

MAX_LIKELIHOOD_LOSS = 3.0
"""Distance from the best log-likelihood of an hour that may be the onset, too."""

ONSET_GRIDS = {Scale.RATIO: np.geomspace(0.2, 2.0, 93), Scale.DIFFERENCE: np.linspace(-0.6, 0.6, 97)}
"""Values of the figure that may hold before or after a change."""


@frozen
class Onset:
    """Most likely hour of a change; others from `earliest` to `latest` are nearly as likely."""

    hour: int
    earliest: int
    latest: int


def find_onset(hours: Hours, limit: Limit, *, start: int, end: int, leaves: bool) -> Onset:
    """Finds the hour from `start` to `end` (exclusive) at which the figure most likely left the limits if
    `leaves`, else came back; `start` where no hour has records of both groups.
    """
    searched = hours.between(start, end)
    has_monitored, has_reference = (side.records > 0 for side in searched.sides)
    hours_with_records = np.flatnonzero(has_monitored | has_reference)[-ONSET_HOURS:]
    # In an hour without records of both groups nothing can have changed.
    hours_of_both = hours_with_records[(has_monitored & has_reference)[hours_with_records]]
    if not hours_of_both.size:
        return Onset(start, start, start)
    grid = ONSET_GRIDS[limit.scale]
    likelihoods = _compute_log_likelihoods(searched.take(hours_of_both), Lines.of(grid, limit.scale))
    is_outside = grid < limit.value if limit.direction is UnfairSide.BELOW else grid > limit.value
    before, after = (
        likelihoods[:, is_possible]
        for is_possible in ((~is_outside, is_outside) if leaves else (is_outside, ~is_outside))
    )
    # Best value before each hour, from the first one, plus the best value from it on.
    best_before = np.vstack([np.zeros(before.shape[1]), np.cumsum(before, axis=0)])[:-1].max(axis=1)
    scores = best_before + np.cumsum(after[::-1], axis=0)[::-1].max(axis=1)
    likely = hours_of_both[scores >= scores.max() - MAX_LIKELIHOOD_LOSS]
    return Onset(start + int(hours_of_both[scores.argmax()]), start + int(likely[0]), start + int(likely[-1]))


def _compute_log_likelihoods(hours: Hours, lines: Lines) -> FloatArray:
    """Log-likelihood [H, G] of each hour on each line, compared with that of the hour's own rates."""
    sides = hours.sides
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = [(side.favourable / side.records)[:, None] for side in sides]
        projected = project(lines, *rates, *(side.records[:, None] for side in sides))
        distances = [
            side.records[:, None]
            * (_compute_divergence_term(rate, at.rate) + _compute_divergence_term(1 - rate, at.rest))
            for side, rate, at in zip(sides, rates, projected, strict=True)
        ]
    return -(distances[0] + distances[1])


def _compute_divergence_term(rate: FloatArray, null_rate: FloatArray) -> FloatArray:
    """Term rate · ln(rate / null rate) of a Kullback-Leibler divergence; 0 for a rate of 0."""
    return np.where(rate > 0, rate * np.log(np.where(rate > 0, rate / null_rate, 1.0)), 0.0)
