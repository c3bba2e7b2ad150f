"""Kills the service, or stops its Postgres, again and again while callers call a model through its gateway; see `scripts/gateway-kills`."""

import argparse

from app.clock import monotonic_seconds
from tests.builders.gateway_kills import kill_under_load, stop_database_under_load
from tests.progress import Watch


def main() -> None:
    """Kills, waits until everything is stored, and prints the number of calls; an answered call that is not stored once is an error.

    Each kill is a start of the service: about 6 seconds on a free machine, and up to 50 on one with ten times more work than processors.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--database-stops", type=int, default=0, help="stop Postgres so often instead; every call has to be answered")
    options = parser.parse_args()
    began = monotonic_seconds()

    def notice(line: str) -> None:
        print(f"{monotonic_seconds() - began:6.0f} s  {line}", flush=True)

    # No limit in seconds: it ends with the stack of each thread when neither this process nor a child of it works any more.
    with Watch().looking():
        if options.database_stops:
            answered = stop_database_under_load(options.database_stops, callers=8, calls=200, notice=notice)
            print(f"{answered:,} calls got the model's answer, and each is stored once or counted as dropped")
        else:
            answered = kill_under_load(options.kills, callers=8, calls=60, notice=notice)
            print(f"{answered:,} answered calls are stored, each once")


if __name__ == "__main__":
    main()
