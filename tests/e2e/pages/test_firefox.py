"""The pages of the worked example in Firefox: every page, and the drawer of a group."""

import pytest

from tests.example_run import Example
from tests.firefox import FirefoxTab
from tests.page_list import DEPLOYMENT, pages

ESCAPE = "\ue00c"
"""The key as WebDriver writes it."""


@pytest.mark.nightly
def test_every_page_opens_in_firefox_without_a_fault_in_either_scheme_and_fits(tab: FirefoxTab, shared_example: Example) -> None:
    wrong = {}
    for name, path in pages(shared_example.client).items():
        tab.go(path)
        if found := tab.wrong_in_both_schemes():
            wrong[name] = found

    assert wrong == {}


@pytest.mark.nightly
def test_a_drawer_opens_and_closes_in_firefox_and_its_address_can_be_shared(tab: FirefoxTab) -> None:
    tab.go(DEPLOYMENT)
    tab.click("a[data-row]")
    tab.wait_for("document.querySelector('dialog#drawer[open]')", "the drawer is open")
    shared = tab.run("return location.pathname + location.search")
    tab.press(ESCAPE)
    tab.wait_for("!document.querySelector('dialog#drawer[open]')", "the drawer is closed")
    tab.run("history.back()")
    tab.wait_for("document.querySelector('dialog#drawer[open]')", "Back opens it again")
    assert tab.run("return location.pathname + location.search") == shared
    tab.go(shared)

    assert "group=" in shared
    assert tab.run("return document.querySelector('dialog#drawer[open]') !== null")
    assert tab.wrong() == []
