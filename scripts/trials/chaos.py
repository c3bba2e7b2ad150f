"""Loads all doors of two services while a seeded plan kills and cuts off what carries them, and checks what is left.

Services, workers, Postgres, the model and clients are killed and cut off; as root a disk is filled, too. With `--clock` the clocks of the
machines jump by hours and days, ahead and back (libfaketime). Nothing may be lost, nothing be stored twice, and every figure is computed
again; else the exit status is 1.
"""

import signal
import sys
import time
from pathlib import Path

from scripts.arguments import make_parser
from tests.crashes.chaos import run_chaos
from tests.progress import Watch, lift_limits


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of load and harm (default 30)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the plan and the load (default: the time)")
    parser.add_argument("--without-disk", action="store_true", help="fill no disk")
    parser.add_argument("--clock", action="store_true", help="move the clocks, too")
    parser.add_argument("--keep-logs", type=Path, metavar="FOLDER", help="copy the logs of the first service and Postgres there")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    lift_limits()
    with Watch().looking():
        report = run_chaos(
            seconds=60 * options.minutes,
            seed=options.seed,
            with_disk=not options.without_disk,
            with_clock=options.clock,
            keep_logs=options.keep_logs,
        )
    sys.stdout.write(report.text() + "\n")
    return int(bool(report.violations))


if __name__ == "__main__":
    sys.exit(main())
