"""Import, check, import, check: what is logged into past hours is in the next check, in a check of a range, and in the overview."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.checks.check import perform_check
from app.checks.lease_queries import CHECK_POLICY, claim_check
from app.domain.check import CheckRun
from app.evidence.update import update_evidence
from app.mitigation.window.mitigate_window import mitigate_window
from app.worker.looks import queue_due_checks
from tests.builders.check_results import read_results
from tests.builders.page_words import says
from tests.scenes import HOUR, PlainSealer
from tests.service import RunningService

ADDRESS = "/v1/deployments/loans"
BEGUN = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - HOUR
"""The start of the last hour that has ended, so that checks of the hours before it are due by now."""


@pytest.fixture
def loans(service: RunningService) -> RunningService:
    """The service with a deployment that has no endpoint, and its monitor, switched on some hours ago."""
    features = [{"name": "sex", "type": "string"}]
    body = {"id": "loans", "name": "Loans", "problem_type": "binary", "features": features, "model_revision": "1"}
    service.client.post("/v1/deployments", json=body | {"outputs": {"prediction": "prediction"}}).raise_for_status()
    sexes = {"feature": "sex", "monitored": ["female"], "reference": ["male"]}
    watched = {"favourable": [1], "unfavourable": [0], "attributes": [sexes], "schedule": "hourly"}
    service.client.put(f"{ADDRESS}/fairness-monitor", json=watched).raise_for_status()
    with service.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE monitors SET scheduled_since = %s", (BEGUN - 3 * HOUR,))
    return service


def import_records(loans: RunningService, prefix: str, men_of_10: int, women_of_10: int, count: int, at: datetime) -> None:
    """Imports as many men as women, one after the other, of every ten so many approved."""
    records = [
        {
            "id": f"{prefix}{no}",
            "scored_at": (at + timedelta(milliseconds=no)).isoformat(),
            "features": {"sex": ("female", "male")[no % 2]},
            "prediction": int(no // 2 % 10 < (women_of_10, men_of_10)[no % 2]),
        }
        for no in range(count)
    ]
    loans.client.post(f"{ADDRESS}/payload-records?historical=true", json={"records": records}).raise_for_status()


def import_labels(loans: RunningService, prefix: str, count: int, at: datetime) -> None:
    records = [{"id": f"{prefix}{no}", "label": 1, "labelled_at": at.isoformat()} for no in range(count)]
    loans.client.post(f"{ADDRESS}/feedback-records?historical=true", json={"records": records}).raise_for_status()


def check(loans: RunningService, asked: dict[str, str] | None = None) -> dict[str, Any]:
    """Asks for a check, for now or of a range, and runs it."""
    loans.client.post(f"{ADDRESS}/checks", **({} if asked is None else {"json": asked})).raise_for_status()
    return run_next(loans)


def run_next(loans: RunningService) -> dict[str, Any]:
    """Runs the next check in the queue, as a worker does."""
    with loans.database.transaction() as session:
        run = claim_check(session, token="worker", policy=CHECK_POLICY)  # noqa: S106 - a lease's, no secret
    assert run is not None
    perform(loans, run)
    return read_results(loans.client, f"{ADDRESS}/checks/{run.id}")


def perform(loans: RunningService, run: CheckRun) -> None:
    perform_check(run, database=loans.database, sealer=PlainSealer(), report=lambda _: None, further=mitigate_window)


def scheduled(loans: RunningService) -> Iterator[dict[str, Any]]:
    """Runs the checks of the last hours one by one, each when it is asked for."""
    for hour in range(3, 0, -1):
        with loans.database.transaction() as session:
            queue_due_checks(session, BEGUN - (hour - 1) * HOUR + timedelta(minutes=1))
        yield run_next(loans)


def now(loans: RunningService) -> Iterator[dict[str, Any]]:
    while True:
        yield check(loans)


def impact(details: dict[str, Any]) -> tuple[float, int, str, bool]:
    """The women's disparate impact, of how many records it is, the verdict, and whether it was carried forward."""
    found = [
        (figure["value"], figure["n"], figure["verdict"], figure["carried_forward"])
        for figure in details["measurements"]
        if (figure["metric"], figure["data"], figure["group"]) == ("disparate_impact", "as_logged", "female")
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("asking", [now, scheduled])
@pytest.mark.nightly
def test_what_is_imported_into_past_hours_is_in_the_next_check_in_a_range_and_in_the_overview(loans: RunningService, asking: Any) -> None:  # noqa: ANN401
    checks = asking(loans)

    import_records(loans, "fair", 5, 5, 200, BEGUN - 6 * HOUR)
    assert impact(next(checks)) == (1.0, 100, "undecided", False)

    import_records(loans, "unfair", 8, 2, 2_000, BEGUN - 5 * HOUR)
    import_labels(loans, "unfair", 500, BEGUN - 4 * HOUR)
    after = next(checks)
    assert impact(after) == (0.25, 100, "unfair", False)
    assert after["window"]["additional_labelled_records"] == 100
    (standing,) = loans.client.get("/v1/overview").json()["deployments"]
    assert (standing["state"], standing["worst"]["value"], standing["worst"]["check_id"]) == ("unfair", 0.25, after["id"])
    ranged = check(loans, {"from": after["from"], "to": after["to"]})
    assert impact(ranged) == impact(after)
    assert ranged["window"]["fingerprint"] == after["window"]["fingerprint"]

    assert impact(next(checks)) == (0.25, 100, "unfair", True)


def test_labels_alone_that_are_imported_into_past_hours_are_in_the_next_check(loans: RunningService) -> None:
    import_records(loans, "fair", 5, 5, 200, BEGUN - 4 * HOUR)
    first, _, third = check(loans), import_labels(loans, "fair", 50, BEGUN - 2 * HOUR), check(loans)

    assert [one["window"]["additional_labelled_records"] for one in (first, third)] == [0, 50]
    assert not impact(third)[-1]


def test_labels_that_are_imported_too_late_are_said_next_to_the_evidence(loans: RunningService, snapshot: SnapshotAssertion) -> None:
    import_records(loans, "old", 8, 6, 20, BEGUN - 1_000 * HOUR)
    update_evidence(loans.database, grace=timedelta(0))
    for _ in range(2):
        import_labels(loans, "old", 12, BEGUN - 50 * HOUR)
        update_evidence(loans.database, grace=timedelta(0))
    found = loans.client.get(f"{ADDRESS}/evidence").raise_for_status().json()

    assert found["late_labels"] == 12
    assert any(says(remark, "12", "720") for remark in found["remarks"])
    assert found["remarks"] == snapshot
