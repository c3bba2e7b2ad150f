from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from app.database.engine import Database
from tests.browsing import Visit, running_browser, visiting_as
from tests.builders.mail_servers import Inbox, mail_server
from tests.builders.open_alerts import service_with_open_alerts
from tests.example_run import Example, running_example
from tests.firefox import FirefoxTab, firefox, running_firefox
from tests.progress import wait_until
from tests.service import RunningService

HOURS = 8
MAIL = {"EVENHAND_SMTP_SENDER": "evenhand@example.com"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; without it the test is skipped, in CI it fails.

    It ends with each file: as long as it runs, so does an event loop in this thread, beside which no other test could run one.
    """
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def inbox() -> Inbox:
    """What the worked example sent by mail."""
    return Inbox()


@pytest.fixture(scope="session")
def shared_example(inbox: Inbox) -> Iterator[Example]:
    """The worked example, as `scripts/run` shows it, with enough hours of history for an alert. All pages' tests share it.

    A test that changes a monitor or an alert has a deployment of its own: a new version of the monitor ends the alerts about evidence.
    """
    with (
        mail_server(inbox) as address,
        running_example(hours=HOURS, settings=MAIL | {"EVENHAND_SMTP_URL": f"smtp://{address}"}) as example,
    ):
        # Evidence is counted some time after the checks that the example itself waits for.
        wait_until(lambda: example.client.get("/v1/alerts?state=open").json()["alerts"], "an alert is open")
        yield example


@pytest.fixture
def risk_mails(shared_example: Example, inbox: Inbox) -> Iterator[Inbox]:
    """The inbox, while the example has a channel that sends mails to it."""
    inbox.envelopes.clear()
    channel = shared_example.client.put("/v1/alert-channels/risk", json={"name": "Risk", "kind": "email", "to": ["risk@example.com"]})
    channel.raise_for_status()
    yield inbox
    shared_example.client.delete("/v1/alert-channels/risk").raise_for_status()


@pytest.fixture
def example(browser: Browser, request: pytest.FixtureRequest) -> Example:  # noqa: ARG001 - first, so that no example is run for nothing
    """The worked example where there is a browser to look at it."""
    shared: Example = request.getfixturevalue("shared_example")
    return shared


@pytest.fixture(scope="module")
def tab(request: pytest.FixtureRequest) -> Iterator[FirefoxTab]:
    """A person's tab in Firefox at the example, logged in."""
    firefox()  # first, so that no example is run for nothing
    example: Example = request.getfixturevalue("shared_example")
    with running_firefox(example.base_url) as tab:
        tab.log_in(example.key)
        yield tab


@pytest.fixture
def visit(browser: Browser, example: Example) -> Iterator[Visit]:
    """A person's tab at the example, logged in; at the end nothing may have gone wrong in it."""
    with visiting_as(browser, example.base_url, example.key) as visit:
        yield visit


@pytest.fixture
def service(browser: Browser, database: Database, tmp_path: Path) -> Iterator[RunningService]:  # noqa: ARG001 - the browser first
    """The service with open alerts. Tests of other states have a service of their own."""
    with service_with_open_alerts(database, tmp_path) as service:
        yield service
