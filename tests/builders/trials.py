"""Trials on simulated worlds whose truth is known: scripts print a table of them, and fail where one does not come out as it must."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias


@dataclass(frozen=True)
class Trial:
    """One line of the table: what was tried, what came out, and whether it is what must."""

    world: str
    found: str
    expected: str
    holds: bool


World: TypeAlias = Callable[[int, int], Iterator[Trial]]
"""Simulates worlds of one kind: takes how many, and the seed."""


def run_worlds(worlds: Mapping[str, World], runs: int, seed: int, *, only: str = "") -> NoReturn:
    """Prints the trials of each world whose name contains `only`, and ends the program: with 1 if one does not come out as it must."""
    trials = []
    for name, world in worlds.items():
        if only not in name:
            continue
        start = time.perf_counter()
        for trial in world(runs, seed):
            trials.append(trial)
            mark = "ok  " if trial.holds else "FAIL"
            sys.stdout.write(f"{mark} {trial.world:<62} {trial.found:<40} must be {trial.expected}\n")
            sys.stdout.flush()
        sys.stdout.write(f"     ({name}: {time.perf_counter() - start:.0f} s)\n")
    sys.stdout.write(f"{sum(trial.holds for trial in trials)} of {len(trials)} as they must be, {runs} runs of each, seed {seed}\n")
    sys.exit(0 if all(trial.holds for trial in trials) else 1)
