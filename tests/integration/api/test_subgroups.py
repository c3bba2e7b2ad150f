"""Subgroups that nobody listed, over HTTP: found by a scan, never shown when small, and watched from then on."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from app.base.clock import HOUR, floor_to_hour
from app.base.errors import LeaseLost
from app.cli.library.groups import command as groups
from app.deployments.queries import Deployments
from app.evidence.subgroups import scan_deployment as scanning
from app.evidence.subgroups.scan_deployment import run_next_scan
from app.evidence.subgroups.scan_queries import ABANDONED, MAX_ATTEMPTS, claim_scan
from app.evidence.subgroups.scan_sentence import FOUND_BEFORE
from app.evidence.update import update_deployment
from tests.builders.page_words import says
from tests.scenes import PlainSealer, Scene
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
SEARCH = {"rule": {"any_of": [[{"feature": "region", "values": ["north"]}]]}, "subsets": 105, "p_value": 0.005}
HOURS, RECORDS = 60, 40
START = floor_to_hour(datetime.now(UTC)) - HOURS * HOUR


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


def update(service: RunningService, hours: int = HOURS) -> None:
    update_deployment(service.database, DEPLOYMENT_NO, START + hours * HOUR)


def scan(service: RunningService, **body: object) -> dict[str, Any]:
    """Requests a scan, runs it, and returns it."""
    asked = service.client.post(f"{PATH}/subgroup-scans", json=body)
    assert asked.status_code == 202, asked.text
    assert asked.json()["words"] == "The scan waits for a worker."
    assert run_next_scan(service.database, token="a") is True  # noqa: S106 - of a lease
    found: dict[str, Any] = service.client.get(asked.headers["Location"]).json()
    return found


@pytest.fixture
def found(watched: RunningService) -> dict[str, Any]:
    """A scan that found the young of the north."""
    log(watched, make(planted=0.3))
    update(watched)
    return scan(watched, features=["age", "region"])


def watch(service: RunningService, scan_id: str, **body: object) -> httpx.Response:
    return service.client.post(f"{PATH}/fairness-monitor/found-groups", json={"scan_id": scan_id, **body})


def test_a_scan_reads_the_newest_hours_up_to_its_bound_of_records_however_uneven_they_are(
    watched: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_from = (HOURS - 10) * RECORDS
    log(watched, [record for no, record in enumerate(make(planted=0.3)) if no >= busy_from or no % 10 == 0])
    update(watched)

    for bound, hours in ((300, 7), (30, 1)):  # the newest hour alone has 40
        monkeypatch.setattr(scanning, "MAX_RECORDS", bound)
        found = scan(watched, features=["region"])
        start = START + (HOURS - hours) * HOUR
        assert (found["records"], found["from"]) == (hours * RECORDS, start.strftime("%Y-%m-%dT%H:%M:%SZ"))


def test_a_feature_that_the_last_scan_did_not_take_keeps_its_ranges(watched: RunningService, found: dict[str, Any]) -> None:
    scan(watched, features=["region"])
    younger = [record for record in make(planted=0.3, seed=2) if record["features"]["age"] < 50]
    log(watched, [record | {"id": f"younger-{record['id']}"} for record in younger])
    again = scan(watched, features=["age", "region"])

    assert again["records"] == found["records"] + len(younger)
    assert again["group"]["rule"] == found["group"]["rule"]


@pytest.mark.parametrize("asked", [{}, {"features": ["sex", "region", "age"]}])
def test_the_words_name_features_with_too_many_combinations(
    watched: RunningService, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    log(watched, make(planted=1.0, seed=3))
    update(watched)
    monkeypatch.setattr(scanning, "MAX_CELLS", 6)  # of sex and region
    found = scan(watched, **asked)

    assert found["features"] == ["sex", "region"]
    assert says(found["words"], "too many combinations of values: left out age")


def test_a_planted_subgroup_is_found_as_the_rule_of_an_attribute(
    watched: RunningService, found: dict[str, Any], snapshot: SnapshotAssertion
) -> None:
    group = found["group"]
    inside = [record for record in make(planted=0.3) if record["features"]["age"] <= 33 and record["features"]["region"] == "north"]

    assert (found["state"], found["records"], found["p_value"], found["direction"]) == ("succeeded", HOURS * RECORDS, 0.005, "below")
    assert group["rule"]["any_of"][0][1] == {
        "feature": "region",
        "values": ["north"],
        "intervals": [],
        "excluded": None,
        "or_missing": False,
    }
    assert group["label"].startswith("age up to ")
    assert group["label"].endswith(" and region north")
    assert group["watched_as"] is None
    assert group["records"] + group["others_records"] == found["records"]
    assert group["favourable"] + group["others_favourable"] == found["favourable"]
    assert 0.5 * len(inside) < group["records"] < 2 * len(inside)
    assert says(found["words"], str(found["subsets"]), "age", "2,400", "0.005", group["label"])
    assert says(found["words"], f"{group['records']} records", f"{others_rate(group)} %")
    assert found["words"] == snapshot
    again = scan(watched, features=["region", "age"])
    assert {condition["feature"]: condition for condition in again["group"]["rule"]["any_of"][0]} == {
        condition["feature"]: condition for condition in group["rule"]["any_of"][0]
    }
    assert [one["id"] for one in watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]] == [again["id"], found["id"]]


def others_rate(group: dict[str, Any]) -> str:
    return f"{100 * group['others_favourable'] / group['others_records']:.1f}"


def test_a_favoured_subgroup_is_found_in_the_direction_above(watched: RunningService, snapshot: SnapshotAssertion) -> None:
    log(watched, make(planted=1.6, base=0.4))
    update(watched)
    below, above = scan(watched, features=["age", "region"]), scan(watched, features=["age", "region"], direction="above")

    assert (below["direction"], below["group"]) == ("below", None)
    assert above["direction"] == "above"
    assert says(above["words"], "One is ahead", f"{above['p_value']:.3f}", "age up to")
    assert says(below["words"], "None falls short", f"{below['p_value']:.3f}")
    assert [above["words"], below["words"]] == snapshot


def test_without_features_the_monitored_and_the_first_ones_are_searched(watched: RunningService) -> None:
    log(watched, make(planted=1.0, seed=3))
    update(watched)

    assert scan(watched)["features"] == ["sex", "region", "age"]


def test_a_subgroup_that_holds_nearly_all_records_is_not_shown_and_the_words_say_why(
    watched: RunningService, snapshot: SnapshotAssertion
) -> None:
    records = make(planted=1.0)
    for no, record in enumerate(records):
        record["features"] |= {"region": "south" if no < 9 else "north"}
        record["prediction"] = int(no < 9)  # the others are nine
    log(watched, records)
    update(watched)
    found = scan(watched, features=["region"])

    assert (found["state"], found["group"], found["p_value"]) == ("succeeded", None, 0.005)
    assert says(found["words"], "0.005", "fewer", "10")
    assert found["words"] == snapshot
    assert "2391" not in json.dumps(found)


def test_a_crash_before_the_end_leaves_no_half_of_a_scan(watched: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    log(watched, make(planted=0.3))
    update(watched)
    watched.client.post(f"{PATH}/subgroup-scans", json={"features": ["age", "region"]}).raise_for_status()

    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(scanning, "end_scan", crash)
        with pytest.raises(RuntimeError):
            run_next_scan(watched.database, token="a")  # noqa: S106 - of a lease
    (open_scan,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert (open_scan["state"], open_scan["group"]) == ("running", None)
    assert run_next_scan(watched.database, token="b") is False  # noqa: S106 - of a lease

    with watched.database.transaction() as session:
        session.execute(text("UPDATE subgroup_scans SET claimable_at = now()"))
    assert run_next_scan(watched.database, token="c") is True  # noqa: S106 - of a lease
    (ended,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert (ended["id"], ended["state"]) == (open_scan["id"], "succeeded")
    assert ended["group"] is not None


def test_a_worker_that_was_too_slow_stores_nothing(watched: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    log(watched, make(planted=0.3))
    update(watched)
    watched.client.post(f"{PATH}/subgroup-scans").raise_for_status()
    search = scanning.search_groups

    def lose(*arguments: Any, **options: Any) -> object:  # noqa: ANN401 - passed on
        found = search(*arguments, **options)
        with watched.database.transaction() as session:
            session.execute(text("UPDATE subgroup_scans SET lease_token = 'another'"))
        return found

    monkeypatch.setattr(scanning, "search_groups", lose)
    with pytest.raises(LeaseLost):
        run_next_scan(watched.database, token="a")  # noqa: S106 - of a lease
    (open_scan,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert (open_scan["state"], open_scan["records"]) == ("running", None)


def test_a_scan_that_no_worker_ends_fails_and_one_that_cannot_run_says_why(watched: RunningService) -> None:
    found = scan(watched)
    assert (found["state"], found["words"], found["reason"]) == ("failed", found["reason"], found["reason"])
    assert found["reason"].startswith("No hour has been counted")
    update(watched, 5)
    assert scan(watched)["reason"].startswith("Fewer than 20 records")

    watched.client.post(f"{PATH}/subgroup-scans").raise_for_status()
    with watched.database.transaction() as session:
        session.execute(text("UPDATE subgroup_scans SET attempts = :most WHERE claimable_at IS NOT NULL"), {"most": MAX_ATTEMPTS})
        assert claim_scan(session, token="a") is None  # noqa: S106
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
        answer = watched.client.post(f"{PATH}/subgroup-scans", json={"features": features})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    for body in ({"hours": 0}, {"hours": 721}, {"direction": "up"}, {"feature": ["sex"]}):
        assert watched.client.post(f"{PATH}/subgroup-scans", json=body).status_code == 422
    assert watched.client.get(f"{PATH}/subgroup-scans/5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11").status_code == 404
    assert len(watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]) == 1


def test_only_the_first_record_of_a_person_is_scanned(watched: RunningService) -> None:
    watched.client.put(f"{PATH}/fairness-monitor", json=MONITOR | {"evidence": {"person": "person"}}).raise_for_status()
    with watched.database.transaction() as session:  # a changed monitor counts from the next whole hour on
        session.execute(text("UPDATE activities SET at = now() - interval '30 days'"))
    records = make(planted=0.3, person=True)
    log(watched, [*records, *(record | {"id": f"unlisted-{no}", "meta": {}, "prediction": 7} for no, record in enumerate(records[:5]))])
    update(watched)
    found = scan(watched, features=["age", "region"])

    assert found["records"] == HOURS * RECORDS
    reasons = {cause["reason"]: cause["count"] for cause in found["counted"]["left_out"]}
    assert (found["counted"]["of"], reasons) == (len(records) + 5, {"repeated_person": HOURS * RECORDS // 2, "outcome_unlisted": 5})
    assert found["words"].startswith("2,400 of 3,605 records counted; left out: later record of a person 1,200")
    assert found["group"] is not None


def test_a_found_group_is_watched_from_then_on_once(watched: RunningService, found: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    before = watched.client.get(f"{PATH}/fairness-monitor").json()
    first = watch(watched, found["id"], name="the young of the north")
    second = watch(watched, found["id"], name="another name")
    monitor = watched.client.get(f"{PATH}/fairness-monitor").json()
    added = monitor["attributes"][-1]

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json() == monitor
    assert (before["version"], monitor["version"], len(monitor["attributes"])) == (1, 2, 2)
    assert added["feature"] == "the young of the north"
    assert added["rule"] == found["group"]["rule"]
    assert added["monitored"] == [found["group"]["label"]]
    assert added["found_by"] == {"scan_id": found["id"], "subsets": found["subsets"], "p_value": found["p_value"]}
    address = f"{PATH}/subgroup-scans/{found['id']}"
    assert watched.client.get(address).json()["group"] == found["group"] | {"watched_as": "the young of the north"}
    (listed,) = watched.client.get(f"{PATH}/subgroup-scans").json()["scans"]
    assert listed["group"]["watched_as"] == "the young of the north"
    remarks = watched.client.get(f"{PATH}/evidence").json()["remarks"]
    origin = f"found by a search among {found['subsets']} groups (p = 0.005)"
    assert any(says(remark, "the young of the north", origin) for remark in remarks)
    assert remarks == snapshot


def evidence_rows(service: RunningService, attribute: str) -> list[dict[str, Any]]:
    """All that is stored of the evidence about an attribute: its figures and the counts of its hours."""
    figures = text("SELECT * FROM evidence_figures WHERE attribute = :attribute ORDER BY no")
    hours = text("SELECT * FROM evidence_hours WHERE attribute = :attribute ORDER BY hour, data")
    with service.database.transaction() as session:
        return [dict(row) for query in (figures, hours) for row in session.execute(query, {"attribute": attribute}).mappings()]


def test_watching_a_group_leaves_other_evidence_as_it_is_and_begins_its_own_with_the_next_hour(
    watched: RunningService, found: dict[str, Any]
) -> None:
    before = evidence_rows(watched, "sex")
    watch(watched, found["id"], name="the young of the north").raise_for_status()
    update(watched)
    assert len(before) > HOURS
    assert evidence_rows(watched, "sex") == before
    assert evidence_rows(watched, "the young of the north") == []

    # No record may be sent from the future, so it is put into the database.
    next_hour = floor_to_hour(datetime.now(UTC)) + HOUR
    with watched.database.transaction() as session:
        stage = Scene(watched.database, Deployments(session, PlainSealer()).get("loans"))
    stage.number_from(1_000_000)
    for hour in (next_hour - HOUR, next_hour):
        later = [record["features"] | {"person": "p", "prediction": record["prediction"]} for record in make(planted=0.3)[:RECORDS]]
        stage.log([{"id": f"{hour}-{no}", **record} for no, record in enumerate(later)], hour)
    update_deployment(watched.database, DEPLOYMENT_NO, next_hour + HOUR)

    rows = evidence_rows(watched, "the young of the north")
    assert {row["first_hour"] for row in rows if "first_hour" in row} == {next_hour}
    assert {row["hour"] for row in rows if "hour" in row} == {next_hour}
    assert {row["first_hour"] for row in evidence_rows(watched, "sex") if "first_hour" in row} == {START}
    comparisons = watched.client.get(f"{PATH}/evidence").json()["comparisons"]
    begins = {comparison["attribute"]: comparison["starts_at"] for comparison in comparisons}
    assert begins == {"sex": None, "the young of the north": next_hour.strftime("%Y-%m-%dT%H:%M:%SZ")}


def test_a_monitor_that_is_sent_as_it_was_read_keeps_who_found_its_groups(watched: RunningService, found: dict[str, Any]) -> None:
    watch(watched, found["id"]).raise_for_status()
    read = watched.client.get(f"{PATH}/fairness-monitor").json()
    sent = {name: value for name, value in read.items() if name not in {"version", "warnings", "measured_metrics"}}
    same = watched.client.put(f"{PATH}/fairness-monitor", json=sent)
    changed = watched.client.put(f"{PATH}/fairness-monitor", json=sent | {"min_records": 7})

    assert same.json() == read
    assert changed.json()["attributes"] == read["attributes"]
    assert changed.json()["attributes"][-1]["found_by"]["scan_id"] == found["id"]


def test_a_rule_of_a_scan_may_be_set_as_any_other(watched: RunningService, found: dict[str, Any]) -> None:
    attribute = {"feature": "by hand", "rule": found["group"]["rule"]}
    body = MONITOR | {"attributes": [*MONITOR["attributes"], attribute]}
    monitor = watched.client.put(f"{PATH}/fairness-monitor", json=body).json()

    assert monitor["attributes"][-1]["found_by"] is None
    assert watched.client.get(f"{PATH}/subgroup-scans/{found['id']}").json()["group"]["watched_as"] == "by hand"
    assert watch(watched, found["id"]).json()["version"] == monitor["version"]


def test_a_group_that_the_command_found_in_a_file_is_watched_by_it(
    watched: RunningService, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    columns = ("sex", "region", "age")
    rows = [(*(record["features"][name] for name in columns), record["prediction"]) for record in make(planted=0.3)]
    file = tmp_path / "decisions.csv"
    pd.DataFrame(rows, columns=[*columns, "approved"]).to_csv(file, index=False)
    options = (
        "--feature",
        "age",
        "--number",
        "age",
        "--feature",
        "region",
        "--prediction",
        "approved",
        "--watch",
        "loans",
        "--name",
        "found in a file",
    )
    key = watched.client.headers["Authorization"].removeprefix("Bearer ")
    run = [str(file), *options, "--key", key, "--url", watched.base_url]
    first, again = CliRunner().invoke(groups, run), CliRunner().invoke(groups, run)
    monitor = watched.client.get(f"{PATH}/fairness-monitor").json()
    added = monitor["attributes"][-1]

    assert (first.exit_code, again.exit_code, monitor["version"]) == (0, 0, 2), first.output
    printed = [line for line in first.output.splitlines() if "[info" not in line]  # the service runs in this process
    assert says(printed[-1], "found in a file", "version 2", "loans")
    assert printed == snapshot
    assert added["monitored"] == ["age up to 33 and region north"]
    assert (added["found_by"]["scan_id"], added["found_by"]["subsets"]) == (None, 105)
    remarks = watched.client.get(f"{PATH}/evidence").json()["remarks"]
    assert any(says(remark, "found in a file", "105", "0.005") for remark in remarks)
    assert remarks == snapshot


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "scan_id"),
        ({"scan_id": "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e", "search": SEARCH}, "scan_id"),
        ({"search": SEARCH | {"subsets": 0}}, "search.subsets"),
        ({"search": SEARCH | {"p_value": 1.5}}, "search.p_value"),
        (
            {"search": SEARCH | {"rule": {"any_of": [[{"feature": "colour", "values": ["red"]}]]}}},
            "attributes[1].rule.any_of[0][0].feature",
        ),
    ],
)
def test_a_search_that_cannot_be_is_refused(watched: RunningService, body: dict[str, Any], field: str) -> None:
    refused = watched.client.post(f"{PATH}/fairness-monitor/found-groups", json=body)

    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


def test_what_cannot_be_watched_is_refused(watched: RunningService, found: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    nothing = scan(watched, features=["sex"], hours=1)
    assert nothing["group"] is None
    assert (watch(watched, nothing["id"]).status_code, watch(watched, "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11").status_code) == (409, 404)
    condition = json.dumps([{"feature": f"column {no}", "values": ["a"]} for no in range(5)])
    with watched.database.transaction() as session:
        changed = "UPDATE subgroup_scans SET result = jsonb_set(result, '{group,rule,any_of,0}', CAST(:conditions AS jsonb)) WHERE id = :id"
        session.execute(text(changed), {"conditions": condition, "id": found["id"]})
    refused = watch(watched, found["id"])

    assert refused.status_code == 409
    assert says(said := refused.json()["detail"], "5", "4")
    assert said == snapshot
    assert watched.client.get(f"{PATH}/fairness-monitor").json()["version"] == 1


def test_a_scan_of_an_earlier_version_is_read_without_its_group(watched: RunningService, found: dict[str, Any]) -> None:
    with watched.database.transaction() as session:
        old = "jsonb_build_object('p_value', 0.005, 'subsets', 105, 'records', 2400, 'favourable', 1200, 'inside_records', 200)"
        session.execute(text(f"UPDATE subgroup_scans SET result = {old}"))  # noqa: S608 - no input
    read = watched.client.get(f"{PATH}/subgroup-scans/{found['id']}").json()

    assert (read["group"], read["words"], read["subsets"], read["features"]) == (None, FOUND_BEFORE, 105, ["age", "region"])
    assert watch(watched, found["id"]).status_code == 409
