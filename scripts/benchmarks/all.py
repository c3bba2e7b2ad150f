"""Runs every benchmark briefly, each for `--minutes` at most, and prints one table: figures with their limits, ok or falls short.

docs/benchmarks.md says what the figures are. The exit status is 0 only if every benchmark ended and every figure keeps its limit.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.arguments import make_parser
from scripts.benchmarks.lines import MARK

ROOT = Path(__file__).resolve().parents[2]
END_SECONDS = 20.0

BRIEF: dict[str, tuple[str, ...]] = {
    "checks": ("--records", "10000", "1000000", "--running", "500000", "--seconds", "8", "--rounds", "5"),
    "ingest": ("--rounds", "2", "--scale", "0.4"),
    "pages": ("--deployments", "50", "--days", "7", "--rounds", "10"),
    "evidence": ("--rounds", "40", "--hours", "2000"),
    "rescoring": (),
    "gateway": ("--rounds", "2", "--requests", "300"),
    "mitigation": ("--rounds", "2", "--requests", "30"),
    "client": ("--records", "10000", "--rounds", "2"),
    "batch": ("--millions", "2", "8"),
}
"""The arguments with which each benchmark takes about a minute on two cores."""


@dataclass
class Outcome:
    lines: list[str]
    problem: str = ""
    seconds: float = 0.0


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="names, comma-separated")
    parser.add_argument("--minutes", type=float, default=3.0, help="max minutes of one benchmark")
    options = parser.parse_args()
    unknown = set(filter(None, options.only.split(","))) - set(BRIEF)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BRIEF)}")
    names = [name for name in BRIEF if not options.only or name in options.only.split(",")]
    outcomes: dict[str, Outcome] = {}
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        outcomes[name] = _run(name, BRIEF[name], options.minutes * 60)
    sys.exit(0 if _show(outcomes) else 1)


def _run(name: str, arguments: tuple[str, ...], seconds: float) -> Outcome:
    command = [sys.executable, "-P", "-m", f"scripts.benchmarks.{name}", *arguments]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd=ROOT)
    problem = ""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        problem = f"was ended after {seconds / 60:g} minutes"
        output = _end(process)
    lines = [line.removeprefix(MARK) for line in output.splitlines() if line.startswith(MARK)]
    if not lines and not problem:
        problem = f"gave no figures (exit status {process.returncode}): {output.strip()[-500:]}"
    return Outcome(lines, problem, time.monotonic() - began)


def _end(process: "subprocess.Popen[str]") -> str:
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=END_SECONDS)[0]
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def _show(outcomes: dict[str, Outcome]) -> bool:
    print(f"{'figure (a ratio unless it says otherwise)':64}{'measured':>10}  limit")
    lines = [line for outcome in outcomes.values() for line in outcome.lines]
    problems = [f"{name}: not measured, it {outcome.problem}" for name, outcome in outcomes.items() if outcome.problem]
    print(*lines, *problems, sep="\n")
    kept = sum(line.endswith("ok") for line in lines)
    spent = sum(outcome.seconds for outcome in outcomes.values())
    missing = f"{len(problems)} of {len(outcomes)} benchmarks were not measured to their end"
    print(f"{kept} of {len(lines)} figures keep their limits; {missing}; {spent / 60:.1f} minutes")
    return kept == len(lines) and not problems


if __name__ == "__main__":
    main()
