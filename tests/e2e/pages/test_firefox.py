"""The pages of the worked example in Firefox: every page, and the flows that need scripts."""

from collections.abc import Iterator

import pytest

from tests.example_run import Example
from tests.firefox import FirefoxTab, firefox, running_firefox
from tests.page_list import DEPLOYMENT, pages

ESCAPE, CONTROL, ENTER = "\ue00c", "\ue009", "\ue007"
"""Keys as WebDriver writes them."""


@pytest.fixture(scope="module")
def tab(request: pytest.FixtureRequest) -> Iterator[FirefoxTab]:
    """A person's tab in Firefox at the example, logged in."""
    firefox()  # first, so that no example is run for nothing
    example: Example = request.getfixturevalue("shared_example")
    with running_firefox(example.base_url) as tab:
        tab.log_in(example.key)
        yield tab


def test_every_page_opens_in_firefox_without_a_fault_is_accessible_and_fits(tab: FirefoxTab, shared_example: Example) -> None:
    wrong = {}
    for name, path in pages(shared_example.client).items():
        tab.go(path)
        if found := tab.wrong():
            wrong[name] = found

    assert wrong == {}


def test_a_drawer_opens_and_closes_in_firefox_and_its_address_can_be_shared(tab: FirefoxTab) -> None:
    tab.go(DEPLOYMENT)
    tab.click("a[data-row]")
    tab.wait_for("document.querySelector('dialog#drawer[open]')", "the drawer is open")
    shared = tab.run("return location.pathname + location.search")
    tab.press(ESCAPE)
    tab.wait_for("!document.querySelector('dialog#drawer[open]')", "the drawer is closed")
    tab.go(shared)

    assert "group=" in shared
    assert tab.run("return document.querySelector('dialog#drawer[open]') !== null")
    assert tab.wrong() == []


def test_filters_and_the_jump_to_a_deployment_work_in_firefox(tab: FirefoxTab) -> None:
    tab.go("/")
    tab.type("#text", "nothing has this name")
    tab.wait_for("!document.querySelector('.fleet tbody tr')", "no deployment fits")
    tab.go("/glossary")
    tab.press(CONTROL, "k")
    tab.wait_for("document.activeElement.closest('dialog')", "the jump is open")
    tab.press("c")
    tab.wait_for("document.querySelector('dialog[open] a')", "a deployment is found")
    tab.press(ENTER)
    tab.wait_for("location.pathname.startsWith('/deployments/')", "the deployment is open")

    assert tab.run("return location.pathname") == DEPLOYMENT
    assert tab.wrong() == []
