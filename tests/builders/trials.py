"""Trials on simulated worlds whose truth is known: scripts print a table of them, and fail where one does not come out as it must."""

import argparse
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


def run_worlds(worlds: Mapping[str, World], description: str | None, *, runs: int, seed: int = 14) -> NoReturn:
    """Prints the trials of the worlds that the command line names, and ends the program: with 1 if one does not come out as it must."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=runs, help=f"runs of each world (default {runs:,})")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--only", default="", help=f"worlds whose name contains this: {', '.join(worlds)}")
    options = parser.parse_args()
    trials = []
    for name, world in worlds.items():
        if options.only not in name:
            continue
        start = time.perf_counter()
        for trial in world(options.runs, options.seed):
            trials.append(trial)
            mark = "ok  " if trial.holds else "FAIL"
            sys.stdout.write(f"{mark} {trial.world:<62} {trial.found:<40} must be {trial.expected}\n")
            sys.stdout.flush()
        sys.stdout.write(f"     ({name}: {time.perf_counter() - start:.0f} s)\n")
    right = sum(trial.holds for trial in trials)
    sys.stdout.write(f"{right} of {len(trials)} as they must be, {options.runs} runs of each, seed {options.seed}\n")
    sys.exit(0 if right == len(trials) else 1)
