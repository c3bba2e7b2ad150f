"""Values of single people: who asks for figures only gets them at no address, in no report, in no message and in no log."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text
from structlog.testing import capture_logs

from app.access.principals import Role
from app.alerts.evaluate import evaluate_ended_checks
from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.intake.gateway import service as gateway
from app.pages import application as pages
from app.reports.regulator.regulator_report import make_next_report
from tests.builders.alerts import judge_single_checks
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.attributions import run_all
from tests.builders.notifying import notifying
from tests.builders.pdf_files import page_texts
from tests.builders.workers import ended, working
from tests.models.receiving import receiving
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running
from tests.progress import wait_until
from tests.scenes import HOUR, NOON, PlainSealer, scene
from tests.service import RunningService, running_service

ADDRESS = "/v1/deployments/a-model"
RECORD, ANSWER, LABEL, TRAINING, TEXT, REJECTED = MARKERS = (
    "marker-of-record",
    "marker-of-answer",
    "marker-of-label",
    "marker-of-training-row",
    "marker-of-reason",
    "marker-of-rejected-record",
)
CITY = Column(name="city", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
CUSTOMER = Column(name="customer", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


class QuotingServer(ModelServer):
    """While it refuses, it repeats the request in its answer, as many servers do."""

    refuses = False

    def answer(self, path: str, body: bytes) -> Reply:
        if self.refuses:
            return Reply(400, b"cannot score " + ANSWER.encode() + b" in " + body[:150])
        return super().answer(path, body)


@dataclass
class PlantedWorld:
    service: RunningService
    logged: list[dict[str, object]]
    messages: list[str]
    values: dict[str, str]


@pytest.fixture
def world(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlantedWorld]:
    """A deployment with a marker of each kind: checked, alerted, explained, reported, and with a model that fails since."""
    monkeypatch.setattr(gateway, "HOUSEKEEPING_SECONDS", 0.05)
    monkeypatch.setattr(gateway, "SWEEP_SECONDS", 0.05)
    with (
        running(QuotingServer(RuleScorer())) as model,
        receiving() as receiver,
        running_service(database, tmp_path) as service,
        capture_logs() as logged,
    ):
        client = service.client
        stage = scene(
            database,
            (*APPLICANT, CITY),
            monitor_of(SEX, AGE),
            endpoint=Endpoint(url=model.url),
            meta=(CUSTOMER,),
        )
        judge_single_checks(database, stage.deployment.no)
        channel = {"name": "Team", "kind": "webhook", "url": receiver.url}
        client.put("/v1/alert-channels/team", json=channel).raise_for_status()
        for rule in client.get(f"{ADDRESS}/alert-rules").json()["alert_rules"]:
            changed = {name: rule[name] for name in ("name", "condition")} | {"channels": ["team"]}
            client.put(f"{ADDRESS}/alert-rules/{rule['id']}", json=changed).raise_for_status()

        rows = applicants(30, 41, 17, prefix=f"{RECORD}-")
        stage.log([{**row, "city": RECORD if no == 3 else "Ulm", "customer": f"{RECORD}-{no}"} for no, row in enumerate(rows)], NOON)
        stage.label([(f"{RECORD}-{no}", LABEL if no == 7 else no % 2) for no in range(30)], NOON + HOUR)
        training = "sex,income,age,city,approved\n" + "".join(
            f"{('female', 'male')[no % 2]},20000,{20 + no % 40},{TRAINING if no == 5 else 'Ulm'},{TRAINING if no == 9 else no % 2}\n"
            for no in range(80)
        )
        csv = {"Content-Type": "text/csv"}
        client.put(f"{ADDRESS}/training-data?label=approved", content=training, headers=csv).raise_for_status()
        checked = stage.check(NOON, trigger=Trigger.SCHEDULE)
        corrections = [{"record": f"{RECORD}-1", "what": "prediction", "new": new, "reason": TEXT} for new in (0, 1)]
        client.post(f"{ADDRESS}/corrections", json=corrections).raise_for_status()
        client.post(f"{ADDRESS}/predictions", json={"fields": ["sex", "income", "age", "city"], "values": [["male", 1, REJECTED, "Ulm"]]})
        client.post(f"{ADDRESS}/events", json={"specversion": "1.0", "id": REJECTED, "type": REJECTED, "source": "/a", "data": {}})
        wait_until(lambda: REJECTED in client.get(f"{ADDRESS}/intake-counts").text, "a rejection is counted")

        model.refuses = True
        later = applicants(12, 12, prefix="later-")
        stage.log([{**row, "city": RECORD, "customer": "c"} for row in later], NOON + HOUR)
        span = {"from": (NOON + HOUR).isoformat(), "to": (NOON + 2 * HOUR).isoformat()}
        with working(database, tmp_path):
            check = client.post(f"{ADDRESS}/checks", json=span).raise_for_status().json()
            ended(service, ADDRESS, check)
        with database.transaction() as session:  # as the last attempt of a scheduled check, whose alerts are to be decided
            session.execute(text("UPDATE checks SET trigger = 'schedule', alerts_due = true WHERE id = :id"), {"id": check["id"]})
        gap = {"check_id": checked.run.id, "attribute": "sex", "method": "hybrids"}
        explained = client.post(f"{ADDRESS}/attributions", json=gap)
        explained = explained if explained.is_success else client.post(f"{ADDRESS}/attributions", json={})
        explained.raise_for_status()
        run_all(database)
        client.post(f"{ADDRESS}/kept-reports", json={"since": NOON.isoformat(), "until": (NOON + 3 * HOUR).isoformat()}).raise_for_status()
        while make_next_report(database, PlainSealer(), token=str(uuid.uuid4())):
            continue
        evaluate_ended_checks(database)
        with notifying(database, tmp_path):
            client.post("/v1/alert-channels/team/notifications").raise_for_status()
            wait_until(lambda: receiver.requests, "an alert is sent")
        values = {
            "deployment_id": "a-model",
            "check_id": check["id"],
            "record_id": f"{RECORD}-1",
            "metric_key": "disparate_impact",
            "attribution_id": explained.json()["id"],
            "report_id": client.get(f"{ADDRESS}/kept-reports").json()["reports"][0]["id"],
            "alert_id": client.get("/v1/alerts").json()["alerts"][0]["id"],
            "channel_id": "team",
            "notification_id": client.get("/v1/alert-channels/team/notifications").json()["notifications"][0]["id"],
            "no": "1",
        }
        yield PlantedWorld(service, logged, [request.body.decode() for request in receiver.requests], values)


def _addresses(world: PlantedWorld) -> Iterator[str]:
    """Every GET of the API in all forms, of both checks, and every page."""
    document = world.service.client.get("/openapi.json").json()
    checks = [check["id"] for check in world.service.client.get(f"{ADDRESS}/checks").json()["checks"]]
    for path, operations in document["paths"].items():
        if "get" not in operations:
            continue
        choices: dict[str, list[str]] = {"check_id": checks}
        for parameter in operations["get"].get("parameters", []):
            schema = parameter["schema"]
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
            if parameter["in"] == "path" and "enum" in schema:
                choices[parameter["name"]] = schema["enum"]
        yield from _fill(path, choices, world)
    for router in pages._ROUTERS:  # noqa: SLF001 - the list of all pages
        for route in router.routes:
            if isinstance(route, APIRoute) and "GET" in route.methods and route.path != "/assets/{release}/{name}":
                parts = {"part": ["model", "monitor", "training", "endpoint", "records"], "check_id": checks}
                yield from _fill(route.path, parts, world)


def _fill(path: str, choices: dict[str, list[str]], world: PlantedWorld) -> Iterator[str]:
    names = [name for name, _ in re.findall(r"\{(\w+)(:path)?\}", path)]
    for values in product(*(choices.get(name) or [world.values.get(name, "x")] for name in names)):
        address = path
        for name, value in zip(names, values, strict=True):
            address = re.sub(rf"\{{{name}(:path)?\}}", value, address)
        yield address


def _text_of(answer: httpx.Response) -> str:
    is_pdf = answer.headers.get("content-type", "").startswith("application/pdf")
    return "\n".join(page_texts(answer.content)) if is_pdf else answer.text


@pytest.mark.usefixtures("reports_in_this_process")
@pytest.mark.parametrize("is_bound", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_values_of_people_reach_only_roles_that_may_read_records(world: PlantedWorld, *, is_bound: bool) -> None:
    service = world.service
    with service.database.transaction() as session:
        number = session.connection().exec_driver_sql("SELECT no FROM deployments").scalar_one()
    callers = {
        "ingest": {"Authorization": f"Bearer {service.key(Role.INGEST)}"},
        "aggregates": {"Authorization": f"Bearer {service.key(Role.AGGREGATES, number if is_bound else None)}"},
        "read": {"Authorization": f"Bearer {service.key(Role.READ)}"},
    }
    addresses = list(dict.fromkeys(_addresses(world)))
    seen: dict[str, dict[str, set[str]]] = {}
    answered = dict.fromkeys(callers, 0)
    for caller, headers in callers.items():
        with service.new_client(headers={"Accept": "text/html", **headers}) as client:
            for address in addresses:
                answer = client.get(address)
                answered[caller] += answer.is_success
                shown = _text_of(answer).replace(address, "")
                assert answer.status_code < 500, (address, shown)
                for marker in MARKERS:
                    if marker in shown and f"{RECORD}-1" not in address:
                        seen.setdefault(caller, {}).setdefault(marker, set()).add(address)

    assert answered["read"] > answered["aggregates"] > 100
    assert {caller: places for caller, places in seen.items() if caller != "read"} == {}
    assert set(seen["read"]) == {*MARKERS}, {marker: len(places) for marker, places in seen["read"].items()}
    assert not [address for places in seen["read"].values() for address in places if "report" in address]
    assert not [message for message in world.messages for marker in MARKERS if marker in message]
    assert not [event for event in world.logged for marker in MARKERS if marker in str(event)]
