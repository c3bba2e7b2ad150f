"""Recommended monitors over HTTP: of the data that people know, from training data and from payload, and accepted."""

import csv
import io
import json
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from syrupy.assertion import SnapshotAssertion

from app.database.tables import ActivityRow
from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.golden import dataset
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/recommended-monitors"
MONITOR = f"{DEPLOYMENT}/fairness-monitor"
ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race", "sex"),
    *("capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
)
ROWS = "Age,Sex,Owner,Postcode,Risk\n" + 40 * (
    "20,female,true,N1,Risk\n40,female,false,N1,No Risk\n22,male,true,S2,No Risk\n45,male,,S2,No Risk\n"
)


def adult() -> list[list[str]]:
    with dataset("adult.data").open() as file:
        return [[cell.strip() for cell in row] for row in csv.reader(file) if row]


def table_of(name: str) -> list[list[str]]:
    with dataset(name).open(encoding="utf-8-sig") as file:
        return list(csv.reader(file))


def columns(header: list[str], rows: list[list[str]], *, without: str) -> list[dict[str, Any]]:
    whole = {name for place, name in enumerate(header) if all(row[place].lstrip("-").isdigit() for row in rows[:500])}
    return [{"name": name, "type": "integer" if name in whole else "string"} for name in header if name != without]


def trained(client: httpx.Client, header: list[str], rows: list[list[str]], label: str) -> dict[str, Any]:
    """A deployment of these columns, with the rows as training data; what is recommended for it."""
    features = columns(header, rows, without=label)
    client.post("/v1/deployments", json=deployment(features=features, meta=[])).raise_for_status()
    upload(client, [header, *rows], label)
    found: dict[str, Any] = client.get(PATH).raise_for_status().json()
    return found


def upload(client: httpx.Client, rows: list[list[str]], label: str) -> None:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    sent = client.put(
        f"{DEPLOYMENT}/training-data", content=text.getvalue().encode(), params={"label": label}, headers={"Content-Type": "text/csv"}
    )
    sent.raise_for_status()


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """A client of a service that has a deployment with training data and no monitor."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    upload(service.client, [line.split(",") for line in ROWS.splitlines()], "Risk")
    return service.client


def groups(proposal: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    return proposal["monitored"], proposal["reference"]


def of(found: dict[str, Any], feature: str) -> dict[str, Any]:
    return next(proposal for proposal in found["proposals"] if proposal["feature"] == feature)


def errors(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(error["field"], error["message"]) for error in answer.json()["errors"]]


@pytest.mark.thorough
def test_of_adult_sex_race_marital_status_and_age_are_proposed_with_the_groups_a_person_would_choose(service: RunningService) -> None:
    found = trained(service.client, list(ADULT), adult(), "income")

    assert found["outcomes"] == {
        "favourable": [">50K"],
        "unfavourable": ["<=50K"],
        "origin": "suggestion",
        "is_certain": True,
        "evidence": "the words '<=50K' and '>50K' say it; confirm",
    }
    assert [(proposal["feature"], proposal["kind"], proposal["confidence"]) for proposal in found["proposals"]] == [
        ("sex", "sex", "high"),
        ("race", "race", "high"),
        ("marital_status", "marital_status", "high"),
        ("age", "age", "high"),
    ]
    assert groups(of(found, "sex")) == (["Female"], ["Male"])
    assert groups(of(found, "race")) == (["Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"], ["White"])
    assert groups(of(found, "marital_status")) == (
        ["Never-married", "Divorced", "Separated", "Widowed", "Married-spouse-absent"],
        ["Married-civ-spouse", "Married-AF-spouse"],
    )
    assert groups(of(found, "age")) == ([[17, 25], [65, 90]], [[26, 64]])
    assert found["not_proposed"] == []
    female = next(group for group in of(found, "sex")["groups"] if group["value"] == "Female")
    assert (female["records"], female["favourable"], female["rate"]) == (10_771, 1_179, pytest.approx(1179 / 10771))
    assert female["lower"] < female["rate"] < female["upper"]
    assert of(found, "sex")["evidence"]["records"] == 32_561


def test_of_credit_risk_sex_and_age_are_proposed_by_who_fares_better_and_the_unusual_direction_is_said(service: RunningService) -> None:
    header, *rows = table_of("openscale_credit_risk_training.csv")

    found = trained(service.client, header, rows, "Risk")

    assert [proposal["feature"] for proposal in found["proposals"]] == ["Sex", "Age"]
    sex, age = found["proposals"]
    assert (found["outcomes"]["favourable"], found["outcomes"]["unfavourable"]) == (["No Risk"], ["Risk"])
    assert groups(sex) == (["male"], ["female"])
    assert any("usually 'male' is the reference" in warning for warning in sex["warnings"])
    assert (sex["threshold"], sex["upper_threshold"]) == (0.8, 1.25)
    assert groups(age) == ([[40, 74]], [[19, 39]])
    assert groups(sex["customary"]) == (["female"], ["male"])
    assert groups(age["customary"]) == ([[19, 25]], [[26, 74]])


def test_the_groups_of_custom_are_accepted_with_one_request_and_again_change_nothing(service: RunningService) -> None:
    header, *rows = table_of("openscale_credit_risk_training.csv")
    trained(service.client, header, rows, "Risk")
    asked = {"attributes": [{"feature": "Sex", "groups": "customary"}, {"feature": "Age", "groups": "customary"}]}

    first = service.client.post(PATH, json=asked).raise_for_status().json()
    again = service.client.post(PATH, json=asked).raise_for_status().json()

    assert [groups(attribute) for attribute in first["attributes"]] == [(["female"], ["male"]), ([[19, 25]], [[26, 74]])]
    assert again["version"] == first["version"]


def test_of_the_coded_german_credit_data_the_sex_is_told_and_rates_are_absent_because_1_and_2_say_nothing(service: RunningService) -> None:
    header, *rows = table_of("german_statlog.csv")

    found = trained(service.client, header, rows, "credit")

    sex, age = found["proposals"]
    assert (found["outcomes"]["origin"], found["outcomes"]["favourable"]) == ("unknown", None)
    assert (sex["feature"], sex["kind"], groups(sex)) == ("personal_status", "sex", (["A92"], ["A93", "A94", "A91"]))
    assert all((group["rate"], group["reason"]) == (None, "the favourable outcomes are not known") for group in sex["groups"])
    assert any("marital status" in warning for warning in sex["warnings"])
    assert groups(age) == ([[19, 25]], [[26, 75]])


def test_outcomes_that_were_sent_decide_who_is_monitored(service: RunningService) -> None:
    header, *rows = table_of("german_statlog.csv")
    trained(service.client, header, rows, "credit")

    refused = errors(service.client.post(PATH, json={}))
    accepted = service.client.post(PATH, json={"favourable": [1], "unfavourable": [2]}).json()

    assert [field for field, _ in refused] == ["favourable", "unfavourable"]
    assert (accepted["favourable"], [attribute["feature"] for attribute in accepted["attributes"]]) == ([1], ["personal_status", "age"])


def test_without_training_data_the_newest_payload_is_looked_at(service: RunningService) -> None:
    client = service.client
    client.post("/v1/deployments", json=deployment()).raise_for_status()
    nothing = client.get(PATH).raise_for_status().json()
    records = [
        {
            "features": {"Age": 20 + no % 40, "Sex": "female" if no % 3 else "male", "Owner": True},
            "meta": {"Postcode": "N1"},
            "prediction": no % 2,
            "label": "No Risk" if no % 2 else "Risk",
        }
        for no in range(300)
    ]
    client.post(f"{DEPLOYMENT}/payload-records", json={"records": records}).raise_for_status()

    found = client.get(PATH).raise_for_status().json()

    assert (nothing["proposals"], nothing["outcomes"]["origin"]) == ([], "unknown")
    assert [refusal["reason"][:35] for refusal in nothing["not_proposed"]] == 3 * ["nothing is known of its values: upl"]
    assert [(proposal["feature"], proposal["evidence"]["data"], proposal["evidence"]["records"]) for proposal in found["proposals"]] == [
        ("Sex", "as_logged", 300),
        ("Age", "as_logged", 300),
    ]
    assert found["outcomes"]["favourable"] == ["No Risk"]


def test_accepting_everything_makes_a_monitor_and_again_changes_nothing(client: httpx.Client, service: RunningService) -> None:
    first = client.post(PATH)
    again = client.post(PATH, json={})

    assert first.status_code == 200, first.text
    assert first.json() == again.json() == client.get(MONITOR).json()
    assert [(attribute["feature"], groups(attribute)) for attribute in first.json()["attributes"]] == [
        ("Sex", (["female"], ["male"])),
        ("Age", ([[20, 25]], [[26, 45]])),
    ]
    assert first.json()["version"] == 1
    with service.database.transaction() as session:
        noted = session.scalars(select(ActivityRow.action)).all()
    assert [action for action in noted if "monitor" in action] == ["monitor.accepted_recommendations"]


def test_what_is_monitored_is_marked_and_not_proposed_again(client: httpx.Client) -> None:
    client.put(MONITOR, json=monitor(intersections=[], attributes=[monitor()["attributes"][0]])).raise_for_status()

    found = client.get(PATH).json()

    assert [proposal["feature"] for proposal in found["proposals"]] == ["Age"]
    assert found["already_monitored"] == [{"feature": "Sex", "kind": "sex"}]
    assert found["outcomes"]["origin"] == "monitor"


def test_an_edited_proposal_is_merged_and_what_the_monitor_has_otherwise_stays(client: httpx.Client) -> None:
    limits = {"flip_rate": {"upper": 0.1, "lower": None}}
    sex = {"feature": "Sex", "monitored": ["female"], "reference": ["male"], "threshold": 0.95, "metric_limits": limits}
    client.put(MONITOR, json=monitor(intersections=[], attributes=[sex], min_records=7)).raise_for_status()

    edited = {"attributes": [{"feature": "Age", "monitored": [[20, 30]], "reference": [[31, 45]]}, {"feature": "Sex", "threshold": 0.9}]}
    merged = client.post(PATH, json=edited).json()
    again = client.post(PATH, json=edited).json()

    assert merged == again
    assert (merged["min_records"], merged["version"]) == (7, 2)
    by_name = {attribute["feature"]: attribute for attribute in merged["attributes"]}
    assert (by_name["Sex"]["threshold"], by_name["Sex"]["metric_limits"]) == (0.9, limits)
    assert groups(by_name["Age"]) == ([[20, 30]], [[31, 45]])


def test_whose_records_they_are_is_said_with_the_acceptance_and_otherwise_stays(client: httpx.Client) -> None:
    said = client.post(PATH, json={"evidence": {"each_record_another_person": True}}).json()["evidence"]
    again = client.post(PATH, json={"attributes": [{"feature": "Age", "threshold": 0.9}]}).json()

    assert (said["each_record_another_person"], said["person"]) == (True, None)
    assert said["declared_by"]
    assert said["declared_on"]
    assert (again["version"], again["evidence"]) == (2, said)


def test_what_cannot_be_accepted_is_refused_at_its_place(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({"evidence": {"person": "nobody"}}, "evidence.person"),
        ({"evidence": {"person": "Sex"}}, "evidence.person"),
        ({"evidence": {"person": "Owner", "each_record_another_person": True}}, "evidence.each_record_another_person"),
        ({"evidence": {"person": "Owner", "persons": 1}}, "evidence.persons"),
        ({"attributes": [{"feature": "Owner"}]}, "attributes[0].feature"),
        ({"attributes": [{"feature": "Sex"}, {"feature": "Sex"}]}, "attributes[1].feature"),
        ({"attributes": []}, "attributes"),
        ({"attributes": [{"feature": "Age"}, {"feature": "Sex", "monitored": ["male"]}]}, "attributes[1].reference[0]"),
        ({"attributes": [{"feature": "Sex", "threshold": 2}]}, "attributes[0].threshold"),
        ({"favourable": ["No Risk"]}, "unfavourable"),
        ({"attributes": [{"feature": "Sex", "surprise": 1}]}, "attributes[0].surprise"),
    ):
        with subtests.test(body=body, field=field):
            assert field in [found for found, _ in errors(client.post(PATH, json=body))]
            assert client.get(MONITOR).status_code == 404


def test_a_reader_may_look_and_not_accept_and_an_unknown_deployment_is_not_found(service: RunningService, client: httpx.Client) -> None:
    key = client.post("/v1/api-keys", json={"name": "reader", "role": "read"}).json()["key"]
    reader = service.new_client(headers={"Authorization": f"Bearer {key}"})

    with reader:
        answers = [reader.get(PATH).status_code, reader.post(PATH, json={}).status_code]

    assert answers == [200, 403]
    assert client.get("/v1/deployments/nobody/recommended-monitors").status_code == 404


def test_postal_codes_are_proposed_where_few_hold_the_records_and_else_it_is_said_why_not(service: RunningService) -> None:
    header = ["Postcode", "Risk"]
    few = [["10115", "Risk" if no % 3 else "No Risk"] for no in range(200)] + [["80331", "No Risk"]] * 300
    many = [[f"10{no % 400:03}", "Risk" if no % 2 else "No Risk"] for no in range(2000)]
    found = trained(service.client, header, few, "Risk")
    upload(service.client, [header, *many], "Risk")

    thin = service.client.get(PATH).json()

    assert [(proposal["kind"], proposal["accepted_by_default"], *groups(proposal)) for proposal in found["proposals"]] == [
        ("postal_code", False, [10115], [80331])
    ]
    assert thin["proposals"] == []
    assert "400 postal codes" in thin["not_proposed"][0]["reason"]
    assert "Log the first 3 characters" in thin["not_proposed"][0]["reason"]


def test_hostile_values_are_looked_at_and_change_nothing(service: RunningService) -> None:
    header = ["sex", "race", "age", "Risk"]
    strange = [
        "female × male",
        "",
        " ",
        "\u202e",
        "\N{SLIGHTLY SMILING FACE}" * 40,
        "x" * 190,
        "NaN",
        "'; DROP TABLE payload_records; --",
        "[1, 2]",
    ]
    rows = [[strange[no % len(strange)], strange[(no + 1) % len(strange)], strange[(no + 2) % len(strange)], "Risk"] for no in range(90)]

    found = trained(service.client, header, rows, "Risk")

    assert found["outcomes"]["origin"] == "unknown"
    assert all(json.dumps(proposal) for proposal in found["proposals"])
    assert "female × male" not in json.dumps([groups(proposal) for proposal in found["proposals"]], ensure_ascii=False)


def test_meta_fields_are_looked_at_like_features_and_records_of_an_earlier_schema_are_not(
    service: RunningService, snapshot: SnapshotAssertion
) -> None:
    client = service.client
    body = deployment(features=[{"name": "Income", "type": "integer"}], meta=[{"name": "applicant_sex", "type": "integer"}])
    client.post("/v1/deployments", json=body).raise_for_status()
    records = [
        {"features": {"Income": no}, "meta": {"applicant_sex": 1 + no % 2}, "prediction": no % 2, "label": ("denied", "approved")[no % 2]}
        for no in range(200)
    ]
    client.post(f"{DEPLOYMENT}/payload-records", json={"records": records}).raise_for_status()
    found = client.get(PATH).raise_for_status().json()
    features = [{"name": "Income", "type": "integer"}, {"name": "Owner", "type": "boolean"}]
    client.patch(DEPLOYMENT, json={"features": features}).raise_for_status()

    later = client.get(PATH).raise_for_status().json()

    (proposal,) = found["proposals"]
    assert (proposal["feature"], proposal["is_meta"], proposal["confidence"]) == ("applicant_sex", True, "medium")
    assert (proposal["accepted_by_default"], groups(proposal)) == (False, ([1], [2]))
    assert any(says(warning, "1 = male", "2 = female", "ISO 5218") for warning in proposal["warnings"])
    assert proposal["warnings"] == snapshot
    assert (later["proposals"], later["outcomes"]["origin"]) == ([], "unknown")
