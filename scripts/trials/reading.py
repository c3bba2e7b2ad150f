"""Passes random typed files through every door, and compares counts, ratios and evidence with those of their cells.

Each file goes through `evenhand metrics`, `report` and `evidence`, the library, and every way to log records in a service: import, upload,
records, events, gateway, client. Prints each figure that is another one; the exit status is 1 if there is any.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import structlog

from app.base.clock import floor_to_hour, utc_now
from app.intake.gateway import service as gateway
from scripts.arguments import make_parser
from scripts.benchmarks.staging import own_database
from tests.field.comparing import compare_doors
from tests.field.doors import SERVICE_DOORS, ServiceDoors, TypedFile, open_doors
from tests.field.drawn_files import draw_file
from tests.progress import lift_limits
from tests.service import running_service


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first file")
    options = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    lift_limits()
    started = time.monotonic()
    kinds: Counter[str] = Counter()
    differing = 0
    with _doors() as (doors, folder):
        for seed in range(options.first, options.first + options.files):
            file = draw_file(seed, floor_to_hour(utc_now()))
            kinds[f"{file.code} by {file.prediction}"] += 1
            differences = _compare(file, doors, folder)
            differing += bool(differences)
            for difference in differences:
                print(f"file {seed} ({file.code} by {file.prediction}): {difference}", flush=True)
            if (seed + 1) % 100 == 0:
                print(f"{seed + 1 - options.first:,} files, {differing:,} differ, {time.monotonic() - started:,.0f} s", flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    print(f"{options.files:,} files through {len(SERVICE_DOORS) + 5} doors: {differing:,} differ")
    return int(differing > 0)


def _compare(file: TypedFile, doors: ServiceDoors, folder: Path) -> list[str]:
    try:
        return compare_doors(file, doors, folder, list(SERVICE_DOORS))
    except AssertionError as refused:
        return [f"refused: {refused}"]


@contextmanager
def _doors() -> Iterator[tuple[ServiceDoors, Path]]:
    with ExitStack() as stack:
        database, folder = stack.enter_context(own_database())
        stack.enter_context(patch.multiple(gateway, HOUSEKEEPING_SECONDS=0.05, SWEEP_SECONDS=0.05))
        service = stack.enter_context(running_service(database, folder / "service"))
        yield stack.enter_context(open_doors(service, folder)), folder


if __name__ == "__main__":
    raise SystemExit(main())
