"""Measures pages of the worked example: words and charts in the first view, weight, keys and clicks, each with its goal."""

import argparse
from collections.abc import Iterator

from playwright.sync_api import Page

from tests.browsing import PHONE, Visit, running_browser, visiting
from tests.example_run import running_example
from tests.page_list import pages
from tests.page_tasks import TASKS, Walk

WIDE, HEIGHT = 1440, 900
WORDS = {"overview": 110, "fairness": 120, "fairness-drawer": 120, "check-as_logged": 140}
"""Most words that are seen without scrolling."""

MOST_KEYS, MOST_NODES, MOST_KILOBYTES = 10, 1_500, 150

COUNT_WORDS = r"""() => {
  const root = document.querySelector("dialog:modal") ?? document.body;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let words = 0;
  while (texts.nextNode()) {
    const holder = texts.currentNode.parentElement;
    if (!holder.checkVisibility() || holder.closest(".visually-hidden, option, .who, .top nav")) continue;
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width <= 1 || box.bottom <= 0 || box.top >= innerHeight) continue;
    words += texts.currentNode.data.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length;
  }
  return words;
}"""
"""Words with a letter; numbers, the main navigation and what is only spoken do not count."""

SEES_CHART = """() => {
  const box = document.querySelector(".timeline .time-plot > svg")?.getBoundingClientRect();
  return Boolean(box) && box.height >= 200 && box.bottom <= innerHeight;
}"""


def measure(visit: Visit, paths: dict[str, str]) -> Iterator[tuple[str, object, str, bool]]:
    page = visit.page
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    for name, most in WORDS.items():
        visit.go(paths[name])
        words = page.evaluate(COUNT_WORDS)
        yield f"words in the first view, {name}", words, f"≤ {most}", words <= most
    for width, height in ((WIDE, HEIGHT), (PHONE, 844)):
        page.set_viewport_size({"width": width, "height": height})
        visit.go(paths["fairness"])
        is_seen = page.evaluate(SEES_CHART)
        yield f"chart in the first view at {width}", "yes" if is_seen else "no", "yes", is_seen
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    keys = count_keys(visit.go(paths["fairness"]))
    yield "keys to the first group", keys, f"≤ {MOST_KEYS}", keys <= MOST_KEYS
    visit.go(paths["check-as_logged"])
    nodes = page.evaluate("document.getElementsByTagName('*').length")
    kilobytes = page.evaluate("performance.getEntriesByType('navigation')[0].decodedBodySize") / 1000
    yield "nodes of a check", nodes, f"≤ {MOST_NODES:,}", nodes <= MOST_NODES
    yield "kB of a check", round(kilobytes), f"≤ {MOST_KILOBYTES}", kilobytes <= MOST_KILOBYTES
    for task in TASKS:
        visit.go("/")
        walk = Walk(visit)
        task.walk(walk)
        yield f"clicks: {task.question}", len(walk.clicked), f"≤ {task.most_clicks}", len(walk.clicked) <= task.most_clicks


def count_keys(page: Page) -> int:
    """Keys from the top of the page by the link that skips to its content."""
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for keys in range(3, 100):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a[data-row]')"):
            return keys
    return 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=48, help="hours of history (48)")
    chosen = parser.parse_args()
    with running_browser() as browser, running_example(hours=chosen.hours) as example, visiting(browser, example.base_url) as visit:
        visit.log_in(example.key)
        for name, value, goal, is_met in measure(visit, dict(pages(example.client))):
            print(f"{name:55} {value!s:>7}  {goal:>8}  {'' if is_met else 'MISSED'}")


if __name__ == "__main__":
    main()
