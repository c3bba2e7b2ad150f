"""Compares our metrics with those of fairlearn, aequitas, aif360 and smclarify, on the same 1,000,000 rows, in one run.

Our side is the whole catalogue with intervals from 1,000 draws, including the tabulation; each library does its own part of that, in an
interpreter of its own:

python3.11 -m venv peers
peers/bin/pip install fairlearn aequitas aif360 smclarify
scripts/bench metrics --peers peers/bin/python

After a warm-up pass, whose memory beyond the rows is printed, the sides take turns. Goals: ours takes less time than fairlearn's selection
rate alone, at most a twentieth of smclarify's report of the same groups, and less memory than any. The exit status is of the goals that
could be judged.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.benchmarks.lines import Line, show_lines

SIDES = Path(__file__).resolve().parent / "metric_sides"
OURS = "evenhand, whole catalogue"
FAIRLEARN = "fairlearn, selection rate"
SMCLARIFY = "smclarify, all 17 groups"
TIMES_FASTER = 20
SEED = 0
NOT_MEASURED = (
    "Not part of it: flip test, consistency and rich subgroup. They compare rows with rows, not counts; in smclarify and aif360 their\n"
    "cost grows with up to the square of the rows, so a run on this many would measure nothing else."
)


@dataclass(frozen=True)
class Side:
    name: str
    does: str
    package: str
    program: str
    arguments: tuple[str, ...] = ()


PEERS = (
    Side(FAIRLEARN, "MetricFrame, sex × race", "fairlearn", "with_fairlearn.py"),
    Side("aequitas, crosstabs", "Group and Bias: sex, race, sex × race", "aequitas", "with_aequitas.py"),
    Side("aif360, one comparison", "ClassificationMetric, 47 methods: women with men", "aif360", "with_aif360.py"),
    Side("smclarify, one group", "post-training report: women", "smclarify", "with_smclarify.py"),
    Side(SMCLARIFY, "post-training report: sex, race, sex × race", "smclarify", "with_smclarify.py", ("--every",)),
)
OWN = Side(OURS, "every metric and interval: sex × race, sex, race", "", "ours.py")


@dataclass
class Result:
    """The warm-up figures of one side, and the seconds of its passes."""

    about: dict[str, Any]
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def memory(self) -> float:
        """Megabytes that a pass needs beyond the rows."""
        return float(self.about["peak_mb"] - self.about["baseline_mb"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="PATH_TO_PYTHON", help="an interpreter that has the libraries (see above)")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    missing = _missing(options.peers)
    sides = [(sys.executable, OWN), *((options.peers, side) for side in PEERS if side.package not in missing)]
    results = _measure(sides, options.rows, options.rounds)
    _print_table(results, missing, options.rows, options.rounds)
    sys.exit(0 if _print_goals(results) else 1)


def _missing(interpreter: str | None) -> set[str]:
    packages = sorted({side.package for side in PEERS})
    if interpreter is None:
        return set(packages)
    program = "import importlib.util, sys; print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))"
    found = subprocess.run([interpreter, "-c", program, *packages], check=True, capture_output=True, text=True)  # noqa: S603 - as asked
    return set(found.stdout.split())


def _measure(sides: list[tuple[str, Side]], rows: int, rounds: int) -> dict[str, Result]:
    """Returns the results by name: one pass of one side at a time, while the others wait for a line of input."""
    results, processes = {}, {}
    with ExitStack() as stack:
        for interpreter, side in sides:
            print(f"{side.name}: rows and warm-up …", file=sys.stderr, flush=True)
            processes[side.name] = stack.enter_context(_process(interpreter, side, rows))
            results[side.name] = Result(_answer(side.name, processes[side.name]))
        for number in range(rounds):
            print(f"round {number + 1} of {rounds} …", file=sys.stderr, flush=True)
            for name, process in processes.items():
                print("pass", file=process.stdin, flush=True)
                results[name].seconds.append(_answer(name, process)["seconds"])
    return results


def _process(interpreter: str, side: Side, rows: int) -> subprocess.Popen[str]:
    command = [interpreter, str(SIDES / side.program), *side.arguments, "--rows", str(rows), "--seed", str(SEED)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if side is OWN:
        environment["PYTHONPATH"] = str(SIDES.parents[2])
    errors = None if side is OWN else subprocess.DEVNULL
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)  # noqa: S603 - as asked


def _answer(name: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        sys.exit(f"{name}: the process ended without an answer; run its program by hand: {process.args!r}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _print_table(results: dict[str, Result], missing: set[str], rows: int, rounds: int) -> None:
    ours = results[OURS]
    print(f"{rows:,} rows, {rounds} rounds in turns, after a warm-up; one process each")
    print(f"{'':<27}{'figures':>8}{'best':>9}{'median':>9}{'ratio':>8}{'memory':>10}{'ratio':>8}{'peak':>9}  what it does")
    for side in (OWN, *PEERS):
        if side.package in missing:
            print(f"{side.name:<27}missing: {side.package} is not importable there (see --help)")
            continue
        result = results[side.name]
        slower = f"{result.median / ours.median:.1f}x"
        bigger = f"{result.memory / ours.memory:.1f}x" if ours.memory else ""
        version = f" ({result.about['version']})" if result.about["version"] else ""
        print(
            f"{side.name:<27}{result.about['figures']:>8}{min(result.seconds):>7.3f} s{result.median:>7.3f} s{slower:>8}"
            f"{result.memory:>7.0f} MB{bigger:>8}{result.about['peak_mb']:>6.0f} MB  {side.does}{version}"
        )
    print(NOT_MEASURED)


def _print_goals(results: dict[str, Result]) -> bool:
    ours = results[OURS]
    lines: list[Line] = []
    if FAIRLEARN in results:
        lines.append(Line("metrics: fairlearn's selection rate alone / all of ours, time", results[FAIRLEARN].median / ours.median, 1))
    if SMCLARIFY in results:
        faster = results[SMCLARIFY].median / ours.median
        lines.append(Line("metrics: smclarify's report of the same groups / ours, time", faster, TIMES_FASTER))
    for name, result in results.items():
        if name != OURS:
            larger = min(result.memory / ours.memory, result.about["peak_mb"] / ours.about["peak_mb"])
            lines.append(Line(f"metrics: {name} / ours, memory", larger, 1))
    return show_lines(lines)


if __name__ == "__main__":
    main()
