"""A monitor that names what nobody has seen is stored, and the answer says so with what was seen."""

from typing import Any

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
MONITOR = f"{DEPLOYMENT}/fairness-monitor"
TRAINED = "Age,Sex,Owner,Postcode,Risk\n" + 30 * "20,female,true,N1,Risk\n40,male,false,S2,No Risk\n22,male,true,S2,No Risk\n"


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """A client of a service that has a deployment."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    return service.client


def train(client: httpx.Client) -> None:
    sent = client.put(f"{DEPLOYMENT}/training-data", content=TRAINED, params={"label": "Risk"}, headers={"Content-Type": "text/csv"})
    sent.raise_for_status()


def log(client: httpx.Client, *records: dict[str, Any]) -> None:
    client.post(f"{DEPLOYMENT}/payload-records", json={"records": list(records)}).raise_for_status()


def record(*, sex: str = "female", age: int = 30, label: object = "No Risk") -> dict[str, Any]:
    return {"features": {"Age": age, "Sex": sex, "Owner": True}, "meta": {"Postcode": "N1"}, "prediction": 0, "label": label}


def warned(client: httpx.Client, *, stored: bool = False, **changes: object) -> dict[str, str]:
    """The warnings of the monitor with these changes, by field."""
    params = {} if stored else {"validate_only": "true"}
    answer = client.put(MONITOR, json=monitor(**changes), params=params)
    assert answer.status_code == 200, answer.text
    return {warning["field"]: warning["message"] for warning in answer.json()["warnings"]}


def of_sex(**changes: object) -> list[dict[str, Any]]:
    return [{"feature": "Sex", "monitored": ["female"], "reference": ["male"], **changes}]


def test_without_training_data_and_records_nothing_is_warned_of(client: httpx.Client) -> None:
    assert warned(client, favourable=["No Rsik"]) == {}


def test_a_misspelt_outcome_is_warned_of_with_the_labels_of_the_training_data(client: httpx.Client) -> None:
    train(client)

    message = "'No Rsik' was never seen in the training data; seen there: 'No Risk' (60), 'Risk' (30); did you mean 'No Risk'?"
    assert warned(client, favourable=["No Rsik"]) == {"favourable[0]": message}
    assert warned(client) == {}


def test_a_stored_monitor_is_warned_of_as_a_checked_one_is(client: httpx.Client) -> None:
    train(client)

    assert warned(client, stored=True, unfavourable=["risk"]) == warned(client, unfavourable=["risk"])
    assert [warning["field"] for warning in client.get(MONITOR).json()["warnings"]] == ["unfavourable[0]"]


def test_groups_and_ranges_are_warned_of_by_the_values_of_their_column(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    log(client, record(), record(sex="male", label="Risk"))
    attributes = [*of_sex(reference=["Male"]), {"feature": "Age", "monitored": [[1, 5]], "reference": [[26, 75]]}]

    found = warned(client, attributes=attributes)
    assert found.keys() == {"attributes[0].reference[0]", "attributes[1].monitored[0]"}
    assert says(found["attributes[0].reference[0]"], "'Male'", "2 records", "'female' (1)", "'male' (1)", "did you mean 'male'?")
    assert says(found["attributes[1].monitored[0]"], "1 to 5", "2 records", "30 to 30")
    assert found == snapshot


@pytest.mark.parametrize("reference", [["male"], None])
def test_a_value_that_differs_from_a_listed_one_by_a_blank_is_named_with_its_records(
    client: httpx.Client, reference: list[str] | None
) -> None:
    train(client)
    log(client, *(record(sex=sex) for sex in ("female", "female ", "female ", "Female")))

    found = warned(client, attributes=of_sex(reference=reference), intersections=[])

    words = "'Sex': 'female ' (2 records) differs from 'female' by a blank, so it is in no group until it is listed"
    assert found == {"attributes[0]": words}
    assert warned(client, attributes=of_sex(monitored=["female", "female "], reference=reference), intersections=[]) == {}


def test_a_value_of_either_the_training_data_or_the_records_is_no_surprise(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    train(client)
    log(client, record(sex="diverse", label="Later"))

    assert warned(client, favourable=["Later"], unfavourable=["Risk"], attributes=of_sex(reference=["diverse"]), intersections=[]) == {}
    both = warned(client, attributes=of_sex(reference=["Dyverse"]), intersections=[])
    assert says(both["attributes[0].reference[0]"], "'Dyverse'")
    assert both["attributes[0].reference[0]"] == snapshot


def test_text_where_numbers_are_listed_is_told_apart_from_them(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    log(client, {**record(), "prediction": "1", "label": None}, {**record(), "prediction": "0", "label": None})

    found = warned(client, favourable=[1], unfavourable=[0], attributes=of_sex(reference=None), intersections=[])

    assert found.keys() == {"favourable[0]", "unfavourable[0]"}
    assert says(found["favourable[0]"], "1", "2 records", "'0' (1)", "'1' (1)", "did you mean the text '1'?")
    assert says(found["unfavourable[0]"], "0", "2 records", "'0' (1)", "'1' (1)", "did you mean the text '0'?")
    assert found == snapshot
    assert warned(client, favourable=["1"], unfavourable=["0"], attributes=of_sex(reference=None), intersections=[]) == {}


def test_strata_that_are_an_attribute_are_stored_with_a_warning(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    found = warned(client, strata="Sex", stored=True)
    assert found.keys() == {"strata"}
    assert says(found["strata"], "'Sex'", "metrics of Sex")
    assert found == snapshot


def test_many_unseen_values_are_warned_of_once_each_up_to_ten(client: httpx.Client, snapshot: SnapshotAssertion) -> None:
    train(client)

    found = warned(client, attributes=of_sex(monitored=[f"group {no}" for no in range(25)]), intersections=[])

    assert len(found) == 11
    assert says(found["attributes[0].monitored"], "15")
    assert found["attributes[0].monitored"] == snapshot


def test_accepted_recommendations_are_warned_of_too(client: httpx.Client) -> None:
    train(client)
    asked = {"favourable": ["Yes"], "unfavourable": ["Risk"], "attributes": [{"feature": "Sex"}]}

    answer = client.post(f"{DEPLOYMENT}/recommended-monitors", json=asked)

    assert answer.status_code == 200, answer.text
    assert [warning["field"] for warning in answer.json()["warnings"]] == ["favourable[0]"]
