"""Simulated worlds of which it is known what carries the gap."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.statistics.attribution.cell_parts import CellCounts
from app.statistics.attribution.hybrid_values import (
    CarriedGap,
    HybridOutcomes,
    HybridPlan,
    RecordPairs,
    carry_gap,
    draw_pairs,
    plan_hybrids,
)
from app.statistics.group_labels import FloatArray, IntArray

Model = Callable[[FloatArray], FloatArray]

SHIFTS = np.array([-0.5, -0.3, 0.0, 0.4])
"""Means of the monitored group's features; those of the reference group are 0, all variances 1."""

WEIGHTS = np.array([1.0, 0.7, 0.8, 0.3])

SHARES = np.array([-0.1288, -0.0553, 0.0, 0.0313])
"""Shapley values of `approve` over all pairs of SHIFTS, from 300,000 pairs; the third is 0 by symmetry."""

STEEPNESS, BACKWARDNESS = 2.0, 0.5
"""World of one number: normal, with the monitored group's mean that much lower; who is approved depends on the number alone."""


def approve(features: FloatArray) -> FloatArray:
    """Approves where the weighted features are above 0 [..., features]."""
    return np.asarray(features @ WEIGHTS > 0, float)


@dataclass(frozen=True)
class Window:
    """The features of a window's records [records, features], by group."""

    monitored: FloatArray
    reference: FloatArray


def draw_window(monitored: int, reference: int, rng: np.random.Generator, shifts: FloatArray = SHIFTS) -> Window:
    size = len(shifts)
    return Window(rng.normal(size=(monitored, size)) + shifts, rng.normal(size=(reference, size)))


def mix(pairs: RecordPairs, window: Window, masks: IntArray) -> FloatArray:
    """Returns the features of the hybrids [pairs, hybrids, features]; each feature is a player."""
    is_monitored = (masks[..., None] >> np.arange(window.monitored.shape[1])) & 1 == 1
    return np.where(is_monitored, window.monitored[pairs.monitored][:, None, :], window.reference[pairs.reference][:, None, :])


def ask(pairs: RecordPairs, window: Window, plan: HybridPlan, model: Model) -> HybridOutcomes:
    return HybridOutcomes(
        model(window.reference[pairs.reference]), model(window.monitored[pairs.monitored]), model(mix(pairs, window, plan.masks))
    )


def carry(window: Window, most: int, rng: np.random.Generator, *, model: Model = approve, is_by_pair: bool = False) -> CarriedGap:
    """Returns what carries the gap of at most that many pairs; `is_by_pair` resamples pairs even where records are reused."""
    pairs = draw_pairs(len(window.monitored), len(window.reference), most, rng)
    plan = plan_hybrids(len(pairs), window.monitored.shape[1], rng)
    answered = ask(pairs, window, plan, model)
    resampled = replace(pairs, units=np.arange(len(pairs))) if is_by_pair else pairs
    gap = float(model(window.monitored).mean() - model(window.reference).mean())
    carried = carry_gap(resampled, plan, answered, gap_of_window=gap, rng=rng, draws=500)
    assert carried is not None
    return carried


def count_covered(monitored: int, windows: int, seed: int, *, is_by_pair: bool) -> float:
    """Returns the share of intervals that contain the true share, over windows of that many monitored and 2,000 reference records."""
    rng = np.random.default_rng(seed)
    covered = []
    for _ in range(windows):
        ends = carry(draw_window(monitored, 2000, rng), 500, rng, is_by_pair=is_by_pair).ends
        covered.append((ends.low <= SHARES) & (ends.high >= SHARES))
    return float(np.mean(covered))


@dataclass(frozen=True)
class OneNumber:
    """One number for each record of the two groups, monitored records first, and the outcomes."""

    numbers: FloatArray
    outcomes: npt.NDArray[np.bool_]

    def count(self, cells: IntArray) -> list[CellCounts]:
        """Returns the counts of the monitored and of the reference group."""
        size, half = int(cells.max()) + 1, len(cells) // 2
        return [
            CellCounts(*(np.bincount(cells[part], weights, size).astype(float) for weights in (self.outcomes[part], None)))
            for part in (slice(half), slice(half, None))
        ]


def draw_one_number(records: int, seed: int) -> OneNumber:
    """Returns a world in which who applies carries all of the gap."""
    rng = np.random.default_rng(seed)
    numbers = np.concatenate([rng.normal(size=records) - BACKWARDNESS, rng.normal(size=records)])
    return OneNumber(numbers, rng.random(2 * records) < 1 / (1 + np.exp(-STEEPNESS * numbers)))
