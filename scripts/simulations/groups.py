# ruff: noqa: PLR2004 - the numbers are those of the worlds, and of what must come out
"""Simulated worlds for groups nobody listed, and for planning."""

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import kstest

from app.statistics.e_values.expected_delays import Traffic
from app.statistics.e_values.nulls import HOURS_OF_A_YEAR, UnfairSide
from app.statistics.scan.scan_results import scan_cells
from tests.builders.brute_force import score_every_subgroup
from tests.builders.evidence_hours import BELOW, follow_months, simulate
from tests.builders.planted_tables import draw_table
from tests.builders.simulated_delays import simulate_delay
from tests.builders.trials import Trial, run_worlds

PLANTED = {0: (1, 2), 2: (0,)}
WHOLE = ((1, 2), None, (0,))


def search(_worlds: int, seed: int) -> Iterator[Trial]:
    """The search next to trying every subgroup."""
    missed, tried = 0, 0
    for number in range(60):
        cells = draw_table(1_000 * seed + number, records=600, sizes=(3, 3, 2), rates=(0.5,) if number % 2 else (0.3, 0.6))
        for penalty in (0.0, 0.5, 1.0):
            found = scan_cells(cells, seed=number, penalty=penalty, bootstraps=1).score
            missed += abs(found - score_every_subgroup(cells, penalty)) > 1e-4
            tried += 1
    yield Trial(f"best of all subgroups, {tried} small tables without an effect", f"{missed} missed", "at most 1 %", missed <= 0.01 * tried)


def silence(worlds: int, seed: int) -> Iterator[Trial]:
    """Worlds without a subgroup, half of them with strata."""
    for direction in UnfairSide:
        tables = (draw_table(10_000 * seed + one, rates=(0.4,) if one % 2 else (0.3, 0.6)) for one in range(worlds))
        p_values = np.array([scan_cells(cells, direction=direction, seed=one, restarts=10).p_value for one, cells in enumerate(tables)])
        tested = kstest(p_values, "uniform")
        yield Trial(
            f"{direction}: p values of {worlds} worlds without a subgroup",
            f"KS p = {tested.pvalue:.3f}, D = {tested.statistic:.3f}",
            "p above 0.01",
            tested.pvalue > 0.01,
        )
        share = float((p_values <= 0.05).mean())
        bound = 0.05 + 3 * math.sqrt(0.05 * 0.95 / worlds)
        yield Trial("the same: p values up to 0.05", f"{share:.3f}", f"at most {bound:.3f}", share <= bound)


def planted(_worlds: int, seed: int) -> Iterator[Trial]:
    """A planted subgroup, found by a scan of 168 hours."""
    yield from _plant(0.6, UnfairSide.BELOW, seed)
    yield from _plant(1.6, UnfairSide.ABOVE, seed)


def _plant(ratio: float, direction: UnfairSide, seed: int) -> Iterator[Trial]:
    exact, small = 0, 0
    for run in range(30):
        cells = draw_table(1_000 * seed + run, records=5_040, planted=PLANTED, ratio=ratio)
        scan = scan_cells(cells, direction=direction, seed=run)
        small += scan.p_value <= 0.05
        exact += scan.subgroup == WHOLE
    yield Trial(f"planted at {ratio}: p value at most 0.05", f"{small} of 30", "at least 29", small >= 29)
    yield Trial(f"planted at {ratio}: named exactly", f"{exact} of 30", "at least 24", exact >= 24)


def planning(_worlds: int, seed: int) -> Iterator[Trial]:
    """The planned hours next to those of the detector of the service and the library."""
    usual = (0.6, 300, 0.3, 0.5), (0.7, 300, 0.3, 0.5), (0.75, 1_000, 0.3, 0.5)
    for ratio, records, share, base in (*usual, (0.5, 60, 0.5, 0.3), (0.7, 100, 0.2, 0.5)):
        planned = simulate_delay(BELOW, Traffic(records * share, records * (1 - share), base), base * ratio, HOURS_OF_A_YEAR)
        hours = 17_520 if planned is None else planned.hours
        found = []
        for run in range(300):
            world = simulate([0.95] * 60 + [ratio] * (3 * hours), 1_000 * seed + run, records=records, share=share, base=base)
            late = [episode.alarm - 59 for episode in follow_months(world).episodes if episode.alarm >= 60]
            found.append(late[0] if late else math.inf)
        quantile = float(np.quantile(found, 0.9))
        yield Trial(
            f"ratio {ratio}, {records} records/h: hours for 90 %",
            f"planned {hours}, simulated {quantile:.1f}",
            "within 10 %, or 1 h",
            abs(hours - quantile) <= max(0.1 * quantile, 1),
        )


WORLDS = {"search": search, "silence": silence, "planted": planted, "planning": planning}

if __name__ == "__main__":
    run_worlds(WORLDS, __doc__, runs=300)
