"""The same records and the same model give the same measurements through every payload format."""

from typing import Any

import pytest

from app.database.engine import Database
from app.domain.deployment import BodyMapping, Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute
from app.payloads.registry import PayloadFormat
from tests.builders.applicants import APPROVED
from tests.builders.row_server import RowServer, row_server
from tests.models.speaking import MAPPING
from tests.scenes import NOON, Scene, scene

MIXED = {"sex": FieldType.STRING, "income": FieldType.NUMBER, "age": FieldType.INTEGER, "owner": FieldType.BOOLEAN}
WHOLE = {"sex": FieldType.INTEGER, "income": FieldType.INTEGER, "age": FieldType.INTEGER, "owner": FieldType.INTEGER}

OF_ONE_KIND = {"open_inference_matrix"}
"""Formats in which all columns have one type."""

SEXES = {"male": 1, "female": 0}


def approve(row: dict[str, Any]) -> dict[str, Any]:
    points = (0.35 if row["sex"] in {"male", 1} else 0.0) + row["income"] / 100_000 + (0.1 if row["owner"] else 0.0)
    return {"prediction": int(points > 0.5), "probability": min(points / 1.7, 1.0)}


def people(types: dict[str, FieldType]) -> list[dict[str, Any]]:
    """Sixty records with awkward numbers."""
    found = []
    for no in range(60):
        sex, income = ("female" if no % 2 else "male"), 7_919 * no % 100_000
        row: dict[str, Any] = {"sex": sex, "income": income + 1 / 3, "age": 20 + no % 50, "owner": no % 3 == 0}
        if types is WHOLE:
            row |= {"sex": SEXES[sex], "income": income, "owner": int(row["owner"])}
        found.append({**row, **approve(row), "id": f"r{no}"})
    return found


def watched(database: Database, server: RowServer, payload_format: PayloadFormat, types: dict[str, FieldType]) -> Scene:
    categories = {"sex", "owner"}
    columns = [Column(name=n, type=t, kind=FieldKind.CATEGORICAL if n in categories else FieldKind.NUMERIC) for n, t in types.items()]
    female, male = (0, 1) if types is WHOLE else ("female", "male")
    attribute = MonitoredAttribute(feature="sex", monitored=(female,), reference=(male,))
    monitor = Monitor(outcomes=APPROVED, attributes=(attribute,), min_records=10, max_records=1000)
    mapping = BodyMapping(**MAPPING) if payload_format.value == "mapped" else None
    endpoint = Endpoint(url=server.url_of(payload_format.value), payload_format=payload_format, mapping=mapping, page_size=7)
    stage = scene(database, columns, monitor, endpoint=endpoint, deployment_id=payload_format.value.replace("_", "-"))
    server.columns = list(types)
    stage.number_from(1)
    stage.log(people(types), NOON)
    return stage


@pytest.mark.nightly
@pytest.mark.parametrize("types", [MIXED, WHOLE], ids=["mixed", "whole"])
def test_a_check_measures_the_same_through_every_format(database: Database, types: dict[str, FieldType]) -> None:
    formats = [row for row in PayloadFormat if types is WHOLE or row.value not in OF_ONE_KIND]
    found = {}
    with row_server(approve) as server:
        for payload_format in formats:
            result = watched(database, server, payload_format, types).check(NOON)
            found[payload_format.value] = [
                (
                    figure.metric,
                    figure.data,
                    figure.scope,
                    figure.attribute,
                    figure.group,
                    figure.value,
                    figure.lower,
                    figure.upper,
                    figure.n,
                )
                for figure in result.measurements
            ]

    assert len(found["fields_values"]) > 20
    assert any(value[1] == "counterfactual" and value[5] is not None for value in found["fields_values"])
    assert {name: same == found["fields_values"] for name, same in found.items()} == dict.fromkeys(found, True)
