"""The main job as a user has it, on real data: rows logged through the API, a check asked for, the series read back.

The expected figures are the golden values of OpenScale's definitions; the model is served over HTTP from its plain numbers.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from tests.builders.golden_http import log_fields_values, log_native, registered
from tests.builders.workers import ended, working
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import serve
from tests.service import RunningService, running_service

EXACT = 1e-9


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
                several = len(figures["payload"]["monitored"]) > 2
                whom = {"scope": "pooled"} if pooled and several else {} if pooled else {"scope": "group", "group": group}
                found = read(service, address, metric="disparate_impact", data="as_logged", attribute=feature, **whom)
                assert found["value"] == pytest.approx(payload["disparate_impact"], abs=EXACT)
                assert found["check_id"] == check["id"]
            for group, counterfactual in figures.get("balanced", {}).get("monitored", {}).items():
                equality = counterfactual["perfect_equality_all_monitored"]
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
            f"{address}/fairness-monitor",
            json={key: value for key, value in monitor.items() if key not in {"version", "warnings", "measured_metrics"}},
        )
        log_native(service, address, rows, names)
        ended(service, address, service.client.post(f"{address}/checks").json())
        first = server.counts.rows
        log_native(service, address, [{**row, "id": f"new-{row['id']}"} for row in rows[:100]], names)
        second = ended(service, address, service.client.post(f"{address}/checks").json())

    assert first == 15_060 + 200  # records asked again unchanged
    assert server.counts.rows - first == 100 + 5
    assert second["window"]["records"] + second["window"]["additional_records"] == 15_060
