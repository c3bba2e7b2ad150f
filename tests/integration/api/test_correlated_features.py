"""Correlated features over HTTP: looked at, picked in a monitor, refused where there are no donors."""

import random
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.deployments.training.queries import NOT_CORRECTED
from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/correlated-features"
MONITOR = f"{DEPLOYMENT}/fairness-monitor"
TRAINING = f"{DEPLOYMENT}/training-data"
ROWS = "Age,Sex,Owner,Postcode,Risk\n" + 10 * (
    "20,female,true,N1,Risk\n40,female,false,N1,No Risk\n20,male,true,S2,No Risk\n40,male,,S2,No Risk\n"
)

_RANDOM = random.Random(1)
RANDOM = "Age,Sex,Owner,Postcode,Risk\n" + "".join(
    f"30,kind {_RANDOM.randrange(90)},{_RANDOM.random() < (0.8 if postcode == 'N1' else 0.2)},{postcode},Risk\n".replace(
        "True", "true"
    ).replace("False", "false")
    for postcode in 300 * ("N1", "S2")
)
"""Owners live in N1; `Sex` holds one of 90 values at random."""


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """A client of a service that has a deployment."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    return service.client


@pytest.fixture
def trained(client: httpx.Client) -> httpx.Client:
    """The same with training data."""
    upload(client)
    return client


def upload(client: httpx.Client, rows: str = ROWS) -> None:
    client.put(TRAINING, content=rows, params={"label": "Risk"}, headers={"Content-Type": "text/csv"}).raise_for_status()


def through(*features: str) -> dict[str, Any]:
    """A monitor of the meta field through these correlated features."""
    attribute = {"feature": "Postcode", "monitored": ["N1"], "reference": ["S2"], "correlated_features": list(features)}
    return monitor(attributes=[attribute], intersections=[])


def errors(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(error["field"], error["message"]) for error in answer.json()["errors"]]


def test_features_come_strongest_first_with_measure_strength_and_counts(trained: httpx.Client) -> None:
    answer = trained.get(PATH, params={"attribute": "Postcode"}).json()

    assert (answer["attribute"], answer["threshold"], answer["reason"]) == ("Postcode", 0.1, None)
    sex, owner, age = answer["features"]
    assert sex == {
        "feature": "Sex",
        "measure": "cramers_v",
        "strength": 1.0,
        "chance_level": pytest.approx(0.275, abs=0.001),
        "uncorrected": 1.0,
        "records": 40,
        "left_out": 0,
        "reason": None,
        "recommended": True,
        "can_be_picked": True,
        "warning": None,
    }
    # 10 and 10 of N1, 10 and 0 of S2: chi-squared = 30 x (10 x 10)^2 / (20 x 10 x 20 x 10).
    assert (owner["feature"], owner["records"], owner["left_out"]) == ("Owner", 30, 10)
    assert owner["uncorrected"] == pytest.approx(0.5)
    assert owner["strength"] == pytest.approx(((1 / 4 - 1 / 29) / (28 / 29)) ** 0.5)
    assert (age["feature"], age["measure"], age["strength"], age["recommended"]) == ("Age", "correlation_ratio", 0, False)
    assert age["can_be_picked"] is False


def test_the_threshold_can_be_asked_for(trained: httpx.Client) -> None:
    answer = trained.get(PATH, params={"attribute": "Postcode", "threshold": 0.6}).json()

    assert answer["threshold"] == 0.6
    assert [feature["feature"] for feature in answer["features"] if feature["recommended"]] == ["Sex"]


def test_a_threshold_out_of_bounds_is_refused(trained: httpx.Client, subtests: pytest.Subtests) -> None:
    for threshold in ("-0.1", "1.1", "nan", "strong"):
        with subtests.test(threshold=threshold):
            assert errors(trained.get(PATH, params={"attribute": "Postcode", "threshold": threshold}))[0][0] == "threshold"


@pytest.mark.parametrize(("attribute", "message"), [("Sex", "'Sex' is a feature, which"), ("Zodiac", "'Zodiac' is not a meta field")])
def test_only_meta_fields_are_compared(trained: httpx.Client, attribute: str, message: str) -> None:
    ((field, found),) = errors(trained.get(PATH, params={"attribute": attribute}))

    assert field == "attribute"
    assert found.startswith(message)


def of_chance(monitor: dict[str, Any]) -> list[dict[str, str]]:
    """The warnings of correlated features, without those of values that nobody has seen."""
    return [warning for warning in monitor["warnings"] if "correlated_features" in warning["field"]]


def test_a_column_of_random_values_is_not_recommended_can_be_picked_and_is_warned_about(
    client: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    upload(client, RANDOM)

    answer = client.get(PATH, params={"attribute": "Postcode"}).json()
    checked = client.put(MONITOR, json=through("Owner", "Sex"), params={"validate_only": True}).json()
    picked = client.put(MONITOR, json=through("Owner", "Sex")).json()
    read = client.get(MONITOR).json()
    without = client.put(MONITOR, json=through("Owner")).json()

    owner, sex = (next(feature for feature in answer["features"] if feature["feature"] == name) for name in ("Owner", "Sex"))
    assert (owner["recommended"], owner["can_be_picked"], owner["warning"]) == (True, True, None)
    assert (sex["recommended"], sex["can_be_picked"]) == (False, True)
    assert sex["uncorrected"] > 0.3
    assert sex["strength"] <= sex["chance_level"]
    assert says(sex["warning"], "Sex", "Postcode", "shuffled")
    assert sex["warning"] == snapshot
    assert of_chance(picked) == [{"field": "attributes[0].correlated_features[1]", "message": sex["warning"]}]
    assert checked["warnings"] == read["warnings"] == picked["warnings"]
    assert of_chance(without) == []


def test_strengths_of_an_earlier_version_are_not_shown_as_corrected(
    trained: httpx.Client, service: RunningService, snapshot: SnapshotAssertion
) -> None:
    with service.database.transaction() as session:
        earlier = '[["Age", "correlation_ratio", 0.0, 40, 0, null], ["Sex", "cramers_v", 1.0, 40, 0, null]]'
        session.execute(text("UPDATE training_correlations SET associations = :earlier"), {"earlier": earlier})

    sex, age = trained.get(PATH, params={"attribute": "Postcode"}).json()["features"]
    (warning,) = trained.put(MONITOR, json=through("Sex")).json()["warnings"]

    assert (sex["feature"], sex["strength"], sex["chance_level"], sex["uncorrected"]) == ("Sex", None, None, 1.0)
    assert (sex["recommended"], sex["can_be_picked"], age["can_be_picked"]) == (False, True, False)
    assert sex["reason"] == NOT_CORRECTED
    assert "upload them again" in NOT_CORRECTED
    assert sex["warning"] == warning["message"]
    assert says(warning["message"], "Sex", "Postcode")
    assert warning["message"] == snapshot


def test_without_training_data_it_is_not_found_and_without_the_column_the_list_is_empty_and_says_why(
    client: httpx.Client, service: RunningService, snapshot: SnapshotAssertion
) -> None:
    nothing = client.get(PATH, params={"attribute": "Postcode"})
    upload(client, "Age,Sex,Owner,Risk\n20,female,true,Risk\n40,male,false,No Risk\n")
    without = client.get(PATH, params={"attribute": "Postcode"}).json()
    upload(client)
    with service.database.transaction() as session:
        session.execute(text("DELETE FROM training_correlations"))
    earlier = client.get(PATH, params={"attribute": "Postcode"}).json()

    assert nothing.status_code == 404
    assert nothing.json()["detail"] == snapshot
    assert without["features"] == []
    assert says(without["reason"], "Postcode")
    assert without["reason"] == snapshot
    assert (earlier["features"], earlier["reason"][:33]) == ([], "the training data were uploaded b")


def test_a_ready_distribution_has_no_rows_to_compare(client: httpx.Client) -> None:
    counts = [{"values": ["N1"], "label": "Risk", "records": 3}, {"values": ["S2"], "label": "No Risk", "records": 3}]
    client.put(TRAINING, json={"distributions": [{"columns": ["Postcode"], "counts": counts}]}).raise_for_status()

    answer = client.get(PATH, params={"attribute": "Postcode"}).json()

    assert (answer["features"], "ready distribution" in answer["reason"]) == ([], True)


def test_features_are_picked_and_read_back_and_left_out_they_are_none(trained: httpx.Client) -> None:
    picked = trained.put(MONITOR, json=through("Sex", "Owner")).json()
    again = trained.put(MONITOR, json=through("Sex", "Owner")).json()
    unpicked = trained.put(MONITOR, json=through()).json()

    assert picked["attributes"][0]["correlated_features"] == ["Sex", "Owner"]
    assert (picked["version"], again["version"], unpicked["version"]) == (1, 1, 2)
    assert trained.get(MONITOR).json()["attributes"][0]["correlated_features"] == []


def test_features_without_donors_are_refused_with_what_to_do(trained: httpx.Client, snapshot: SnapshotAssertion) -> None:
    weak = errors(trained.put(MONITOR, json=through("Sex", "Age")))
    trained.delete(TRAINING)
    gone = errors(trained.put(MONITOR, json=through("Sex")))

    assert [field for field, _ in weak] == ["attributes[0].correlated_features[1]"]
    assert says(weak[0][1], "'Age'")
    assert weak[0][1] == snapshot
    assert gone == [
        (
            "attributes[0].correlated_features[0]",
            "no training data hold both 'Postcode' and the features; upload them as a file with that column",
        )
    ]


def test_uploading_again_replaces_donors_and_deleting_takes_them_along(trained: httpx.Client, service: RunningService) -> None:
    with service.database.transaction() as session:
        first = session.scalar(text("SELECT digest FROM training_correlations"))
    upload(trained, ROWS + "40,male,true,S2,No Risk\n")

    with service.database.transaction() as session:
        second = session.scalars(text("SELECT digest FROM training_correlations")).all()
    trained.delete(TRAINING)
    with service.database.transaction() as session:
        left = session.scalar(text("SELECT count(*) FROM training_correlations"))
    assert len(second) == 1
    assert second != [first]
    assert left == 0


def test_a_feature_that_the_schema_no_longer_has_cannot_be_picked(trained: httpx.Client) -> None:
    features = [{"name": "Age", "type": "integer"}, {"name": "Owner", "type": "boolean"}]
    trained.patch(DEPLOYMENT, json={"features": features}).raise_for_status()

    answer = trained.get(PATH, params={"attribute": "Postcode"}).json()

    assert [feature["feature"] for feature in answer["features"] if feature["can_be_picked"]] == ["Owner"]


def test_a_feature_that_has_another_type_than_its_donors_cannot_be_picked(trained: httpx.Client) -> None:
    features = [{"name": "Age", "type": "integer"}, {"name": "Sex", "type": "string"}, {"name": "Owner", "type": "string"}]
    trained.patch(DEPLOYMENT, json={"features": features}).raise_for_status()

    answer = trained.get(PATH, params={"attribute": "Postcode"}).json()
    refused = errors(trained.put(MONITOR, json=through("Sex", "Owner")))

    assert [feature["feature"] for feature in answer["features"] if feature["can_be_picked"]] == ["Sex"]
    assert [field for field, _ in refused] == ["attributes[0].correlated_features[1]"]
    assert "its type was changed since" in refused[0][1]
