"""Mitigation as a user has it, on real data: records sent to the mitigated endpoint, the model served over HTTP from its plain numbers.

The expected figures are the golden values of exact counterfactual mitigation, worked out from copies that the same model scored.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from tests.builders.golden_http import log_native, registered
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import serve
from tests.service import RunningService, running_service

EXACT = 1e-9
BATCH = 1_000

Row = dict[str, Any]


def mitigated(service: RunningService, address: str, rows: Sequence[Row], names: Sequence[str], prefix: str) -> list[Row]:
    """The endpoint's answer to each row."""
    found: list[Row] = []
    for start in range(0, len(rows), BATCH):
        records = [{"id": f"{prefix}-{row['id']}", "features": {name: row[name] for name in names}} for row in rows[start : start + BATCH]]
        answer = service.client.post(f"{address}/mitigated-predictions", json={"records": records}, params={"timeout_seconds": 60})
        assert answer.status_code == 200, answer.text
        assert answer.json()["warning"] is None
        found += answer.json()["predictions"]
    return found


def rate(answers: Sequence[Row], column: str = "mitigated_prediction") -> float:
    return sum(answer[column] == 1 for answer in answers) / len(answers)


def accuracy(pairs: Sequence[tuple[int, int]]) -> float:
    return sum(predicted == actual for predicted, actual in pairs) / len(pairs)


@pytest.mark.parametrize(
    ("case", "attribute"),
    [("A1_adult", "sex"), ("A2_openscale_credit_risk", "Sex"), ("A2_openscale_credit_risk", "Housing")],
)
@pytest.mark.parametrize("mode", ["lift_only", "reference_substitution"])
def test_the_mitigated_endpoint_agrees_with_exact_counterfactual_mitigation(
    database: Database, tmp_path: Path, case: str, attribute: str, mode: str
) -> None:
    expected = json.loads((golden(case) / "debias.json").read_text())[attribute]
    config = json.loads((golden(case) / "openscale.json").read_text())[attribute]["config"]
    (reference,) = config["reference"]
    model = LogisticModel.of(golden(case))
    with serve(model) as server, running_service(database, tmp_path) as service:
        address, rows = registered(service, case, server)
        log_native(service, address, rows[:1000], model.features)
        service.client.put(f"{address}/mitigation", json={"mode": mode, "attributes": [attribute]}).raise_for_status()
        answers = mitigated(service, address, rows, model.features, "own")
        of_group = {
            value: [answer for row, answer in zip(rows, answers, strict=True) if row[attribute] == value]
            for value in (*config["monitored"], reference)
        }
        as_other: dict[str, tuple[list[Row], list[Row]]] = {}
        for value in config["monitored"]:
            copies = [row | {attribute: value} for row in rows if row[attribute] == reference]
            back = [row | {attribute: reference} for row in rows if row[attribute] == value]
            as_other[value] = (
                mitigated(service, address, copies, model.features, f"as-{value}"),
                mitigated(service, address, back, model.features, f"{value}-as-reference"),
            )

    after = expected[mode]
    changed = [answer for answer in answers if answer["changed"]]
    assert sorted(int(answer["id"].removeprefix("own-")) for answer in changed) == after["changed_row_ids"]
    assert len(changed) == after["changed_rows"]
    assert sum((record["prediction"], record["mitigated_prediction"]) == (0, 1) for record in changed) == after["unfavorable_to_favorable"]
    assert sum((record["prediction"], record["mitigated_prediction"]) == (1, 0) for record in changed) == after["favorable_to_unfavorable"]
    assert all(answer["changed_by"] == ([attribute] if answer["changed"] else []) for answer in answers)
    assert {answer["mitigation"] for answer in of_group[reference]} == {"reference"}
    for column, figures in (("prediction", expected["before"]), ("mitigated_prediction", after)):
        for value in config["monitored"]:
            as_monitored, as_reference = as_other[value]
            payload = rate(of_group[value], column) / rate(of_group[reference], column)
            counterfactual = rate([*of_group[value], *as_monitored], column) / rate([*of_group[reference], *as_reference], column)
            assert payload == pytest.approx(figures["payload_DI"][value], abs=EXACT)
            assert counterfactual == pytest.approx(figures["balanced"][value], abs=EXACT)
        pairs = [(answer[column], row["actual"]) for row, answer in zip(rows, answers, strict=True)]
        by_class = [accuracy([pair for pair in pairs if pair[1] == actual]) for actual in (0, 1)]
        assert accuracy(pairs) == pytest.approx(figures["accuracy"], abs=EXACT)
        assert sum(by_class) / 2 == pytest.approx(figures["balanced_accuracy"], abs=EXACT)
