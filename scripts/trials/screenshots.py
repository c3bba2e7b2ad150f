"""Takes pictures of every page of the worked example, wide and narrow, light and dark, and reports faults on them."""

import argparse
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import get_args

from playwright.sync_api import Browser, ViewportSize

from app.database.engine import Database
from scripts.benchmarks.staging import own_database
from tests.browsing import DESKTOP, PHONE, Scheme, Visit, running_browser, visiting
from tests.builders.fleets import YEAR, fill_fleet
from tests.builders.heartbeats import let_a_worker_answer
from tests.builders.page_states import build_states
from tests.example_run import Example, running_example
from tests.page_list import pages
from tests.service import running_service

REPOSITORY = Path(__file__).resolve().parents[2]
README_PICTURE = REPOSITORY / "docs" / "screenshot.png"
DAYS_OF_FLEETS = 2
README_PAGE = "fairness"
README_WINDOW: ViewportSize = {"width": 1140, "height": 800}
"""CSS pixels. The picture ends below the groups; the whole page would take 700 kB."""

README_MARGIN = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=72, help="hours of history (72)")
    parser.add_argument("--to", type=Path, default=REPOSITORY / "build" / "screenshots", help="the folder (build/screenshots)")
    parser.add_argument("--only", action="append", help="the name of a page; may be given several times")
    parser.add_argument("--states", action="store_true", help="deployments in many states, on screen and on paper, instead of the example")
    parser.add_argument("--readme", action="store_true", help="only the picture in the README")
    chosen = parser.parse_args()
    if chosen.readme:
        _take_for_readme(chosen.hours)
        return
    shutil.rmtree(chosen.to, ignore_errors=True)
    chosen.to.mkdir(parents=True)
    if chosen.states:
        _take_states(chosen.to)
        return
    with running_browser() as browser, running_example(hours=chosen.hours) as example:
        for width in (DESKTOP, PHONE):
            for scheme in get_args(Scheme):
                _take(browser, example, chosen.to, width, scheme, chosen.only)
    print(f"The pictures are in {chosen.to}.")


def _take_states(folder: Path) -> None:
    _take_database(folder, build_states)
    fill_small = partial(fill_fleet, deployments=15, days=DAYS_OF_FLEETS, days_of_first=YEAR)
    _take_database(folder, fill_small, {"overview-of-15": "/", "a-year": "/deployments/model-1?range=year"})
    fill_large = partial(fill_fleet, deployments=500, days=DAYS_OF_FLEETS, days_of_first=DAYS_OF_FLEETS)
    _take_database(folder, fill_large, {"overview-of-500": "/"})
    print(f"The pictures are in {folder}.")


def _take_database(folder: Path, fill: Callable[[Database], None], paths: Mapping[str, str] | None = None) -> None:
    with own_database() as (database, work):
        let_a_worker_answer(database)
        fill(database)
        with running_browser() as browser, running_service(database, work) as service:
            if paths is None:
                ids = [deployment["id"] for deployment in service.client.get("/v1/overview").json()["deployments"]]
                paths = {"overview": "/"} | {deployment_id: f"/deployments/{deployment_id}" for deployment_id in ids}
            for width in (DESKTOP, PHONE):
                for scheme in get_args(Scheme):
                    with visiting(browser, service.base_url, width=width, scheme=scheme) as visit:
                        visit.log_in(service.admin_key)
                        for state, path in paths.items():
                            visit.go(path)
                            _shoot(visit, folder / f"{state}-{width}-{scheme}.png")
                            if (width, scheme) == (DESKTOP, "light"):
                                visit.page.pdf(path=folder / f"{state}.pdf", format="A4")
            with visiting(browser, service.base_url, width=DESKTOP, scale=2) as visit:
                visit.log_in(service.admin_key)
                for state, path in paths.items():
                    visit.go(path)
                    _shoot(visit, folder / f"{state}-at-200-percent.png")


def _take_for_readme(hours: int) -> None:
    with running_browser() as browser, running_example(hours=hours) as example, visiting(browser, example.base_url) as visit:
        visit.page.set_viewport_size(README_WINDOW)
        visit.log_in(example.key)
        visit.go(pages(example.client)[README_PAGE])
        groups = visit.page.locator(".forest-section .scroll").first.bounding_box()
        if groups is None:
            raise SystemExit("The page shows no groups. Ask for more hours.")
        height = groups["y"] + groups["height"] + README_MARGIN
        visit.page.screenshot(path=README_PICTURE, clip={"x": 0, "y": 0, "width": README_WINDOW["width"], "height": height})
    print(f"The picture is {README_PICTURE}.")


def _take(browser: Browser, example: Example, folder: Path, width: int, scheme: Scheme, only: list[str] | None) -> None:
    with visiting(browser, example.base_url, width=width, scheme=scheme) as visit:
        visit.go("/login")
        _shoot(visit, folder / f"login-{width}-{scheme}.png")
        visit.log_in(example.key)
        for name, path in pages(example.client).items():
            if only is None or name in only:
                visit.go(path)
                _shoot(visit, folder / f"{name}-{width}-{scheme}.png")


def _shoot(visit: Visit, file: Path) -> None:
    visit.page.screenshot(path=file, full_page=True)
    wrong = [*visit.faults, *visit.axe_findings(), *(["wider than the window"] if visit.overflows() else [])]
    visit.faults.clear()
    print(f"{file.name}: {'; '.join(wrong) or 'fine'}")


if __name__ == "__main__":
    main()
