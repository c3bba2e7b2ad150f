"""Any number of services and workers may run beside each other. `scripts/trial crash E` does it with 200 checks."""

import pytest

from tests.crashes.sharing import due_at_once


@pytest.mark.nightly
def test_two_services_and_two_workers_do_each_due_check_once() -> None:
    report = due_at_once(24)

    assert report.violations == [], report.text()
