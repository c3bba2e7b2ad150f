"""The main job as a user has it, on real data: rows logged through the API, a check asked for, the series read back.

The expected figures are the golden values of OpenScale's definitions; the model is served over HTTP from its plain numbers.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.checks.check import perform_check
from app.mitigation.window.mitigating import mitigate_window
from app.schedule.worker import Worker
from app.store.database.engine import Database
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import ModelServer, serve
from tests.scenes import PlainSealer, golden_columns, golden_rows
from tests.service import RunningService, running_service

EXACT = 1e-9
BATCH = 5_000


@contextmanager
def working(database: Database) -> Iterator[None]:
    """A worker beside the service."""
    stop = threading.Event()
    perform = partial(perform_check, database=database, sealer=PlainSealer(), further=mitigate_window)
    worker = Worker(database, perform, concurrency=1)
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def registered(service: RunningService, case: str, server: ModelServer) -> tuple[str, list[dict[str, Any]]]:
    """A deployment of the golden model with its monitor; its address and its rows."""
    model = json.loads((golden(case) / "model.json").read_text())
    columns = golden_columns(model, [term["feature"] for term in model["terms"] if term["type"] == "numeric"])
    address = f"/v1/deployments/{case.lower()}"
    deployment = {
        "id": case.lower(),
        "name": case,
        "problem_type": "binary",
        "features": [{"name": column.name, "type": column.type, "kind": column.kind} for column in columns],
        "outputs": {"prediction": "prediction", "probability": "probability"},
        "endpoint": {"url": server.url},
    }
    attributes = [
        {"feature": entry["config"]["attribute"], **{key: entry["config"][key] for key in ("monitored", "reference", "threshold")}}
        for entry in json.loads((golden(case) / "openscale.json").read_text()).values()
    ]
    monitor = {"favourable": [1], "unfavourable": [0], "attributes": attributes, "min_records": 100, "max_records": 20_000}
    assert service.client.post("/v1/deployments", json=deployment).status_code == 201
    assert service.client.put(f"{address}/fairness-monitor", json=monitor).status_code == 200
    return address, golden_rows(golden(case), columns)


def log_native(service: RunningService, address: str, rows: list[dict[str, Any]], names: list[str]) -> None:
    for start in range(0, len(rows), BATCH):
        records = [
            {
                "id": row["id"],
                "features": {name: row[name] for name in names},
                "prediction": row["prediction"],
                "probability": row["probability"],
            }
            for row in rows[start : start + BATCH]
        ]
        receipt = service.client.post(f"{address}/payload-records", json={"records": records}).json()
        assert (receipt["accepted"], receipt["rejected"]) == (len(records), 0)


def log_fields_values(service: RunningService, address: str, rows: list[dict[str, Any]], names: list[str]) -> None:
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        body = {
            "scoring_id": f"batch-{start}",
            "request": {"fields": names, "values": [[row[name] for name in names] for row in part]},
            "response": {"fields": ["prediction", "probability"], "values": [[row["prediction"], row["probability"]] for row in part]},
        }
        receipt = service.client.post(f"{address}/payload-records", json=body).json()
        assert (receipt["accepted"], receipt["rejected"]) == (len(part), 0)


def ended(service: RunningService, address: str, check: dict[str, Any]) -> dict[str, Any]:
    """The check, once it is over."""
    for _ in range(600):
        found: dict[str, Any] = service.client.get(f"{address}/checks/{check['id']}").json()
        if found["state"] not in {"queued", "running"}:
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def read(service: RunningService, address: str, **filters: str) -> dict[str, Any]:
    """The one measurement that fits."""
    found = service.client.get(f"{address}/measurements", params=filters).json()["measurements"]
    assert len(found) == 1, found
    only: dict[str, Any] = found[0]
    return only


@pytest.mark.parametrize(("case", "log"), [("A1_adult", log_native), ("A2_openscale_credit_risk", log_fields_values)])
def test_one_check_now_gives_the_golden_figures(database: Database, tmp_path: Path, case: str, log: Any) -> None:  # noqa: ANN401
    expected = json.loads((golden(case) / "openscale.json").read_text())
    with serve(LogisticModel.of(golden(case))) as server, running_service(database, tmp_path) as service, working(database):
        address, rows = registered(service, case, server)
        log(service, address, rows, list(LogisticModel.of(golden(case)).features))
        service.client.post(
            f"{address}/feedback-records", json={"records": [{"id": row["id"], "label": row["actual"]} for row in rows[:5_000]]}
        )
        asked = service.client.post(f"{address}/checks")
        check = ended(service, address, asked.json())

        assert asked.status_code == 202
        assert check["state"] == "succeeded", check["reason"]
        for feature, figures in expected.items():
            for group, payload in figures["payload"]["monitored"].items():
                pooled = group == "all monitored pooled"
                whom = {"scope": "pooled"} if pooled else {"scope": "group", "group": group}
                found = read(service, address, metric="disparate_impact", data="payload", attribute=feature, **whom)
                assert found["value"] == pytest.approx(payload["disparate_impact"], abs=EXACT)
                assert found["check_id"] == check["id"]
            for group, balanced in figures.get("balanced", {}).get("monitored", {}).items():
                equality = balanced["perfect_equality_all_monitored"]
                fairness = read(service, address, metric="openscale_fairness", attribute=feature, group=group)
                assert fairness["value"] == pytest.approx(equality["fairness"], abs=EXACT)
                found = read(service, address, metric="perfect_equality", attribute=feature)
                assert found["value"] == pytest.approx(equality["rate"], abs=EXACT)


def test_a_second_check_calls_the_model_for_the_hundred_new_records_only(database: Database, tmp_path: Path) -> None:
    case = "A1_adult"
    with serve(LogisticModel.of(golden(case))) as server, running_service(database, tmp_path) as service, working(database):
        address, rows = registered(service, case, server)
        names = list(LogisticModel.of(golden(case)).features)
        monitor = service.client.get(f"{address}/fairness-monitor").json() | {"min_records": 15_060, "max_records": 15_060}
        service.client.put(
            f"{address}/fairness-monitor", json={key: value for key, value in monitor.items() if key not in {"version", "warnings"}}
        )
        log_native(service, address, rows, names)
        ended(service, address, service.client.post(f"{address}/checks").json())
        first = server.counts.rows
        log_native(service, address, [{**row, "id": f"new-{row['id']}"} for row in rows[:100]], names)
        second = ended(service, address, service.client.post(f"{address}/checks").json())

    assert first == 15_060
    assert server.counts.rows - first == 100
    assert second["window"]["records"] + second["window"]["additional_records"] == 15_060
