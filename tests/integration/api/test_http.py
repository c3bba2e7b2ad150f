import json
import re
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import text

from tests.builders.bodies import deployment
from tests.service import RunningService


def test_a_failed_commit_is_never_answered_as_a_success(service: RunningService) -> None:
    # The constraint is checked at the commit only, so that everything before it succeeds.
    with service.database.transaction() as session:
        session.execute(
            text(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused at the commit'; END $$;"
                "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON deployments DEFERRABLE INITIALLY DEFERRED"
                " FOR EACH ROW EXECUTE FUNCTION refuse()"
            )
        )

    answer = service.client.post("/v1/deployments", json=deployment())

    assert answer.status_code == 500
    assert answer.json()["title"] == "Something failed here"
    assert "refused" not in answer.text
    assert service.client.get("/v1/deployments").json()["deployments"] == []


def test_a_sane_request_id_is_echoed_and_any_other_replaced(service: RunningService) -> None:
    sent = {"X-Request-Id": "order-66:a.b_c"}
    evil = {"X-Request-Id": "a b\tc"}

    assert service.client.get("/health/live", headers=sent).headers["x-request-id"] == "order-66:a.b_c"
    assert re.fullmatch("[0-9a-f]{32}", service.client.get("/health/live", headers=evil).headers["x-request-id"])
    missing = service.client.get("/v1/deployments/missing", headers=sent)
    assert missing.json()["request_id"] == "order-66:a.b_c"


def test_every_answer_carries_safe_headers(service: RunningService) -> None:
    for path in ("/health/live", "/v1/deployments", "/nothing", "/docs"):
        answer = service.client.get(path)

        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"].startswith(("no-store", "private"))
        assert "'unsafe-eval'" not in answer.headers["content-security-policy"]


@pytest.mark.nightly
def test_unknown_addresses_and_methods_are_problems_too(service: RunningService) -> None:
    nothing = service.client.get("/nothing/there")
    method = service.client.put("/v1/deployments")

    assert (nothing.status_code, nothing.json()["type"]) == (404, "urn:evenhand:problem:not-found")
    assert (method.status_code, method.headers["content-type"]) == (405, "application/problem+json")
    assert (method.headers["allow"], method.json()["detail"]) == ("GET, POST", "/v1/deployments takes GET, POST, not PUT.")
    assert service.client.delete("/glossary").json()["detail"] == "/glossary takes GET, not DELETE."


def test_the_openapi_document_states_keys_problems_and_operation_ids_for_all_routes(service: RunningService) -> None:
    document = service.client.get("/openapi.json").json()

    operations = [(path, operation) for path, item in document["paths"].items() for operation in item.values()]
    assert len({operation["operationId"] for _, operation in operations}) == len(operations)
    for path, operation in operations:
        assert bool(operation["security"]) != path.startswith("/health")
        assert operation["tags"], path
        if operation["security"]:
            assert {"401", "403", "503"} <= operation["responses"].keys(), path
        if "{deployment_id}" in path:
            assert {"404", "422"} <= operation["responses"].keys(), path
        if "requestBody" in operation:
            # The gateway passes every body on, and events are answered 200 whatever they hold.
            refusals = {"422"} if operation["operationId"] in {"predict", "logEvents", "logAzureModelData"} else {"413", "415", "422"}
            assert refusals <= operation["responses"].keys(), path
    assert "HTTPValidationError" not in json.dumps(document)
    assert {"Problem", "ProblemField"} <= document["components"]["schemas"].keys()


def test_a_docstring_below_a_member_is_its_description_in_the_openapi_document(service: RunningService) -> None:
    schemas = service.client.get("/openapi.json").json()["components"]["schemas"]

    end = "Its end, exclusive."
    assert schemas["CheckOut"]["properties"]["to"]["description"] == end
    assert schemas["CheckDetailsOut"]["properties"]["to"]["description"] == end  # inherited
    assert schemas["CheckIn"]["properties"]["from"]["description"].startswith("The beginning of the range")  # of `from_`
    assert "\n" not in schemas["AlertFigureOut"]["properties"]["facts"]["description"]


def test_metrics_count_requests_by_route_and_show_the_queue(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    with service.database.transaction() as session:
        session.execute(
            text(
                "INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, created_by,"
                " claimable_at) SELECT 'c', no, 'request', 'queued', now(), now(), 0, false, 'test', now() - interval '90 s'"
                " FROM deployments"
            )
        )
    service.client.get("/v1/deployments/credit-risk")
    service.client.get("/surely/no/route")

    answer = service.client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain")
    assert 'evenhand_http_requests_total{method="GET",route="/v1/deployments/{deployment_id}",status="200"}' in answer.text
    assert 'route="(none)",status="404"' in answer.text
    assert "surely" not in answer.text
    assert 'evenhand_checks_stored{state="queued"} 1.0' in answer.text
    assert "evenhand_deployments 1.0" in answer.text
    age = re.search(r"evenhand_queue_age_seconds ([\d.]+)", answer.text)
    assert age
    assert 90 <= float(age[1]) < 120


def test_not_migrated_is_not_ready(service: RunningService) -> None:
    with service.database.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0001'"))

    answer = service.client.get("/health/ready")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert service.client.get("/health/live").status_code == 200


def test_a_schema_of_a_later_version_is_ready_while_that_version_is_rolled_out(service: RunningService) -> None:
    with service.database.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    assert service.client.get("/health/ready").status_code == 200


def test_a_database_that_went_away_is_answered_503_and_served_again_when_it_is_back(service: RunningService) -> None:
    name = psycopg.conninfo.conninfo_to_dict(service.database.url)["dbname"]
    service.database.engine.dispose()
    admin = psycopg.conninfo.make_conninfo(service.database.url, dbname="postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        away = [service.client.get(path).status_code for path in ("/health/ready", "/v1/deployments")]
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    back = [service.client.get(path).status_code for path in ("/health/ready", "/v1/deployments")]

    assert away == [503, 503]
    assert back == [200, 200]


@pytest.mark.nightly
def test_forty_requests_at_once_all_get_through(service: RunningService) -> None:
    # More than there are connections: those that wait for one must not take the threads of those that hold one.
    def ask(_: int) -> int:
        return service.client.get("/v1/deployments").status_code

    with ThreadPoolExecutor(40) as pool:
        assert set(pool.map(ask, range(200))) == {200}
