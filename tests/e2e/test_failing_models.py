"""A model that is down, slow, or answers nonsense, through the HTTP API."""

import pytest

from tests.crashes.failing import models_fail


@pytest.mark.nightly
def test_a_check_says_what_the_model_did_stores_figures_as_logged_alone_and_the_next_one_all() -> None:
    report = models_fail()

    assert report.violations == [], report.text()
