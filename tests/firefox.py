"""Firefox as Debian packages it, for tests: driven by Marionette, the protocol that it brings along.

Playwright drives builds of its own only, and Debian has no geckodriver, which puts WebDriver in front of the same protocol.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedRWPair
from pathlib import Path
from typing import Any, cast

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browsing import Scheme
from tests.progress import wait_until

WIDTH, HEIGHT = 1280, 800

NO_LIMIT_MS = 2**31 - 1
"""Milliseconds that a script or a page may take: the most that a timer of Firefox takes."""

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""Key of an element's reference, as the WebDriver standard fixes it."""

# A message of a page has its address as source; those of the browser itself have others.
_MESSAGES = """
    const [base] = arguments;
    const own = Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError && one.sourceName.startsWith(base));
    const said = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).getEvents()
        .filter((one) => ["error", "warn"].includes(one.level) && one.filename.startsWith(base));
    const found = [...own.map((one) => one.errorMessage), ...said.map((one) => String(one.arguments[0]))];
    Services.console.reset();
    return found;
"""
_USE_SCHEME = "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])"
_OTHER_HOSTS = (
    "return performance.getEntriesByType('resource').map((one) => one.name).filter((one) => !/^(data|blob):/.test(one)"
    " && new URL(one).host !== location.host)"
)
_AXE = "const done = arguments[arguments.length - 1]; axe.run({resultTypes: ['violations']}).then((found) => done(found.violations));"


def firefox() -> str:
    """The program; skips the test where there is none, but not in CI, which has to install it."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        reason = "Firefox is not installed: `apt install firefox-esr` (Debian); in CI `.ci/run` does"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


@dataclass
class FirefoxTab:
    """The one tab of a browser, at a service."""

    stream: BufferedRWPair
    base_url: str
    downloads: Path
    """The folder into which it saves."""
    sent: int = 0

    def call(self, command: str, **parameters: Any) -> Any:  # noqa: ANN401 - as each command answers
        """Returns the answer to a command of the protocol.

        Raises:
            RuntimeError: the browser refuses it.
        """
        self.sent += 1
        message = json.dumps([0, self.sent, command, parameters]).encode()
        self.stream.write(b"%d:%b" % (len(message), message))
        self.stream.flush()
        _, _, error, result = read_message(self.stream)
        if error is not None:
            raise RuntimeError(f"{command}: {error['message']}")
        return result

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401 - any JSON
        """Returns what the body of a function returns in the page."""
        return self.call("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]

    def go(self, path: str) -> None:
        """Opens a page and waits until its charts are drawn."""
        self.call("WebDriver:Navigate", url=self.base_url + path)
        wait_until(lambda: not self.run("return document.querySelector('[aria-busy=true]') !== null"), f"{path} is drawn")

    def click(self, selector: str) -> None:
        """Clicks an element, and waits for the page that this may open."""
        self.call("WebDriver:ElementClick", id=self._find(selector))

    def type(self, selector: str, text: str) -> None:
        """Types into an element."""
        self.call("WebDriver:ElementSendKeys", id=self._find(selector), text=text)

    def fill(self, selector: str, text: str) -> None:
        """Replaces the text of a field."""
        self.call("WebDriver:ElementClear", id=self._find(selector))
        self.type(selector, text)

    def saved(self, name_pattern: str) -> bytes:
        """Returns a file that was downloaded, once all of it is there."""
        files: list[Path] = []

        def is_saved() -> bool:
            files[:] = [file for file in self.downloads.glob(name_pattern) if file.stat().st_size]
            return bool(files) and not list(self.downloads.glob("*.part"))

        wait_until(is_saved, f"{name_pattern} is downloaded")
        return files[0].read_bytes()

    def press(self, *keys: str) -> None:
        """Presses keys together, as WebDriver writes them."""
        actions = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.call("WebDriver:PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def wait_for(self, condition: str, what: str) -> None:
        """Waits until an expression is true in the page. One that fails is not true yet: a page that is loading lacks elements."""
        wait_until(lambda: self._try(f"try {{ return Boolean({condition}) }} catch (error) {{ return false }}"), what)

    def wait_for_page(self, condition: str, what: str) -> None:
        """Waits until a page of which that is true has loaded. Leaving one earlier is an error on the console: its scripts do not load."""
        self.wait_for(f"document.readyState === 'complete' && {condition}", what)

    def log_in(self, key: str) -> None:
        """Logs in with an API key."""
        self.go("/login")
        self.type("#key", key)
        self.click("form:has(#key) button")
        self.wait_for_page("document.querySelector('header.top')", "the person is logged in")

    def wrong(self) -> list[str]:
        """Returns what is wrong with the page as it is: what axe finds, messages on the console, other hosts, a page that is too wide."""
        self.run(Axe().axe_script)
        found = self.call("WebDriver:ExecuteAsyncScript", script=_AXE, args=[])["value"]
        wrong = [f"{violation['id']}: {violation['help']} at {[node['target'] for node in violation['nodes']][:5]}" for violation in found]
        wrong += [f"asked another host: {address}" for address in self.run(_OTHER_HOSTS)]
        if self.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wrong.append("is wider than its window")
        wrong += [f"console: {message}" for message in self._run_in_browser(_MESSAGES, self.base_url)]
        return wrong

    def wrong_in_both_schemes(self) -> list[str]:
        """Returns what is wrong with the page in the dark, and then in the light scheme, in which it stays."""
        schemes: tuple[Scheme, ...] = ("dark", "light")
        wrong = []
        for scheme in schemes:
            self._run_in_browser(_USE_SCHEME, schemes.index(scheme))
            self.wait_for(f"matchMedia('(prefers-color-scheme: {scheme})').matches", f"the page is {scheme}")
            wrong += [f"{scheme}: {fault}" for fault in self.wrong()]
        return wrong

    def _run_in_browser(self, script: str, *arguments: object) -> Any:  # noqa: ANN401 - any JSON
        """Returns what the body of a function returns in the browser itself, which a page may not ask."""
        self.call("Marionette:SetContext", value="chrome")
        try:
            return self.run(script, *arguments)
        finally:
            self.call("Marionette:SetContext", value="content")

    def _try(self, script: str) -> bool:
        try:
            return bool(self.run(script))
        except RuntimeError as error:
            # A page that is left takes its scripts along.
            if any(word in str(error) for word in ("unloaded", "navigat", "discarded", "destroyed", "aborted")):
                return False
            raise

    def _find(self, selector: str) -> str:
        found = self.call("WebDriver:FindElement", using="css selector", value=selector)["value"]
        return str(found[_ELEMENT])


def read_message(stream: BufferedRWPair) -> Any:  # noqa: ANN401 - any JSON
    """Returns the next message of the browser: its length, a colon, JSON."""
    length = b""
    while (byte := stream.read(1)) not in (b":", b""):
        length += byte
    return json.loads(stream.read(int(length)))


@contextlib.contextmanager
def running_firefox(base_url: str) -> Iterator[FirefoxTab]:
    """A browser with a profile of its own at that service, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="evenhand-firefox-") as name:
        profile = Path(name)
        # 0: a free port, which it writes into a file of the profile.
        downloads = profile / "downloads"
        downloads.mkdir()
        preferences = {"marionette.port": 0, "ui.prefersReducedMotion": 1, "browser.download.folderList": 2}
        preferences |= {"browser.download.dir": str(downloads), "browser.download.useDownloadDir": True}
        lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in preferences.items()]
        profile.joinpath("user.js").write_text("".join(lines))
        # Access to the browser itself is for its console, which a page cannot read.
        command = [firefox(), "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", name]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = profile / "MarionetteActivePort"
            wait_until(lambda: port.exists() and port.read_text().strip(), "Firefox listens")
            with socket.create_connection(("127.0.0.1", int(port.read_text()))) as connection, connection.makefile("rwb") as stream:
                both = cast("BufferedRWPair", stream)
                read_message(both)
                tab = FirefoxTab(both, base_url, downloads)
                tab.call("WebDriver:NewSession", capabilities={})
                # Firefox itself gives a script 30 seconds, which a busy machine can miss.
                tab.call("WebDriver:SetTimeouts", script=NO_LIMIT_MS, pageLoad=NO_LIMIT_MS)
                tab.call("WebDriver:SetWindowRect", width=WIDTH, height=HEIGHT)
                yield tab
        finally:
            process.terminate()
            process.wait()
