"""Walks five tasks through the pages of the worked example, and prints the clicks and the seconds of each.

    scripts/tasks [--hours 24]

The clicks are those that a person needs. The seconds are a script's, which does not read: they bound from below how long a person takes.
"""

import argparse
import sys
import time

from playwright.sync_api import expect

from tests.browsing import running_browser, visiting
from tests.example_run import running_example
from tests.page_tasks import TASKS, Walk


def main() -> None:
    """Runs the example, walks each task from a fresh overview, and prints one line for each; fails if one takes more clicks than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=int, default=24, help="hours of history (24)")
    chosen = parser.parse_args()
    too_many = False
    with running_browser() as browser, running_example(hours=chosen.hours) as example, visiting(browser, example.base_url) as visit:
        visit.log_in(example.key)
        for task in TASKS:
            visit.go("/")
            expect(visit.page.locator(".fleet tbody tr").first).to_be_visible()
            walk, began = Walk(visit), time.perf_counter()
            answer = task.walk(walk)
            seconds = time.perf_counter() - began
            too_many |= len(walk.clicked) > task.most_clicks
            print(f"{task.question}: {len(walk.clicked)} clicks, {seconds:.1f} s of a script")
            print(f"  clicked: {' → '.join(walk.clicked) or 'nothing'}")
            print(f"  read: {answer[:240]}")
        faults = visit.faults
    print("\n".join(faults) or "No page reported a fault.")
    sys.exit(too_many or bool(faults))


if __name__ == "__main__":
    main()
