"""Kills the service again and again while callers call a model through its gateway; see `scripts/gateway-kills`."""

import argparse

from tests.builders.gateway_kills import kill_under_load


def main() -> None:
    """Kills, waits until everything is stored, and prints the number of calls; an answered call that is not stored once is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    options = parser.parse_args()
    answered = kill_under_load(options.kills, callers=8, calls=60)
    print(f"{answered:,} answered calls are stored, each once")


if __name__ == "__main__":
    main()
