"""A caller of the gateway gets the model's own answer, and the call is logged."""

from pathlib import Path

import pytest
from sqlalchemy import text

from app.access.principals import Role
from tests.integration.gateway.scene import MAN, WOMAN, GatewayScene, loans
from tests.models.certificates import Authority, behind_mutual_tls
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running
from tests.progress import wait_until


class Odd(ModelServer):
    """A model that gives one fixed answer to everything."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(RuleScorer())
        self.reply = reply

    def answer(self, path: str, body: bytes) -> Reply:  # noqa: ARG002 - it answers everything alike
        return self.reply


def change(scene: GatewayScene, **changes: object) -> None:
    body = loans(scene.model, **changes)
    del body["id"], body["problem_type"]
    scene.service.client.patch("/v1/deployments/loans", json=body).raise_for_status()


def test_the_answer_is_the_models_own_and_its_records_are_logged(scene: GatewayScene) -> None:
    answer = scene.predict([WOMAN, MAN], headers={"Evenhand-Record-Id": "a"})

    assert answer.status_code == 200
    assert answer.content == b'{"fields":["prediction","probability"],"values":[[0,0.1],[1,0.9]]}'
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["evenhand-record-id"] == "a"
    records = scene.await_records(2)
    assert records.keys() == {"a-1", "a-2"}
    assert scene.arrived() == {"gateway": 2}
    assert (records["a-2"]["features"], records["a-2"]["prediction"], records["a-2"]["probability"]) == (
        {"sex": "male", "income": 20_000.5, "age": 51},
        1,
        0.9,
    )


def test_the_request_reaches_the_model_as_it_was_sent(scene: GatewayScene) -> None:
    body = b'{ "values": [["male", 1e3, 40]],\n "fields": ["sex","income","age"], "extra": true }'

    assert scene.predict(json=None, content=body, headers={"Content-Type": "application/json"}).status_code == 200

    assert scene.model.counts.bodies == [body]
    assert scene.model.counts.authorizations == [None]  # the key is for us alone


def test_a_single_record_has_the_id_of_its_call(scene: GatewayScene) -> None:
    ids = [
        scene.predict(headers={"Evenhand-Record-Id": "mine", "X-Request-Id": "theirs"}).headers["evenhand-record-id"],
        scene.predict(headers={"X-Request-Id": "theirs"}).headers["evenhand-record-id"],
        scene.predict().headers["evenhand-record-id"],
    ]

    assert ids[:2] == ["mine", "theirs"]
    assert scene.await_records(3).keys() == set(ids)


def test_a_call_that_is_sent_again_is_stored_once(scene: GatewayScene) -> None:
    for _ in range(2):
        scene.predict(headers={"Evenhand-Record-Id": "a"})
    scene.predict(headers={"Evenhand-Record-Id": "b"})

    assert scene.await_records(2).keys() == {"a", "b"}


def test_the_endpoints_credentials_and_headers_are_sent_and_win_over_the_callers(scene: GatewayScene) -> None:
    change(
        scene,
        endpoint={
            "url": scene.model.url,
            "credentials": {"kind": "bearer", "secret": "sesame"},
            "headers": {"X-Request-Id": "of the endpoint"},
        },
    )

    assert scene.predict(headers={"X-Request-Id": "of-the-caller"}).status_code == 200

    assert scene.model.counts.authorizations == ["Bearer sesame"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(422, b'{"detail":"income: not a number"}'),
        Reply(500, b"boom", {"X-Secret": "no", "Set-Cookie": "a=b"}),
        Reply(503, b"{}", {"Retry-After": "7"}),
        Reply(302, b"", {"Location": "http://169.254.169.254/"}),
    ],
)
def test_an_error_of_the_model_is_passed_on_and_not_logged(scene: GatewayScene, reply: Reply) -> None:
    with running(Odd(reply)) as odd:
        change(scene, endpoint={"url": odd.url})
        answer = scene.predict(follow_redirects=False)

    assert (answer.status_code, answer.content) == (reply.status, reply.body)
    assert answer.headers.get("retry-after") == reply.headers.get("Retry-After")
    assert not {"set-cookie", "location", "x-secret", "evenhand-record-id"} & answer.headers.keys()
    assert scene.records() == {}


def test_an_answer_that_cannot_be_read_is_passed_on_and_counted_with_the_reason(scene: GatewayScene) -> None:
    with running(Odd(Reply(200, b'{"fields":["score"],"values":[[7]]}'))) as odd:
        change(scene, endpoint={"url": odd.url})

        assert scene.predict().json() == {"fields": ["score"], "values": [[7]]}

    found = scene.await_counts(1)
    assert [(counted["source"], counted["outcome"], counted["count"]) for counted in found] == [("gateway", "rejected", 1)]
    assert "prediction" in found[0]["reason"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Authorization": ""}, 401), ({"Evenhand-Record-Id": "two words"}, 422), ({"Evenhand-Record-Id": "x" * 129}, 422)],
)
def test_a_request_that_is_refused_does_not_reach_the_model(scene: GatewayScene, headers: dict[str, str], status: int) -> None:
    answer = scene.predict(headers=headers)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert scene.model.counts.requests == 0


def test_keys_that_only_read_or_are_of_another_deployment_are_refused(scene: GatewayScene) -> None:
    other = scene.service.client.post("/v1/deployments", json=loans(scene.model, id="other")).raise_for_status().json()
    assert other["id"] == "other"
    with scene.service.database.transaction() as session:
        no = session.execute(text("SELECT no FROM deployments WHERE id = 'other'")).scalar_one()

    assert scene.predict(headers=scene.service.as_(Role.READ)).status_code == 403
    assert scene.predict(headers=scene.service.as_(Role.INGEST, no)).status_code == 404
    assert scene.predict(headers=scene.service.as_(Role.INGEST)).status_code == 200


@pytest.mark.nightly
def test_a_model_that_asks_for_a_client_certificate_gets_that_of_its_endpoint(scene: GatewayScene, tmp_path: Path) -> None:
    authority = Authority()
    client = authority.issue("evenhand")
    with behind_mutual_tls(ModelServer(RuleScorer()), authority, tmp_path) as model:
        url = f"https://localhost:{model.server_port}/score"
        change(scene, endpoint={"url": url, "tls": {"authority": authority.pem, "certificate": client.certificate, "key": client.key}})
        with_certificate = scene.predict()
        change(scene, endpoint={"url": url, "tls": {"authority": authority.pem, "certificate": None, "key": None}})
        # A change is noticed a second later at the latest.
        wait_until(lambda: scene.predict().status_code == 502, "the model refuses a caller without a certificate")

    assert with_certificate.status_code == 200
