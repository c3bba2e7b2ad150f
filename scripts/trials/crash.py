"""Kills the service, its worker, its Postgres and all of it, again and again under load, and counts what was lost: nothing may be.

Six stories, A to F, one after the other; about 20 minutes. The exit status is 1 if anything was not as it must be.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scripts.arguments import make_parser
from tests.crashes.failing import models_fail
from tests.crashes.report import Report
from tests.crashes.sharing import due_at_once
from tests.crashes.stage import Stage, stage
from tests.crashes.stories import api_killed, everything_killed, postgres_killed, worker_killed
from tests.progress import Watch, lift_limits

_KILLED: dict[str, tuple[Callable[[Stage, int], Report], int]] = {
    "A": (api_killed, 20),
    "B": (worker_killed, 20),
    "C": (postgres_killed, 20),
    "D": (everything_killed, 6),
}


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("stories", nargs="*", metavar="STORY", default=[*_KILLED, "E", "F"], help="A to F; all by default")
    parser.add_argument("--kills", type=int, help="how often something is killed in each of A to D (default 20; 6 in D)")
    parser.add_argument("--checks", type=int, default=200, help="how many checks are due at once in E (default 200)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the moments and the load (default: the time)")
    parser.add_argument("--keep-logs", type=Path, metavar="FOLDER", help="copy the logs of service and Postgres of A to D there")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    sys.stdout.write(f"seed {options.seed}\n")
    failed = False
    lift_limits()
    for name in options.stories:
        with Watch().looking():
            report = _run_story(name, options)
        sys.stdout.write(report.text() + "\n")
        sys.stdout.flush()
        failed |= bool(report.violations)
    return int(failed)


def _run_story(name: str, options: argparse.Namespace) -> Report:
    if name == "E":
        return due_at_once(options.checks)
    if name == "F":
        return models_fail()
    story, usual = _KILLED[name]
    keep_logs = options.keep_logs / name if options.keep_logs else None
    with stage(seed=options.seed, keep_logs=keep_logs) as made:
        return story(made, options.kills or usual)


if __name__ == "__main__":
    sys.exit(main())
