"""Subgroups that nobody listed, over HTTP: found by a scan, confirmed by later hours only, and never shown when small."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select, text

from app.clock import HOUR, hour_of
from app.errors import LeaseLost
from app.evidence.hours import Hours, Side
from app.evidence.nulls import Limit, Scale, UnfairSide
from app.scan.confirming import Candidate, follow_candidate
from app.scan.scanning import Subgroup
from app.store.subgroups.scans import claim_scan, queue_nightly_scans
from app.store.tables import SubgroupCandidateRow, SubgroupHourRow
from app.tracking.subgroups import scanning
from app.tracking.subgroups.looking import look_at_candidates
from app.tracking.subgroups.scanning import ABANDONED, LEASE, MAX_ATTEMPTS, run_next_scan
from app.tracking.updating import update_deployment
from tests.builders.statements import counted
from tests.service import RunningService

pytestmark = pytest.mark.thorough

TEXT = {"type": "string", "kind": "categorical"}
DEPLOYMENT = {
    "id": "loans",
    "name": "Loans",
    "problem_type": "binary",
    "features": [
        {"name": "sex", **TEXT},
        {"name": "region", **TEXT},
        {"name": "age", "type": "integer", "kind": "numeric"},
    ],
    "meta": [{"name": "person", **TEXT}],
    "outputs": {"prediction": "approved"},
    "model_revision": "1",
}
MONITOR: dict[str, Any] = {
    "favourable": [1],
    "unfavourable": [0],
    "attributes": [{"feature": "sex", "monitored": ["female"], "reference": ["male"]}],
    "metrics": ["disparate_impact"],
}
PATH = "/v1/deployments/loans"
DEPLOYMENT_NO = 1
BEFORE, HOURS, RECORDS = 60, 170, 40
START = hour_of(datetime.now(UTC)) - HOURS * HOUR


def make(*, planted: float, base: float = 0.6, seed: int = 1, person: bool = False) -> list[dict[str, Any]]:
    """All hours: the young of the north are approved with `planted` times the chance of the others. With `person` half come twice."""
    rng = np.random.default_rng(seed)
    records = []
    for no in range(HOURS * RECORDS):
        sex, region, age = rng.choice(["female", "male"]), rng.choice(["north", "south", "west"]), int(rng.integers(18, 80))
        chance = base * (planted if region == "north" and age <= 33 else 1)
        one = {
            "features": {"sex": str(sex), "region": str(region), "age": age},
            "meta": {"person": f"p{no}"},
            "prediction": int(rng.random() < chance),
            "scored_at": (START + no // RECORDS * HOUR).isoformat(),
        }
        records += [{"id": f"{no}-{copy}", **one} for copy in range(2 if person and no % 2 else 1)]
    return records


def log(service: RunningService, records: list[dict[str, Any]]) -> None:
    for first in range(0, len(records), 1_000):
        sent = service.client.post(
            f"{PATH}/payload-records?historical=true",
            content=json.dumps({"records": records[first : first + 1_000]}),
            headers={"content-type": "application/json"},
        )
        assert sent.status_code < 300, sent.text


@pytest.fixture
def watched(service: RunningService) -> RunningService:
    service.client.post("/v1/deployments", json=DEPLOYMENT).raise_for_status()
    assert service.client.post(f"{PATH}/subgroup-scans").status_code == 409
    service.client.put(f"{PATH}/fairness-monitor", json=MONITOR).raise_for_status()
    return service


def update(service: RunningService, hours: int) -> None:
    update_deployment(service.database, DEPLOYMENT_NO, START + hours * HOUR)


def scan(service: RunningService, **body: object) -> dict[str, Any]:
    """Requests a scan, runs it, and returns it."""
    asked = service.client.post(f"{PATH}/subgroup-scans", json=body)
    assert asked.status_code == 202, asked.text
    assert asked.json()["words"] == "The scan waits for a worker."
    assert run_next_scan(service.database, token="a") is True  # noqa: S106 - of a lease
    found: dict[str, Any] = service.client.get(asked.headers["Location"]).json()
    return found


def candidates(service: RunningService) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.client.get(f"{PATH}/subgroup-candidates").json()["candidates"]
    return found


def test_a_planted_subgroup_is_found_and_later_hours_confirm_it(watched: RunningService) -> None:
    log(watched, make(planted=0.3))
    update(watched, BEFORE)
    found = scan(watched, features=["age", "region"])

    assert (found["state"], found["candidate"], found["records"]) == ("succeeded", 1, BEFORE * RECORDS)
    assert found["words"] == (
        f"{found['subsets']} subgroups by age, region searched in 2,400 records."
        f" One falls short by more than chance explains (p = {found['p_value']:.3f}): candidate 1."
    )
    (one,) = candidates(watched)
    assert set(one["values"]) == {"age", "region"}
    assert one["values"]["region"] == ["north"]
    assert (one["state"], one["confirmed_at"], one["later_records"]) == ("candidate", None, None)
    assert one["words"].startswith(f"Candidate 1, the one of {found['subsets']} subgroups that falls short most: age up to")
    assert one["words"].endswith("It is only a candidate until later hours confirm it.")

    update(watched, BEFORE + 1)  # a single hour has fewer than ten records of the subgroup
    assert candidates(watched)[0]["later_records"] is None
    update(watched, HOURS)
    (after,) = candidates(watched)
    assert after["state"] == "confirmed"
    assert after["found_at"] < after["confirmed_at"]
    assert after["log_evidence"] >= after["log_threshold"]
    assert after["later_records"] >= 10
    assert "show that its favourable rate is less than 0.8 times that of the others" in after["words"]
    fixed = ("number", "values", "limit", "found_at", "records", "subsets", "p_value", "scan_id")
    assert [one[name] for name in fixed] == [after[name] for name in fixed]
    again = scan(watched, features=["age", "region"])
    assert (again["candidate"], len(candidates(watched))) == (1, 1)
    assert [one["id"] for one in watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]] == [again["id"], found["id"]]


def test_a_favoured_subgroup_is_found_in_the_direction_above(watched: RunningService) -> None:
    log(watched, make(planted=1.6, base=0.4))
    update(watched, BEFORE)
    below, above = scan(watched, features=["age", "region"]), scan(watched, features=["age", "region"], direction="above")
    update(watched, HOURS)
    (one,) = candidates(watched)

    assert (below["direction"], below["limit"], below["candidate"]) == ("below", 0.8, None)
    assert (above["direction"], above["limit"], above["candidate"]) == ("above", 1.25, 1)
    assert above["words"].endswith(f"One is ahead by more than chance explains (p = {above['p_value']:.3f}): candidate 1.")
    assert below["words"].endswith(f"None falls short by more than chance explains (p = {below['p_value']:.3f}).")
    assert (one["direction"], one["limit"], one["state"]) == ("above", 1.25, "confirmed")
    assert "subgroups that is furthest ahead: age up to" in one["words"]
    assert one["words"].endswith("show that its favourable rate is more than 1.25 times that of the others.")


@pytest.mark.parametrize(
    "body", [{"direction": "above", "limit": 0.8}, {"direction": "below", "limit": 1.25}, {"limit": 101}, {"direction": "up"}]
)
def test_a_limit_on_the_other_side_of_equality_is_refused(watched: RunningService, body: dict[str, object]) -> None:
    asked = watched.client.post(f"{PATH}/subgroup-scans", json=body)
    settings = watched.client.put(f"{PATH}/subgroup-scan-settings", json=body)

    assert [answer.status_code for answer in (asked, settings)] == [422, 422]
    assert {one["field"] for answer in (asked, settings) for one in answer.json()["errors"]} <= {"limit", "direction"}


def test_settings_have_a_direction_with_its_own_limit(watched: RunningService) -> None:
    stored = watched.client.put(f"{PATH}/subgroup-scan-settings", json={"direction": "above"}).json()
    same = watched.client.post(f"{PATH}/subgroup-scans").json()

    assert (stored["direction"], stored["limit"]) == ("above", 1.25)
    assert (same["direction"], same["limit"]) == ("above", 1.25)


def test_without_a_subgroup_nothing_is_confirmed(watched: RunningService) -> None:
    log(watched, make(planted=1.0, seed=3))
    update(watched, BEFORE)
    found = scan(watched)
    update(watched, HOURS)

    assert found["features"] == ["sex", "region", "age"]
    assert all(one["state"] != "confirmed" for one in candidates(watched))
    if found["candidate"] is None:
        assert "None falls short by more than chance explains" in found["words"]


def test_a_subgroup_that_holds_nearly_all_records_is_not_shown_and_the_words_say_why(watched: RunningService) -> None:
    records = make(planted=1.0)[: BEFORE * RECORDS]
    for no, one in enumerate(records):
        one["features"] |= {"region": "south" if no < 9 else "north"}
        one["prediction"] = int(no < 9)  # the others are nine
    log(watched, records)
    update(watched, BEFORE)
    found = scan(watched, features=["region"])

    assert (found["state"], found["candidate"], found["p_value"], candidates(watched)) == ("succeeded", None, 0.005, [])
    assert found["words"].endswith(
        "The one that falls short most (p = 0.005) is not shown: it, or all others together, has fewer than 10 records."
    )
    assert "2391" not in json.dumps(found)


def test_a_number_is_never_used_again(watched: RunningService) -> None:
    log(watched, make(planted=0.3))
    update(watched, BEFORE)
    scan(watched, features=["age", "region"])
    scan(watched, features=["region", "age"], limit=0.7)
    with watched.database.transaction() as session:
        session.execute(text("UPDATE subgroup_candidates SET state = 'expired'"))
    scan(watched, features=["age", "region"])

    assert [one["number"] for one in candidates(watched)] == [1, 2, 3]
    first = watched.client.get(f"{PATH}/subgroup-candidates", params={"limit": 2}).json()
    rest = watched.client.get(f"{PATH}/subgroup-candidates", params={"cursor": first["next_cursor"]}).json()
    assert ([one["number"] for one in first["candidates"]], [one["number"] for one in rest["candidates"]]) == ([1, 2], [3])
    assert [one["log_threshold"] for one in candidates(watched)] == pytest.approx([np.log(np.pi**2 * k**2 / 0.3) for k in (1, 2, 3)])


def test_a_page_of_candidates_reads_their_hours_with_one_statement(watched: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    log(watched, make(planted=0.3))
    update(watched, BEFORE)
    scan(watched, features=["age", "region"])
    scan(watched, features=["region", "age"], limit=0.7)
    update(watched, BEFORE + 24)
    with counted(monkeypatch) as sent, watched.database.transaction() as session:
        found = look_at_candidates(session, 1, after_number=0, limit=100)

        later = select(func.sum(SubgroupHourRow.inside_records)).join(
            SubgroupCandidateRow, SubgroupCandidateRow.no == SubgroupHourRow.candidate_no
        )
        for one in found:
            own = (SubgroupCandidateRow.number == one.number, SubgroupHourRow.hour >= one.found_at, SubgroupHourRow.hour < one.until)
            assert session.scalar(later.where(*own)) == one.later_records

    assert len(found) == 2
    assert len([statement for statement in sent if "subgroup_hours" in statement]) == 1 + len(found)


def test_a_crash_before_the_end_leaves_no_half_of_a_scan(watched: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    log(watched, make(planted=0.3))
    update(watched, BEFORE)
    watched.client.post(f"{PATH}/subgroup-scans", json={"features": ["age", "region"]}).raise_for_status()

    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(scanning, "end_scan", crash)
        with pytest.raises(RuntimeError):
            run_next_scan(watched.database, token="a")  # noqa: S106 - of a lease
    (open_scan,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert (open_scan["state"], open_scan["candidate"], candidates(watched)) == ("running", None, [])
    assert run_next_scan(watched.database, token="b") is False  # noqa: S106 - of a lease

    with watched.database.transaction() as session:
        session.execute(text("UPDATE subgroup_scans SET claimable_at = now()"))
    assert run_next_scan(watched.database, token="c") is True  # noqa: S106 - of a lease
    (ended,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert (ended["id"], ended["state"], ended["candidate"]) == (open_scan["id"], "succeeded", 1)
    assert len(candidates(watched)) == 1


def test_a_worker_that_was_too_slow_stores_nothing(watched: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    log(watched, make(planted=0.3))
    update(watched, BEFORE)
    watched.client.post(f"{PATH}/subgroup-scans").raise_for_status()
    search = scanning._search  # noqa: SLF001 - the moment at which a slow worker loses its lease

    def lose(*arguments: Any) -> object:  # noqa: ANN401 - passed on
        found = search(*arguments)
        with watched.database.transaction() as session:
            session.execute(text("UPDATE subgroup_scans SET lease_token = 'another'"))
        return found

    monkeypatch.setattr(scanning, "_search", lose)
    with pytest.raises(LeaseLost):
        run_next_scan(watched.database, token="a")  # noqa: S106 - of a lease
    assert candidates(watched) == []


def test_a_scan_that_no_worker_ends_fails_and_one_that_cannot_run_says_why(watched: RunningService) -> None:
    found = scan(watched)
    assert (found["state"], found["words"], found["reason"]) == ("failed", found["reason"], found["reason"])
    assert found["reason"].startswith("No hour has been counted")
    update(watched, 5)
    assert scan(watched)["reason"].startswith("Fewer than 20 records")

    watched.client.post(f"{PATH}/subgroup-scans").raise_for_status()
    with watched.database.transaction() as session:
        session.execute(text("UPDATE subgroup_scans SET attempts = :most WHERE claimable_at IS NOT NULL"), {"most": MAX_ATTEMPTS})
        assert claim_scan(session, token="a", lease=LEASE, max_attempts=MAX_ATTEMPTS, if_abandoned=ABANDONED) is None  # noqa: S106
    assert watched.client.get(f"{PATH}/subgroup-scans").json()["scans"][0]["reason"] == ABANDONED


def test_asking_twice_makes_one_scan_and_bad_input_none(watched: RunningService) -> None:
    first, second = (watched.client.post(f"{PATH}/subgroup-scans").json() for _ in range(2))
    assert first["id"] == second["id"]
    monitor = MONITOR | {"evidence": {"person": "person"}}
    watched.client.put(f"{PATH}/fairness-monitor", json=monitor).raise_for_status()

    for features, field in (
        ([], "features"),
        (["a"] * 9, "features"),
        (["sex", "sex"], "features[1]"),
        (["nothing"], "features[0]"),
        (["person"], "features[0]"),
    ):
        for method, path in (("POST", "subgroup-scans"), ("PUT", "subgroup-scan-settings")):
            answer = watched.client.request(method, f"{PATH}/{path}", json={"features": features})
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    for body in ({"hours": 0}, {"hours": 721}, {"limit": 0}, {"limit": 1.1}, {"feature": ["sex"]}):
        assert watched.client.post(f"{PATH}/subgroup-scans", json=body).status_code == 422
    assert watched.client.get(f"{PATH}/subgroup-scans/5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11").status_code == 404
    assert len(watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]) == 1


def test_a_nightly_scan_is_queued_once_a_night_where_it_is_configured(watched: RunningService) -> None:
    assert watched.client.get(f"{PATH}/subgroup-scan-settings").json() == {
        "nightly": False,
        "features": None,
        "direction": "below",
        "limit": 0.8,
    }
    settings = {"nightly": True, "features": ["region", "sex"], "direction": "below", "limit": 0.9}
    for at, queued in ((24, 0), (0, 0)):
        with watched.database.transaction() as session:
            queue_nightly_scans(session, hours=720, at=at)
        assert len(watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]) == queued

    assert watched.client.put(f"{PATH}/subgroup-scan-settings", json=settings).json() == settings
    for _ in range(2):
        with watched.database.transaction() as session:
            queue_nightly_scans(session, hours=720, at=0)
    (one,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert (one["features"], one["limit"], one["hours"], one["requested_by"]) == (["region", "sex"], 0.9, 720, "schedule")
    run_next_scan(watched.database, token="a")  # noqa: S106 - of a lease
    with watched.database.transaction() as session:
        queue_nightly_scans(session, hours=720, at=0)
    assert len(watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]) == 1
    assert one["created_at"] >= (datetime.now(UTC) - timedelta(hours=1)).isoformat()[:10]


def test_only_the_first_record_of_a_person_is_scanned_and_counted(watched: RunningService) -> None:
    watched.client.put(f"{PATH}/fairness-monitor", json=MONITOR | {"evidence": {"person": "person"}}).raise_for_status()
    with watched.database.transaction() as session:  # a changed monitor counts from the next whole hour on
        session.execute(text("UPDATE activities SET at = now() - interval '30 days'"))
    log(watched, make(planted=0.3, person=True))
    update(watched, BEFORE)
    found = scan(watched, features=["age", "region"])

    assert found["records"] == BEFORE * RECORDS
    assert candidates(watched)[0]["records"] + candidates(watched)[0]["others_records"] == found["records"]


def test_the_state_is_that_of_the_library_on_the_same_counts_however_the_records_arrive(watched: RunningService) -> None:
    records = make(planted=0.5)
    late = records[BEFORE * RECORDS :: 7]
    log(watched, [one for one in records if one not in late])
    update(watched, BEFORE)
    scan(watched, features=["age", "region"])
    for hours in (BEFORE + 2, BEFORE + 30, BEFORE + 60):
        update(watched, hours)
    log(watched, late)
    update(watched, BEFORE + 60)
    update(watched, HOURS)
    (one,) = candidates(watched)
    (most,) = (int(label.removeprefix("up to ")) for label in one["values"]["age"])

    counts = np.zeros((4, HOURS))
    for record in records:
        hour = (datetime.fromisoformat(record["scored_at"]) - START) // HOUR
        features = record["features"]
        side = 0 if features["age"] <= most and features["region"] in one["values"]["region"] else 2
        counts[side, hour] += record["prediction"]
        counts[side + 1, hour] += 1
    limit = Limit(Scale.RATIO, UnfairSide.BELOW, 0.8)
    found = follow_candidate(Candidate(1, Subgroup(()), limit, BEFORE), [Hours(Side(counts[0], counts[1]), Side(counts[2], counts[3]))])

    assert one["log_evidence"] == pytest.approx(float(found.log_evidence[-1]), rel=1e-12)
    assert one["until"] == (START + HOURS * HOUR).isoformat().replace("+00:00", "Z")
    confirmed = None if found.confirmed is None else (START + (found.confirmed + 1) * HOUR).isoformat().replace("+00:00", "Z")
    assert one["confirmed_at"] == confirmed
    assert one["later_records"] == counts[1, BEFORE:].sum()


def test_after_another_monitor_a_candidate_is_not_followed_and_expires(watched: RunningService) -> None:
    log(watched, make(planted=0.3))
    update(watched, BEFORE)
    scan(watched, features=["age", "region"])
    watched.client.put(f"{PATH}/fairness-monitor", json=MONITOR | {"min_records": 7}).raise_for_status()
    update(watched, HOURS)
    (one,) = candidates(watched)
    assert (one["state"], one["later_records"]) == ("candidate", None)
    assert one["words"].endswith("no further hour counts for it: the monitor or the model revision has changed.")

    update(watched, BEFORE + 720 + 24)
    (one,) = candidates(watched)
    assert one["state"] == "expired"
    assert one["words"].endswith("It expired: later hours did not confirm it within 30 days.")
