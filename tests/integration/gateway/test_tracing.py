"""Traces as a collector receives them: request, check, model; nothing of people in them."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app import VERSION
from app.base.settings import Settings
from app.base.telemetry.traces import tracing
from app.calls.egress_policy import read_policy
from app.database.engine import Database
from tests.builders.collectors import TraceCollector, trace_collector
from tests.builders.workers import ended, working
from tests.integration.gateway.scene import MAN, WOMAN, GatewayScene, open_scene
from tests.models.faulty import Fault, faulty
from tests.models.serving import ModelServer

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
MONITOR = {
    "favourable": [1],
    "unfavourable": [0],
    "min_records": 4,
    "attributes": [{"feature": "sex", "monitored": ["female"], "reference": ["male"], "threshold": 0.8}],
}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[TraceCollector]:
    with trace_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        yield collector


@pytest.mark.nightly
def test_a_trace_leads_from_the_request_through_the_check_to_the_model(
    collector: TraceCollector, database: Database, tmp_path: Path, model: ModelServer
) -> None:
    with open_scene(database, tmp_path, model) as scene, working(database):
        scene.predict([WOMAN, MAN] * 2, headers={"traceparent": f"00-{TRACE}-{CALLER}-01"}).raise_for_status()
        scene.await_records(4)
        scene.service.client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
        place = {"traceparent": f"00-{'a' * 32}-{CALLER}-01"}
        check = scene.service.client.post("/v1/deployments/loans/checks", headers=place).raise_for_status().json()
        assert ended(scene.service, "/v1/deployments/loans", check)["state"] == "succeeded"

    (passed_on,) = [span for span in collector.named("call model") if span.attributes.get("evenhand.caller") == "gateway"]
    assert (passed_on.trace_id, passed_on.parent_id) == (TRACE, CALLER)
    (request,) = collector.named("POST /v1/deployments/{deployment_id}/checks")
    (work,) = collector.named("check")
    asked = [span for span in collector.named("call model") if span is not passed_on]
    assert {span.trace_id for span in (request, work, *asked)} == {"a" * 32}
    assert (request.parent_id, work.parent_id) == (CALLER, request.span_id)
    assert asked
    assert {span.parent_id for span in asked} == {work.span_id}
    assert {span.attributes["http.response.status_code"] for span in asked} == {200}
    assert work.attributes["evenhand.check"] == check["id"]
    assert work.attributes["evenhand.state"] == "succeeded"
    assert request.attributes["service.version"] == VERSION
    assert model.counts.traceparents == [f"00-{span.trace_id}-{span.span_id}-01" for span in (passed_on, *asked)]


@pytest.mark.nightly
def test_a_span_has_no_path_and_no_words_of_the_model(collector: TraceCollector, database: Database, tmp_path: Path) -> None:
    with faulty(Fault.STATUS_500) as broken, open_scene(database, tmp_path, broken) as scene, working(database):
        scene.service.client.get("/v1/deployments/loans/payload-records/customer-1815", params={"limit": "anna"})
        check_without_the_model(scene)

    text = repr(collector.spans)
    assert not [word for word in ("customer-1815", "anna", "20000.5") if word in text]
    (work,) = collector.named("check")
    assert not work.has_failed
    assert {span.has_failed for span in collector.named("call model")} == {True}


def check_without_the_model(scene: GatewayScene) -> None:
    records = [{"id": f"r{no}", "features": dict(zip(("sex", "income", "age"), WOMAN if no % 2 else MAN, strict=True))} for no in range(8)]
    body = {"records": [{**record, "prediction": 1} for record in records]}
    scene.service.client.post("/v1/deployments/loans/payload-records", json=body).raise_for_status()
    scene.service.client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
    check = scene.service.client.post("/v1/deployments/loans/checks").raise_for_status().json()
    assert ended(scene.service, "/v1/deployments/loans", check)["cause"] == "scoring_failed"


def test_without_a_collector_nothing_is_added(scene: GatewayScene, model: ModelServer) -> None:
    with capture_logs() as lines:
        scene.predict().raise_for_status()
        scene.predict(headers={"traceparent": f"00-{TRACE}-{CALLER}-01"}).raise_for_status()

    assert model.counts.traceparents == [None, f"00-{TRACE}-{CALLER}-01"]
    assert not [line for line in lines if "trace_id" in line or line["event"] == "traces_off"]


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "grpc is the protocol"),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is zipkin"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:8000/v1/traces"}, "own address"),
    ],
)
def test_a_collector_that_cannot_be_used_is_named_and_the_service_runs(
    variables: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **variables}.items():
        monkeypatch.setenv(name, value)
    with capture_logs() as lines, tracing("api", version=VERSION, is_own=read_policy(Settings()).is_own):
        pass

    assert [line["event"] for line in lines] == ["traces_off"]
    assert reason in lines[0]["reason"]


@pytest.mark.nightly
def test_a_collector_that_is_away_costs_no_request(
    monkeypatch: pytest.MonkeyPatch, database: Database, tmp_path: Path, model: ModelServer
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(logging.getLogger("opentelemetry"), "disabled", True)
    with open_scene(database, tmp_path, model) as scene:
        assert scene.predict().status_code == 200
