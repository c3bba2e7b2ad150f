"""The catalogue over HTTP."""

import pytest

from app.access.principals import Role
from app.statistics.catalogue import CATALOGUE
from tests.service import RunningService


def test_the_catalogue_is_answered_whole_and_in_its_order(service: RunningService) -> None:
    metrics = service.client.get("/v1/metrics").json()["metrics"]

    assert [metric["key"] for metric in metrics] == list(CATALOGUE)
    for metric in metrics:
        row = CATALOGUE[metric["key"]]
        assert (metric["lower_limit"], metric["upper_limit"]) == row.limits
        assert (metric["data"], metric["scopes"], metric["needs"]) == (list(row.data), list(row.scopes), list(row.needs))
        assert service.client.get(f"/v1/metrics/{row.key}").json() == metric


def test_any_key_may_read_the_catalogue(service: RunningService, subtests: pytest.Subtests) -> None:
    for role in list(Role):
        with subtests.test(role=role):
            assert service.client.get("/v1/metrics", headers=service.as_(role)).status_code == 200
            assert service.client.get("/v1/metrics/accuracy", headers=service.as_(role)).status_code == 200


def test_a_metric_that_does_not_exist_is_not_found(service: RunningService) -> None:
    answer = service.client.get("/v1/metrics/fairness")

    assert answer.status_code == 404
    assert answer.json()["detail"] == "There is no metric fairness."
    assert service.client.get("/v1/metrics/No%20Metric").status_code == 404
