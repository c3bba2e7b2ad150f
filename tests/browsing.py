"""A real browser for tests and screenshots: Debian's Chromium, headless, driven by Playwright.

It notes what no page may do: ask another host for anything, write an error to the console, fail to load a file.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, expect, sync_playwright

from tests.examples import QUICK

DESKTOP, PHONE = 1280, 390
"""Widths in CSS pixels at which every page is looked at."""

HEIGHTS = {DESKTOP: 800, PHONE: 844}

FLAGS = (
    "--no-sandbox",  # in CI everything runs as root, where Chromium's own sandbox cannot start
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

FOR_EVER = 2**31 - 1
"""Milliseconds; `expect()` takes 0 for its usual 5 seconds."""

Scheme = Literal["light", "dark"]

WINDOWS = (
    (DESKTOP, "light"),
    (PHONE, "dark"),
    pytest.param(DESKTOP, "dark", marks=pytest.mark.nightly),
    pytest.param(PHONE, "light", marks=pytest.mark.nightly),
)
"""Widths and schemes of a test of pages."""

_COLOURS_SETTLE = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const passing = document.getAnimations().filter((change) => change.effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(passing.map((change) => change.finished));
}"""
"""A page hears of other colours before it draws its next frame, and may go from one to the other little by little."""

_MARK_SAME_COLOURS = r"""() => {
  const paths = new Map(), seen = new Set(), PROPERTIES = ['color', 'backgroundColor', 'backgroundImage', 'fontSize', 'fontWeight',
    'opacity', 'filter', 'mixBlendMode', 'textShadow', 'textTransform', 'WebkitTextStrokeWidth'];
  const look = (element, parentPath) => {
    if (element.tagName === 'svg') return;
    const style = getComputedStyle(element);
    if (!['static', 'relative'].includes(style.position)) return;
    const own = [parentPath, element.tagName, element.className, ...PROPERTIES.map((property) => style[property])].join('|');
    if (!paths.has(own)) paths.set(own, paths.size);
    const path = paths.get(own);
    const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join('');
    if (/[\p{L}\p{N}]{2}/u.test(text) && element.checkVisibility({opacityProperty: true, visibilityProperty: true})) {
      element.toggleAttribute('data-same-colours', seen.has(path));
      seen.add(path);
    }
    for (const child of element.children) if (!child.matches('label, button, input, select, textarea, [aria-disabled]')) look(child, path);
  };
  for (const element of document.querySelectorAll('[data-same-colours]')) element.removeAttribute('data-same-colours');
  look(document.body, 0);
}"""
"""Marks a text that has the colours of an earlier one, and so have all elements around it: the cells of a long table.

Texts over pictures, of controls and out of the flow are not marked, since what is under them or their state may be another.
Nightly tests look at every text.
"""

_FIND_VIOLATIONS = """async () => {
  axe.configure({rules: [{id: 'color-contrast', selector: ':not([data-same-colours])'}]});
  // Only what is found, not all that was looked at: that takes longer to pass on than to look.
  return (await axe.run({resultTypes: ['violations']})).violations;
}"""


def chromium() -> str:
    """The program; skips the test where there is none, but not in CI, which has to install it.

    The one without windows takes two thirds of the processor time of the others, which draw menus and tabs of their own that nobody sees.
    """
    program = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
    if program is None:
        reason = "Chromium is not installed: `scripts/browser` installs it on Debian and Ubuntu; in CI `.ci/run` does"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """One person's tab, and what went wrong in it."""

    page: Page
    base_url: str
    faults: list[str] = field(default_factory=list)
    expected_statuses: set[int] = field(default_factory=set)

    def go(self, path: str) -> Page:
        """Opens a page and waits until it has loaded, parts that scripts fetch included."""
        self.page.goto(self.base_url + path)
        self._wait_for_parts()
        return self.page

    def settle(self) -> None:
        """Waits until nothing loads and no part is being filled."""
        self.page.wait_for_load_state("networkidle")
        self._wait_for_parts()

    def use_scheme(self, scheme: Scheme) -> None:
        """Changes the colours that the person prefers, and waits until the page has them."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.evaluate(_COLOURS_SETTLE)
        self._wait_for_parts()

    def _wait_for_parts(self) -> None:
        self.page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")

    def log_in(self, key: str) -> None:
        """Logs in with an API key by the request of the form, without drawing the form and the overview. Go to a page after it."""
        request = self.page.context.request
        same_origin = {"Sec-Fetch-Site": "same-origin"}
        answer = request.post(f"{self.base_url}/login", form={"key": key}, headers=same_origin, max_redirects=0)
        assert answer.status == HTTPStatus.SEE_OTHER, answer.text()

    def axe_findings(self) -> list[str]:
        """What axe-core finds on the page as it is now by any rule, with the places."""
        self.page.evaluate(Axe().axe_script)
        if os.environ.get(QUICK):  # four fifths of the time of axe-core were the colours of every cell
            self.page.evaluate(_MARK_SAME_COLOURS)
        violations = self.page.evaluate(_FIND_VIOLATIONS)
        return [
            f"{violation['id']}: {violation['help']} at {[node['target'] for node in violation['nodes']][:5]}" for violation in violations
        ]

    def overflows(self) -> bool:
        """Whether the page as a whole is wider than its window."""
        return bool(self.page.evaluate("() => document.documentElement.scrollWidth > document.documentElement.clientWidth"))

    def watch(self) -> None:
        """Begins to note faults."""
        self.page.on("request", self._requested)
        self.page.on("response", self._answered)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and parts.netloc != urlsplit(self.base_url).netloc:
            self.faults.append(f"asked another host: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected_statuses:
            self.faults.append(f"{response.status} from {response.url}")

    def _said(self, message: ConsoleMessage) -> None:
        expected = any(f"status of {status}" in message.text for status in self.expected_statuses)
        if message.type in {"error", "warning"} and not expected:
            self.faults.append(f"console {message.type}: {message.text}")


@contextmanager
def visiting(browser: Browser, base_url: str, *, width: int = DESKTOP, scheme: Scheme = "light", scale: int = 1) -> Iterator[Visit]:
    """A fresh tab at that service: no cookies, everything watched. It waits without limit, as every test does.

    `scale` is how many times larger everything is: at 2, a window of 1280 px shows 640 CSS pixels.
    """
    context: BrowserContext = browser.new_context(
        viewport={"width": width // scale, "height": HEIGHTS[width] // scale},
        device_scale_factor=scale,
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    context.set_default_timeout(0)
    expect.set_options(timeout=FOR_EVER)
    try:
        visit = Visit(context.new_page(), base_url)
        visit.watch()
        yield visit
    finally:
        context.close()


@contextmanager
def visiting_as(browser: Browser, base_url: str, key: str) -> Iterator[Visit]:
    """A person's tab, logged in with that key; at the end nothing may have gone wrong in it."""
    with visiting(browser, base_url) as visit:
        visit.log_in(key)
        yield visit
        assert visit.faults == []
