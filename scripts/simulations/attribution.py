# ruff: noqa: PLR2004 - the numbers are those of the worlds, and of what must come out
"""Simulated worlds for what carries a gap: standard errors, intervals, and how far bins leak."""

from collections.abc import Iterator

import numpy as np

from app.statistics.attribution.cell_parts import bin_numbers, divide_difference
from app.statistics.attribution.hybrid_values import choose_pair_count, count_hybrids
from tests.builders.attribution_worlds import SHARES, approve, carry, count_covered, draw_one_number, draw_window
from tests.builders.trials import Trial, run_worlds


def costs(_windows: int, _seed: int) -> Iterator[Trial]:
    """Rows that the model is asked about."""
    for players, rows in ((4, 7_000), (6, 31_000), (7, 48_000)):
        asked_rows = choose_pair_count(players) * count_hybrids(players)
        yield Trial(f"{players} players, {choose_pair_count(players):,} pairs", f"{asked_rows:,} rows", f"{rows:,}", asked_rows == rows)


def coverage(windows: int, seed: int) -> Iterator[Trial]:
    """Share of intervals that contain the true share of a feature."""
    for monitored in (25, 50, 100, 600):
        found = count_covered(monitored, windows, seed, is_by_pair=False)
        yield Trial(f"intervals, {monitored} monitored records in 500 pairs", f"{found:.1%}", "92 to 98 %", 0.92 <= found <= 0.98)
    for monitored in (50, 100):
        found = count_covered(monitored, windows, seed, is_by_pair=True)
        yield Trial(f"the same by pair, {monitored} monitored records", f"{found:.1%}", "60 to 80 %", 0.60 <= found <= 0.80)


def standard_errors(windows: int, seed: int) -> Iterator[Trial]:
    """4 players with all hybrids, and 7 by orders of which 3 carry nothing."""
    rng = np.random.default_rng(seed)
    found = np.array([carry(draw_window(1000, 1000, rng), 500, rng).shares for _ in range(windows // 4)])
    errors = found.std(axis=0)
    # In standard errors of the mean: a fixed bound would depend on the number of windows.
    bias = (np.abs(found.mean(axis=0) - SHARES) / (errors / np.sqrt(len(found)))).max()
    yield Trial("standard errors, 4 players, 500 pairs", f"{errors.min():.3f} to {errors.max():.3f}", "at most .020", errors.max() <= 0.02)
    yield Trial("bias of the shares, in standard errors", f"{bias:.1f}", "at most 4", bias <= 4)
    shifts = np.array([-0.5, -0.3, 0, 0.4, 0.5, 0.5, 0.5])
    shares = [
        carry(draw_window(4000, 4000, rng, shifts), 4000, rng, model=lambda features: approve(features[..., :4])).shares
        for _ in range(windows // 16)
    ]
    errors = np.std(shares, axis=0)[:4]
    yield Trial(
        "standard errors, 7 players, 4,000 pairs", f"{errors.min():.3f} to {errors.max():.3f}", "at most .010", errors.max() <= 0.01
    )


def leaks(_windows: int, seed: int) -> Iterator[Trial]:
    """How much of a gap that who applies carries alone is counted as treatment."""
    world = draw_one_number(400_000, seed)
    halves = (world.numbers > np.median(world.numbers)).astype(np.int64)
    for bins, cells, most in ((2, halves, 0.045), (10, bin_numbers(world.numbers), 0.004), (20, bin_numbers(world.numbers, 20), 0.003)):
        found = divide_difference(*world.count(cells))
        leak, gap = abs(float(found.of_rates)), abs(float(found.difference))
        yield Trial(f"{bins} bins, gap {gap:.3f}", f"{leak:.3f} leak", f"at most {most}", leak <= most)


WORLDS = {"costs": costs, "coverage": coverage, "standard errors": standard_errors, "leaks": leaks}

if __name__ == "__main__":
    run_worlds(WORLDS, __doc__, runs=400)
