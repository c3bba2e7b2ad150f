import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, text
from sqlalchemy import table as table_named

from app.access.principals import Role
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService


def fields(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 422, answer.text
    return {problem["field"] for problem in answer.json()["errors"]}


def test_a_created_deployment_is_read_back_with_its_defaults_and_without_its_secret(service: RunningService) -> None:
    created = service.client.post("/v1/deployments", json=deployment())
    read = service.client.get("/v1/deployments/credit-risk")

    assert (created.status_code, read.status_code) == (201, 200)
    assert created.json() == read.json()
    assert read.json()["features"][0] == {"name": "Age", "type": "integer", "kind": "numeric", "storage": None}
    assert read.json()["features"][1] == {"name": "Sex", "type": "string", "kind": "categorical", "storage": None}
    no_tokens = {"token_url": "", "scope": ""}
    assert read.json()["endpoint"]["credentials"] == {"kind": "basic", "name": "evenhand", "secret_set": True, **no_tokens}
    assert read.json()["endpoint"]["concurrency"] == 4
    assert "sesame" not in created.text + read.text
    with service.database.transaction() as session:
        stored = session.execute(text("SELECT credentials, endpoint::text FROM deployments")).one()
    assert b"sesame" not in bytes(stored[0])
    assert "sesame" not in stored[1]


def test_the_same_id_and_content_again_changes_nothing_and_other_content_is_a_conflict(service: RunningService) -> None:
    first = service.client.post("/v1/deployments", json=deployment())
    again = service.client.post("/v1/deployments", json=deployment())
    other_name = service.client.post("/v1/deployments", json=deployment(name="Other"))
    credentials = {"kind": "basic", "name": "evenhand", "secret": "other"}
    other_secret = service.client.post("/v1/deployments", json=deployment(endpoint=deployment()["endpoint"] | {"credentials": credentials}))

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert (other_name.status_code, other_secret.status_code) == (409, 409)


def test_of_many_that_create_the_same_at_once_one_does_and_the_others_find_it(service: RunningService) -> None:
    def create(_: int) -> int:
        return service.client.post("/v1/deployments", json=deployment()).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(create, range(8)))

    assert statuses == [200] * 7 + [201]


def test_changes_at_once_are_all_kept(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    changes = [{"endpoint": {"page_size": 7}}, {"name": "Other"}, {"model_revision": "r9"}, {"meta": []}, {"outputs": {"label": None}}]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda change: service.client.patch("/v1/deployments/credit-risk", json=change).raise_for_status(), changes))

    stored = service.client.get("/v1/deployments/credit-risk").json()
    assert (stored["endpoint"]["page_size"], stored["name"], stored["model_revision"], stored["meta"]) == (7, "Other", "r9", [])
    assert stored["outputs"]["label"] is None


def test_without_an_id_one_is_made_of_the_name(service: RunningService) -> None:
    made = [
        service.client.post("/v1/deployments", json=deployment(id=None, name=name)).json()["id"] for name in ("Große Kredite!", "!", "!")
    ]

    assert made[0].startswith("gro-e-kredite-")
    assert made[1].startswith("deployment-")
    assert len(set(made)) == 3


def test_pages_hold_every_deployment_once_and_in_order(service: RunningService) -> None:
    ids = [service.client.post("/v1/deployments", json=deployment(id=f"d{n}")).json()["id"] for n in range(5)]
    seen, cursor = [], None
    for _ in range(3):
        page = service.client.get("/v1/deployments", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        seen += [found["id"] for found in page["deployments"]]
        cursor = page["next_cursor"]

    assert seen == ids
    assert cursor is None
    assert fields(service.client.get("/v1/deployments", params={"cursor": "no cursor"})) == {"cursor"}


def test_a_patch_changes_what_it_names_and_keeps_the_rest_with_the_secret(service: RunningService) -> None:
    before = service.client.post("/v1/deployments", json=deployment()).json()
    with service.database.transaction() as session:
        sealed = session.scalar(text("SELECT credentials FROM deployments"))

    changed = service.client.patch("/v1/deployments/credit-risk", json={"model_revision": "r2", "endpoint": {"page_size": 100}})

    assert changed.status_code == 200
    assert changed.json() == before | {
        "model_revision": "r2",
        "endpoint": before["endpoint"] | {"page_size": 100},
        "updated_at": changed.json()["updated_at"],
    }
    assert sealed is not None


def test_other_columns_make_a_new_schema_version_and_the_old_one_stays(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    changed = service.client.patch("/v1/deployments/credit-risk", json={"meta": []})
    same = service.client.patch("/v1/deployments/credit-risk", json={"meta": []})

    assert (changed.json()["schema_version"], changed.json()["meta"]) == (2, [])
    assert same.json() == changed.json()
    with service.database.transaction() as session:
        versions = session.scalars(text("SELECT version FROM deployment_schemas ORDER BY version")).all()
    assert versions == [1, 2]


def test_after_the_last_schema_version_other_columns_are_refused_and_the_rest_can_still_change(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    with service.database.transaction() as session:
        session.execute(text("UPDATE deployment_schemas SET version = 32767"))
        session.execute(text("UPDATE deployments SET schema_version = 32767"))

    columns = service.client.patch("/v1/deployments/credit-risk", json={"meta": []})
    name = service.client.patch("/v1/deployments/credit-risk", json={"name": "Another name"})

    assert columns.status_code == 409
    assert "Register another deployment" in columns.json()["detail"]
    assert (name.status_code, name.json()["schema_version"]) == (200, 32767)


def test_null_forgets_credentials_and_endpoint(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    bare = service.client.patch("/v1/deployments/credit-risk", json={"endpoint": {"credentials": None}})
    none = service.client.patch("/v1/deployments/credit-risk", json={"endpoint": None})

    assert bare.json()["endpoint"]["credentials"] is None
    assert none.json()["endpoint"] is None
    assert fields(service.client.patch("/v1/deployments/credit-risk", json={"endpoint": {"page_size": 5}})) == {"endpoint.url"}
    assert fields(service.client.patch("/v1/deployments/credit-risk", json={"name": None})) == {"name"}


def test_stored_credentials_are_not_sent_to_another_origin_unless_given_again(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    def move(**endpoint: object) -> httpx.Response:
        return service.client.patch("/v1/deployments/credit-risk", json={"endpoint": endpoint})

    assert fields(move(url="http://127.0.0.1:6666/score")) == {"endpoint.credentials"}
    assert move(url="http://127.0.0.1:9000/other").status_code == 200
    assert move(url="http://127.0.0.1:6666/score", credentials={"kind": "bearer", "secret": "new"}).status_code == 200


def test_a_patch_that_would_break_the_monitor_is_refused_and_nothing_is_changed(service: RunningService) -> None:
    before = service.client.post("/v1/deployments", json=deployment()).json()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()

    answer = service.client.patch("/v1/deployments/credit-risk", json={"features": [{"name": "Age", "type": "integer"}]})

    assert answer.status_code == 409
    assert "Sex" in answer.json()["detail"]
    assert service.client.get("/v1/deployments/credit-risk").json() == before


def test_deleting_forgets_everything_that_belongs_to_it_and_nothing_else(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    service.client.post("/v1/deployments", json=deployment(id="other"))
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    with service.database.transaction() as session:
        numbers = session.scalars(text("SELECT no FROM deployments ORDER BY no")).all()
    for no in numbers:
        _fill(service, no)
        service.key(Role.INGEST, no)

    answer = service.client.delete("/v1/deployments/credit-risk")

    assert answer.status_code == 204
    assert service.client.get("/v1/deployments/credit-risk").status_code == 404
    assert service.client.delete("/v1/deployments/credit-risk").status_code == 404
    with service.database.transaction() as session:
        left = {
            table: session.scalar(select(func.count()).select_from(table_named(table)))
            for table in (*BELONGING, "deployments", "deployment_schemas", "monitors", "counterfactuals")
        }
        keys = session.scalars(text("SELECT deployment_no FROM api_keys WHERE deployment_no IS NOT NULL")).all()
    assert left == dict.fromkeys(BELONGING, 1) | {"deployments": 1, "deployment_schemas": 1, "monitors": 0, "counterfactuals": 1}
    assert keys == [numbers[1]]


BELONGING = ("payload_keys", "payload_records", "feedback_records", "copy_targets", "checks", "check_tables", "measurements")


FILL = """
INSERT INTO payload_keys VALUES (:no, 'a', :no);
INSERT INTO payload_records (deployment_no, record_no, record_id, schema_version, model_revision, scored_at, features, prediction)
VALUES (:no, :no, 'a', 1, 'r1', now(), '[]', '1');
INSERT INTO feedback_records (deployment_no, feedback_id, feedback_no, schema_version, label) VALUES (:no, 'a', :no, 1, '1');
INSERT INTO copy_targets (deployment_no, model_revision, schema_version, feature, target, draws, seed)
VALUES (:no, 'r1', 1, 'Sex', 'male', 0, 0);
INSERT INTO counterfactuals SELECT no, 1, 0, '1' FROM copy_targets WHERE deployment_no = :no;
INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, created_by)
VALUES (:no, :no, 'request', 'running', now(), now(), 1, false, 'test');
INSERT INTO check_tables SELECT no, 'as_logged', 'Sex', 'own', '{}' FROM checks WHERE deployment_no = :no;
INSERT INTO measurements (check_no, deployment_no, at, metric, data, scope, n, carried_forward, details)
SELECT no, :no, now(), 'disparate_impact', 'as_logged', 'group', 1, false, '{}' FROM checks WHERE deployment_no = :no
"""


def _fill(service: RunningService, no: int) -> None:
    with service.database.transaction() as session:
        for statement in FILL.split(";"):
            session.execute(text(statement), {"no": no})


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": " "}, "name"),
    ({"name": "n" * 201}, "name"),
    ({"name": "nul \0"}, "name"),
    ({"name": None}, "name"),
    ({"id": "Not a slug"}, "id"),
    ({"id": "-x"}, "id"),
    ({"problem_type": "ranking"}, "problem_type"),
    ({"problem_type": None}, "problem_type"),
    ({"features": []}, "features"),
    ({"features": [{"name": "A", "type": "text"}]}, "features[0].type"),
    ({"features": [{"name": "A", "type": "string", "kind": "numeric"}]}, "features[0].kind"),
    ({"features": [{"name": "A", "type": "boolean", "kind": "numeric"}]}, "features[0].kind"),
    ({"features": [{"name": "A", "type": "string", "unit": "m"}]}, "features[0].unit"),
    ({"meta": [{"name": "Sex", "type": "string"}]}, "meta[0].name"),
    ({"meta": [{"name": "\x01", "type": "string"}]}, "meta[0].name"),
    ({"outputs": {"prediction": "Sex"}}, "outputs.prediction"),
    ({"outputs": {"prediction": "p", "label": "p"}}, "outputs.label"),
    ({"model_revision": ""}, "model_revision"),
    ({"unheard_of": 1}, "unheard_of"),
    ({"endpoint": {"url": "ftp://models/score"}}, "endpoint.url"),
    ({"endpoint": {"url": "http://169.254.169.254/score"}}, "endpoint.url"),
    ({"endpoint": {"url": "http://user:password@models/score"}}, "endpoint.url"),
    ({"endpoint": {"url": "http://models/\0"}}, "endpoint.url"),
    ({"endpoint": {"url": ""}}, "endpoint.url"),
    ({"endpoint": {"url": "http://m/", "page_size": 0}}, "endpoint.page_size"),
    ({"endpoint": {"url": "http://m/", "page_size": 10_001}}, "endpoint.page_size"),
    ({"endpoint": {"url": "http://m/", "page_size": True}}, "endpoint.page_size"),
    ({"endpoint": {"url": "http://m/", "concurrency": 65}}, "endpoint.concurrency"),
    ({"endpoint": {"url": "http://m/", "timeout_seconds": 0.01}}, "endpoint.timeout_seconds"),
    ({"endpoint": {"url": "http://m/", "timeout_seconds": "30"}}, "endpoint.timeout_seconds"),
    ({"endpoint": {"url": "http://m/", "requests_per_second": 0}}, "endpoint.requests_per_second"),
    ({"endpoint": {"url": "http://m/", "requests_per_second": 1e-12}}, "endpoint.requests_per_second"),
    ({"endpoint": {"url": "http://m/", "credentials": {"kind": "basic", "secret": "s"}}}, "endpoint.credentials.name"),
    ({"endpoint": {"url": "http://m/", "credentials": {"kind": "header", "name": "a b", "secret": "s"}}}, "endpoint.credentials.name"),
    ({"endpoint": {"url": "http://m/", "credentials": {"kind": "bearer"}}}, "endpoint.credentials.secret"),
    ({"endpoint": {"url": "http://m/", "credentials": {"kind": "bearer", "secret": "a\nb"}}}, "endpoint.credentials.secret"),
    ({"earliest": ""}, "earliest"),
]


def test_a_definition_that_breaks_a_rule_is_refused_with_the_field(service: RunningService) -> None:
    for spoiled, field in REFUSED:
        answer = service.client.post("/v1/deployments", json=deployment(**spoiled))
        assert fields(answer) == {field}, spoiled

    assert service.client.get("/v1/deployments").json()["deployments"] == []


def _with_timeout(number: bytes) -> bytes:
    return (
        json.dumps(deployment(endpoint={"url": "http://m/", "timeout_seconds": 0})).encode().replace(b'seconds": 0', b'seconds": ' + number)
    )


NO_GOOD_JSON = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b'{"name": "\xff"}',
    b'{"name": "\\ud800", "problem_type": "binary", "features": [{"name": "A", "type": "string"}]}',
    b'{"\\ud800": 1}',
    b'{"name": NaN}',
    *(_with_timeout(number) for number in (b"NaN", b"Infinity", b"1e999", b"9" * 400)),
    b'{"page_size": ' + b"9" * 5000 + b"}",
    b"[" * 100_000,
]


def test_a_body_that_is_no_good_json_is_refused(service: RunningService) -> None:
    for body in NO_GOOD_JSON:
        answer = service.client.post("/v1/deployments", content=body, headers={"content-type": "application/json"})

        assert answer.status_code == 422, body[:80]
        assert answer.headers["content-type"] == "application/problem+json"


def test_bodies_that_are_too_large_or_no_json_have_their_own_answers(service: RunningService) -> None:
    large = service.client.post("/v1/deployments", json=deployment(name="x" * 1_100_000))
    form = service.client.post("/v1/deployments", content=b"a=b", headers={"content-type": "application/x-www-form-urlencoded"})
    untyped = service.client.post("/v1/deployments", content=b"{}", headers={})

    assert (large.status_code, large.json()["title"]) == (413, "The request is too large")
    assert (form.status_code, untyped.status_code) == (415, 415)


def test_an_address_that_can_be_no_id_is_the_callers_fault(service: RunningService) -> None:
    for path in ("%00", "a%00b", "UPPER", "%ff", "a" * 65, "%ED%A0%80", "..%2f..", "1" * 5000):
        assert service.client.get(f"/v1/deployments/{path}").status_code in {404, 422}, path


CLIENT = {"kind": "oauth_client", "name": "evenhand", "secret": "s3cret-1", "token_url": "http://127.0.0.1:9001/token", "scope": "score"}


def test_headers_and_oauth_clients_are_stored_sealed_and_shown_without_secrets(service: RunningService) -> None:
    endpoint = {"url": "http://127.0.0.1:9000/score", "credentials": CLIENT, "headers": {"X-Tenant": "tenant-key-7", "X-Other": "o"}}
    created = service.client.post("/v1/deployments", json=deployment(endpoint=endpoint))
    service.client.patch("/v1/deployments/credit-risk", json={"endpoint": {"headers": {"X-Other": None}}}).raise_for_status()
    read = service.client.get("/v1/deployments/credit-risk")

    shown = {name: CLIENT[name] for name in ("kind", "name", "token_url", "scope")}
    assert created.status_code == 201, created.text
    assert read.json()["endpoint"]["credentials"] == {**shown, "secret_set": True}
    assert read.json()["endpoint"]["header_names"] == ["X-Tenant"]
    activities = service.client.get("/v1/activities").text
    with service.database.transaction() as session:
        stored = str(session.execute(text("SELECT credentials, endpoint::text FROM deployments")).one())
    for secret in ("s3cret-1", "tenant-key-7"):
        assert all(secret not in place for place in (created.text, read.text, stored, activities))


def test_stored_headers_are_not_sent_to_another_origin_unless_given_again(service: RunningService) -> None:
    endpoint = {"url": "http://127.0.0.1:9000/score", "headers": {"X-Tenant": "tenant-key-7"}}
    service.client.post("/v1/deployments", json=deployment(endpoint=endpoint)).raise_for_status()

    moved = {"url": "http://127.0.0.1:6666/score"}
    refused = service.client.patch("/v1/deployments/credit-risk", json={"endpoint": {**moved, "headers": {}}})
    given = service.client.patch("/v1/deployments/credit-risk", json={"endpoint": {**moved, "headers": {"X-Tenant": "new"}}})

    assert fields(refused) == {"endpoint.headers.X-Tenant"}
    assert given.status_code == 200, given.text


def test_what_an_endpoint_cannot_be_sent_is_refused_with_its_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for endpoint, field in (
        ({"headers": {"Host": "x"}}, "endpoint.headers.Host"),
        ({"headers": {"a b": "x"}}, "endpoint.headers.a b"),
        ({"headers": {"X-A": "x\ny"}}, "endpoint.headers.X-A"),
        ({"headers": {"Authorization": "x"}, "credentials": {"kind": "bearer", "secret": "s"}}, "endpoint.headers.Authorization"),
        ({"credentials": {**CLIENT, "token_url": ""}}, "endpoint.credentials.token_url"),
        ({"credentials": {**CLIENT, "token_url": "http://169.254.169.254/token"}}, "endpoint.credentials.token_url"),
        ({"credentials": {**CLIENT, "name": ""}}, "endpoint.credentials.name"),
        ({"payload_format": "mapped"}, "endpoint.mapping"),
        ({"mapping": {"records": "$[*]"}}, "endpoint.mapping"),
        ({"payload_format": "mapped", "mapping": {"records": "people"}}, "endpoint.mapping.records"),
    ):
        with subtests.test(endpoint=endpoint, field=field):
            refused = service.client.post("/v1/deployments", json=deployment(endpoint={"url": "http://127.0.0.1:9000/", **endpoint}))  # type: ignore[dict-item]

            assert fields(refused) == {field}
