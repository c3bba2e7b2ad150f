"""A world whose truth is known, of the size of COMPAS: a model that decides by two real proxies of a meta field, and a column of chance.

`group` is never sent to the model. `priors` and `district` speak of it; `charge` holds one of 309 values at random and decides nothing, as
`age` does not, which has nothing to do with the group.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from app.database.engine import Database
from app.deployments.training.process_upload import Upload, process_file
from app.deployments.training.queries import Association, TrainingForm, store_training_data
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute
from tests.builders.applicants import monitor_of
from tests.models.serving import serve
from tests.scenes import NOON, Scene, scene

RECORDS = 6_000
CHARGES = 309
DISTRICTS = ("north", "south", "east", "west")
FEATURES = (
    Column(name="priors", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
    Column(name="district", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="charge", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
GROUP = Column(name="group", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


class LowRisk:
    """Calls those a low risk who have few priors, or live in a district that the first group seldom lives in."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        priors, district = columns.index("priors"), columns.index("district")
        points = [row[priors] - 2 * (row[district] in DISTRICTS[2:]) for row in rows]
        return [(int(score <= 1), 1 / (1 + 2.0 ** (score - 1))) for score in points]


def population(records: int, seed: int) -> pd.DataFrame:
    """That many people."""
    generator = np.random.default_rng(seed)
    is_first = generator.random(records) < 0.6
    district = np.where(
        is_first, generator.choice(4, records, p=[0.4, 0.3, 0.2, 0.1]), generator.choice(4, records, p=[0.1, 0.2, 0.3, 0.4])
    )
    return pd.DataFrame(
        {
            "group": np.where(is_first, "first", "second"),
            "priors": generator.poisson(np.where(is_first, 3.0, 2.0)),
            "district": np.array(DISTRICTS)[district],
            "charge": [f"charge {no}" for no in generator.integers(0, CHARGES, records)],
            "age": generator.integers(18, 70, records),
            "label": generator.integers(0, 2, records),
        }
    )


def watched_through(*features: str) -> Monitor:
    """A monitor of the group through these features."""
    group = MonitoredAttribute(feature="group", monitored=("first",), reference=("second",), correlated_features=features)
    return monitor_of(group, max_records=10_000)


@contextmanager
def proxied_world(database: Database, *, asked: int = 2_000, at: datetime = NOON) -> Iterator[Scene]:
    """The model with its training data, asked about that many other people at that time; watched through nothing."""
    with serve(LowRisk()) as model:
        stage = scene(database, FEATURES, watched_through(), endpoint=Endpoint(url=model.url), meta=(GROUP,))
        train(stage)
        people = population(asked, seed=2).drop(columns="label")
        names = [column.name for column in FEATURES]
        decided = LowRisk().predict(names, people[names].to_numpy().tolist())
        stage.log(
            (
                {**row, "prediction": prediction, "probability": probability}
                for row, (prediction, probability) in zip(people.to_dict("records"), decided, strict=True)
            ),
            at,
        )
        yield stage


def train(stage: Scene) -> tuple[Association, ...]:
    """Uploads the training data, and returns how strongly each feature goes together with the group."""
    body = population(RECORDS, seed=1).to_csv(index=False).encode()
    upload = Upload(form=TrainingForm.CSV, deployment=stage.deployment, monitor=None, label="label", weight=None, received_at=NOON)
    data = process_file(io.BytesIO(body), upload)
    with stage.database.transaction() as session:
        store_training_data(session, stage.deployment.no, data)
    return data.correlated[0].associations
