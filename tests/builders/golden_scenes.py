"""Golden models as watched deployments, and their rows."""

import json
from typing import Any

from app.base.values import Range
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.golden import golden
from tests.models.serving import ModelServer
from tests.scenes import Scene, golden_columns, golden_rows, scene

FAVOURABLE_IS_ONE = OutcomeRule(favourable=(1,), unfavourable=(0,))
CASES = {
    "A1_adult": (MonitoredAttribute(feature="sex", monitored=("Female",), reference=("Male",)),),
    "A2_openscale_credit_risk": (
        MonitoredAttribute(feature="Sex", monitored=("female",), reference=("male",)),
        MonitoredAttribute(feature="Housing", monitored=("rent", "free"), reference=("own",)),
    ),
}
"""The attributes that the golden values of debiasing are about, by case."""


def watched(database: Database, case: str, attributes: tuple[MonitoredAttribute, ...], server: ModelServer) -> Scene:
    """The deployment of a golden model, watched for these attributes."""
    model = json.loads((golden(case) / "model.json").read_text())
    columns = golden_columns(model, [term["feature"] for term in model["terms"] if term["type"] == "numeric"])
    monitor = Monitor(outcomes=FAVOURABLE_IS_ONE, attributes=attributes, min_records=100, max_records=20_000)
    return scene(database, columns, monitor, endpoint=Endpoint(url=server.url))


def rows_of(stage: Scene, case: str) -> list[dict[str, Any]]:
    """The golden rows with the columns of the deployment."""
    return golden_rows(golden(case), stage.deployment.schema.features)


def attribute_of(config: dict[str, Any]) -> MonitoredAttribute:
    """The attribute as the golden values of OpenScale's definitions describe it."""
    values = {side: tuple(Range(*v) if isinstance(v, list) else v for v in config[side]) for side in ("monitored", "reference")}
    return MonitoredAttribute(feature=config["attribute"], threshold=config["threshold"], **values)


def staged(database: Database, case: str, server: ModelServer) -> tuple[Scene, list[dict[str, Any]]]:
    """The deployment of a golden model, watched for the attributes of `CASES`, and its rows."""
    stage = watched(database, case, CASES[case], server)
    return stage, rows_of(stage, case)
