from collections.abc import Callable
from itertools import cycle
from typing import Any

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.builders.row_server import row_server
from tests.models.faulty import Fault, closed_url, faulty
from tests.models.serving import ModelServer
from tests.service import RunningService

ADDRESS = "/v1/deployments/credit-risk"
TESTS = f"{ADDRESS}/endpoint-tests"
RECORD = {"Age": 31, "Sex": "female", "Owner": True}
SECRET = {"kind": "bearer", "secret": "open sesame"}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Risk below 30, a word that no monitor knows below 20."""
    label = "No Risk" if row["Age"] >= 30 else "Risk" if row["Age"] >= 20 else "Perhaps"
    return {"prediction": int(label == "No Risk"), "probability": 0.75, "predictedLabel": label}


def set_up(service: RunningService, url: str, **changes: object) -> None:
    service.client.post("/v1/deployments", json=deployment(endpoint={"url": url, "credentials": SECRET}, **changes)).raise_for_status()
    service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor()).raise_for_status()


def fields(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 422, answer.text
    return {problem["field"] for problem in answer.json()["errors"]}


def result(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def log(service: RunningService, **record: Any) -> None:  # noqa: ANN401
    sent = {"id": "application-1", "features": RECORD, "prediction": 1, "probability": 0.75, "label": "No Risk", **record}
    receipt = service.client.post(f"{ADDRESS}/payload-records", json={"records": [sent]}).json()
    assert receipt["accepted"] == 1, receipt


def test_each_record_is_answered_with_its_prediction_and_outcome(service: RunningService, snapshot: SnapshotAssertion) -> None:
    with row_server(judged) as model:
        set_up(service, model.url)
        found = result(service.client.post(TESTS, json={"records": [RECORD | {"Age": age} for age in (40, 25, 18)]}))
        sent = list(model.counts.authorizations)

    assert (found["ok"], found["fault"], found["logged"], found["same_as_logged"]) == (True, None, None, None)
    assert found["predictions"][0] == {"prediction": 1, "probability": 0.75, "label": "No Risk", "outcome": "favourable"}
    assert [prediction["outcome"] for prediction in found["predictions"]] == ["favourable", "unfavourable", "unclassified"]
    assert says(found["warnings"][0], "'Perhaps'")
    assert found["warnings"] == snapshot
    assert 0 < found["seconds"] < 10
    assert sent == ["Bearer open sesame"] * 2  # asked again


def test_without_records_the_newest_logged_one_is_asked_about_and_compared(service: RunningService, snapshot: SnapshotAssertion) -> None:
    with row_server(judged) as model:
        set_up(service, model.url)
        log(service, id="older", features=RECORD | {"Age": 18})
        log(service)
        same = result(service.client.post(TESTS))
        log(service, id="application-2", prediction=0, label="Risk")
        other = result(service.client.post(TESTS, json={}))
        rows = model.counts.rows

    assert (same["logged"]["id"], same["same_as_logged"], same["warnings"], rows) == ("application-1", True, [], 2 * (1 + 10))
    assert (other["logged"]["id"], other["logged"]["label"], other["same_as_logged"]) == ("application-2", "Risk", False)
    assert says(other["warnings"][0], "1", "No Risk", "0.75", "0", "Risk", "0.75")
    assert other["warnings"][0] == snapshot


def test_without_a_record_to_ask_about_one_is_asked_for(service: RunningService) -> None:
    with row_server(judged) as model:
        set_up(service, model.url)
        nothing = service.client.post(TESTS)
        log(service)
        service.client.patch(ADDRESS, json={"meta": []}).raise_for_status()
        outdated = service.client.post(TESTS)

    assert (nothing.status_code, outdated.status_code) == (409, 409)
    assert "Send one in `records`" in nothing.json()["detail"]
    assert "Send a record in `records`" in outdated.json()["detail"]


def test_without_a_monitor_no_outcome_is_told_and_without_an_endpoint_nothing_is_tested(service: RunningService) -> None:
    with row_server(judged) as model:
        set_up(service, model.url)
        service.client.delete(f"{ADDRESS}/fairness-monitor").raise_for_status()
        found = result(service.client.post(TESTS, json={"records": [RECORD]}))
        service.client.patch(ADDRESS, json={"endpoint": None}).raise_for_status()
        none = service.client.post(TESTS, json={"records": [RECORD]})

    assert found["predictions"][0]["outcome"] is None
    assert found["outcome_reason"].startswith("There is no fairness monitor")
    assert none.status_code == 409


def test_a_model_without_probabilities_is_warned_of(service: RunningService) -> None:
    with row_server(lambda row: {name: value for name, value in judged(row).items() if name != "probability"}) as model:
        set_up(service, model.url, outputs={"prediction": "prediction", "label": "predictedLabel"})
        found = result(service.client.post(TESTS, json={"records": [RECORD]}))

    assert found["predictions"][0]["probability"] is None
    assert [warning[:31] for warning in found["warnings"]] == ["The answer holds no probability"]


def test_a_regression_that_answers_words_is_warned_of(service: RunningService, snapshot: SnapshotAssertion) -> None:
    with row_server(judged) as model:
        body = deployment(problem_type="regression", outputs={"prediction": "predictedLabel"}, endpoint={"url": model.url})
        found = result(service.client.post("/v1/endpoint-tests", json={"deployment": body, "records": [RECORD]}))

    assert says(found["warnings"][0], "'No Risk'")
    assert found["warnings"] == snapshot


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.STATUS_500, "answered 500 Internal Server Error (1 attempt)"),
        (Fault.SLOW, "did not answer within 0.2 seconds"),
        (Fault.STATUS_401, "Check the deployment's credentials."),
        (Fault.REDIRECT, "Redirects are not followed"),
        (Fault.HANG_UP, "broke off the connection"),
        (Fault.NOT_JSON, "did not answer JSON"),
        (Fault.EMPTY, "answered without a body"),
        (Fault.WRONG_LENGTH, "rows for a page of 1"),
        (Fault.NAN, "gave the probability nan"),
        (Fault.OTHER_INPUTS, "repeats inputs"),
        (Fault.MISSING_COLUMN, "column"),
        (Fault.NULL_PREDICTION, "null"),
    ],
)
def test_a_model_that_fails_is_a_result_in_words(service: RunningService, fault: Fault, words: str) -> None:
    features = [{"name": "sex", "type": "string"}, {"name": "income", "type": "number"}]
    with faulty(fault) as model:
        endpoint = {"url": model.url, "credentials": SECRET, "timeout_seconds": 0.2 if fault is Fault.SLOW else 30}
        body = deployment(features=features, outputs={"prediction": "prediction", "probability": "probability"}, endpoint=endpoint)
        service.client.post("/v1/deployments", json=body).raise_for_status()
        found = result(service.client.post(TESTS, json={"records": [{"sex": "female", "income": None}]}))
        requests = model.counts.requests

    assert (found["ok"], found["predictions"], found["same_as_logged"], requests) == (False, [], None, 1)
    assert words in found["fault"]


def test_an_endpoint_where_nobody_listens_is_a_result(service: RunningService) -> None:
    set_up(service, closed_url())
    found = result(service.client.post(TESTS, json={"records": [RECORD]}))

    assert "could not be reached" in found["fault"]


def test_credentials_that_the_endpoint_says_aloud_are_not_passed_on(service: RunningService) -> None:
    def aloud(server: list[ModelServer]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda row: judged(row) | {"predictedLabel": f"hello {server[0].counts.authorizations[-1]}"}

    servers: list[ModelServer] = []
    with row_server(aloud(servers)) as model, faulty(Fault.ECHO_CREDENTIALS) as angry:
        servers.append(model)
        set_up(service, model.url)
        as_label = service.client.post(TESTS, json={"records": [RECORD]})
        service.client.patch(ADDRESS, json={"endpoint": {"url": angry.url, "credentials": SECRET}}).raise_for_status()
        as_fault = service.client.post(TESTS, json={"records": [RECORD]})

    assert result(as_label)["predictions"][0]["label"] == "hello Bearer [redacted]"
    assert "[redacted]" in result(as_fault)["fault"]
    assert "sesame" not in as_label.text + as_fault.text


def test_records_are_checked_like_those_that_are_logged_and_all_faults_are_named(service: RunningService) -> None:
    with row_server(judged) as model:
        set_up(service, model.url)
        faults = service.client.post(TESTS, json={"records": [RECORD, {"Age": 1.5, "Sex": 1, "Owner": None, "Postcode": "1"}, {}]})
        none = service.client.post(TESTS, json={"records": []})
        many = service.client.post(TESTS, json={"records": [RECORD] * 11})
        odd = service.client.post(TESTS, json={"records": [RECORD | {"Sex": "a\0b"}, RECORD | {"Age": 10**40}, RECORD | {"Sex": []}]})
        asked = model.counts.requests

    assert fields(faults) == {
        *("records[1].Postcode", "records[1].Age", "records[1].Sex"),
        *("records[2].Age", "records[2].Sex", "records[2].Owner"),
    }
    assert (fields(none), fields(many)) == ({"records"}, {"records"})
    assert fields(odd) == {"records[0].Sex", "records[1].Age", "records[2].Sex"}
    assert asked == 0


def test_a_deployment_that_is_not_there_yet_is_tested_and_not_stored(service: RunningService) -> None:
    with row_server(judged) as model:
        body = deployment(endpoint={"url": model.url, "credentials": SECRET})
        found = result(service.client.post("/v1/endpoint-tests", json={"deployment": body, "records": [RECORD]}))
        sent = model.counts.authorizations

    assert (found["ok"], found["predictions"][0]["label"], found["outcome_reason"] is None) == (True, "No Risk", False)
    assert sent == ["Bearer open sesame"] * 2  # asked again
    assert service.client.get("/v1/deployments").json()["deployments"] == []
    assert service.client.get("/v1/activities").json()["activities"] == []


def test_a_definition_with_faults_or_an_address_that_is_never_called_is_not_tested(service: RunningService) -> None:
    def sent(**changes: object) -> httpx.Response:
        return service.client.post("/v1/endpoint-tests", json={"deployment": deployment(**changes), "records": [RECORD]})

    assert fields(sent(name=" ", endpoint={"url": "http://169.254.169.254/"})) == {"deployment.name", "deployment.endpoint.url"}
    assert fields(sent(endpoint=None)) == {"deployment.endpoint"}
    assert fields(sent(endpoint={"url": "file:///etc/passwd"})) == {"deployment.endpoint.url"}
    assert fields(sent(endpoint={"url": "http://[::ffff:a9fe:a9fe]/"})) == {"deployment.endpoint.url"}


def test_only_who_may_change_the_deployment_may_test_it(service: RunningService) -> None:
    with row_server(judged) as model:
        set_up(service, model.url)
        with service.database.transaction() as session:
            no = session.connection().exec_driver_sql("SELECT no FROM deployments").scalar_one()
        new = {"deployment": deployment(endpoint={"url": model.url}), "records": [RECORD]}

        def status(address: str, body: object, headers: dict[str, str]) -> int:
            return service.client.post(address, json=body, headers=headers).status_code

        stored = {"records": [RECORD]}
        assert status(TESTS, stored, service.as_(Role.MANAGE, no)) == 200
        assert status(TESTS, stored, service.as_(Role.READ)) == 403
        assert status("/v1/deployments/other/endpoint-tests", stored, service.as_(Role.MANAGE)) == 404
        assert status("/v1/endpoint-tests", new, service.as_(Role.MANAGE)) == 200
        assert status("/v1/endpoint-tests", new, service.as_(Role.MANAGE, no)) == 403


@pytest.mark.parametrize("spoken", ["kserve_v1", "open_inference", "mlflow_records", "sagemaker_json_lines"])
def test_the_format_is_found_by_trying(service: RunningService, spoken: str) -> None:
    with row_server(lambda row: {"prediction": int(row["Age"] > 30), "probability": 0.75}) as model:
        model.columns = ["Age", "Sex", "Owner"]
        model.only = spoken
        body = deployment(outputs={"prediction": "prediction", "probability": "probability"}, endpoint={"url": model.url})
        found = result(service.client.post("/v1/endpoint-tests", json={"deployment": body, "records": [RECORD], "find_format": True}))

    assert (found["ok"], found["payload_format"]) == (True, spoken)
    assert says(found["read"], "the first record", "the prediction 1", "the probability 0.75")
    assert found["sent"].startswith("1 record as ")
    assert found["tried"][0]["payload_format"] == "fields_values"
    for attempt in found["tried"]:
        # One matrix cannot hold the text and the numbers of this record.
        expected = "nothing was sent" if attempt["payload_format"] == "open_inference_matrix" else "answered 400"
        assert expected in attempt["fault"]


def test_the_fault_of_the_format_that_the_model_answers_comes_first(service: RunningService) -> None:
    with row_server(lambda row: {"score": int(row["Age"] > 30)}) as model:
        model.columns = ["Age", "Sex", "Owner"]
        model.only = "mlflow_records"
        body = {"deployment": deployment(endpoint={"url": model.url}), "records": [RECORD], "find_format": True}
        found = result(service.client.post("/v1/endpoint-tests", json=body))

    assert (found["ok"], found["payload_format"]) == (False, "mlflow_records")
    assert "prediction" in found["fault"]
    assert found["tried"][0]["payload_format"] == "fields_values"


def test_where_no_format_fits_the_own_one_says_why(service: RunningService) -> None:
    with row_server(judged) as model:
        model.only = "none"
        set_up(service, model.url)
        found = result(service.client.post(TESTS, json={"records": [RECORD], "find_format": True}))

    assert (found["ok"], found["payload_format"], found["read"]) == (False, "fields_values", None)
    assert "answered 400" in found["fault"]
    assert len(found["tried"]) > 10


def test_answers_that_differ_when_the_records_are_asked_again_get_a_warning(service: RunningService) -> None:
    turns = cycle([31, 18, 18])
    with row_server(lambda row: judged(row | {"Age": next(turns)})) as model:
        set_up(service, model.url)
        found = result(service.client.post(TESTS, json={"records": [RECORD]}))

    assert says(found["warnings"][-1], "The model gives other answers to the same record: 7 of 10 differ from the first")
