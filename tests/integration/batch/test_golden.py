"""Adult and the OpenScale credit data: the same figures from Postgres and from files, also counted in batches or on Spark."""

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.checks.window.window import TablePlaces
from app.database.engine import Database
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.sources.tables.table_files import Engine, LocalEngine
from tests.builders.lakes import lake_of
from tests.builders.spark_engines import SPARK_WARNINGS, spark_engine
from tests.golden import golden
from tests.scenes import HOUR, NOON, Result, scene

WATCHED = {
    "A1_adult": ("sex", "Female"),
    "A2_openscale_credit_risk": ("Sex", "female"),
}


def figures(result: Result) -> dict[tuple[object, ...], Any]:
    return {
        (figure.metric, str(figure.data), figure.scope, figure.comparison, figure.group): (
            figure.value,
            figure.lower,
            figure.upper,
            figure.n,
            figure.reason,
        )
        for figure in result.measurements
        if not figure.data.startswith("mitigated")
    }


@pytest.mark.nightly
@pytest.mark.parametrize("open_it", [LocalEngine, pytest.param(spark_engine, marks=SPARK_WARNINGS)], ids=["local", "spark"])
@pytest.mark.parametrize("case", WATCHED)
def test_golden_data_give_the_same_figures_from_files(database: Database, tmp_path: Path, case: str, open_it: Callable[[], Engine]) -> None:
    engine = open_it()
    feature, monitored = WATCHED[case]
    with (golden(case) / "predictions.csv").open() as file:
        rows: list[dict[str, Any]] = [
            {
                feature: row[feature],
                "id": f"{int(row['row_id']):07}",
                "prediction": int(row["prediction"]),
                "probability": float(row["score"]),
            }
            | {"actual": int(row["label"])}
            for row in csv.DictReader(file)
        ]
    monitor = Monitor(
        outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
        attributes=(MonitoredAttribute(feature=feature, monitored=(monitored,)),),
        min_records=100,
        max_records=len(rows),
    )
    columns = [Column(name=feature, type=FieldType.STRING, kind=FieldKind.CATEGORICAL)]
    stage = scene(database, columns, monitor, endpoint=None)
    lake = lake_of(stage, tmp_path)
    lake.stage.places = TablePlaces((lake.folder,), engine=engine)
    stage.log(rows, NOON)
    for start in range(0, len(rows), 999):
        lake.write(rows[start : start + 999], NOON)
    labels = [(row["id"], row["actual"]) for row in rows]
    stage.label(labels[:3000], NOON + HOUR / 2)
    lake.label(labels[:3000], NOON + HOUR / 2)
    expected, found = figures(stage.check(NOON)), figures(lake.check(NOON))
    lake.stage.watch(replace(monitor, max_records=100))
    in_batches = figures(lake.check(NOON))

    assert expected.keys() == found.keys()
    for key, values in expected.items():
        of_payload = [in_batches[key]] if key[1] == "as_logged" else []
        for others in (found[key], *of_payload):
            for value, other in zip(values, others, strict=True):
                assert value == other or math.isclose(value, other, rel_tol=1e-12), key
