"""Addresses of commit 7ba08965 that this version does not have are answered as unknown ones are."""

import pytest

from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
WENT = (
    ("GET", "evidence/flagged-comparisons"),
    ("GET", "subgroup-candidates"),
    ("GET", "subgroup-scan-settings"),
    ("PUT", "subgroup-scan-settings"),
    ("GET", "checks/5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11/charts/as_logged.vl.json"),
    ("GET", "charts/series.vl.json"),
    ("GET", "charts/volume.vl.json"),
)


def test_an_address_of_what_went_is_unknown(service: RunningService, subtests: pytest.Subtests) -> None:
    for method, path in WENT:
        with subtests.test(method=method, path=path):
            unknown, answer = (service.client.request(method, f"{DEPLOYMENT}/{name}", json={}) for name in ("no-such-name", path))

            assert answer.status_code == unknown.status_code == 404
            assert answer.json().keys() == unknown.json().keys()


def test_versions_of_a_profile_are_not_listed(service: RunningService) -> None:
    answer = service.client.get(f"{DEPLOYMENT}/mitigation-profiles")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
