"""Stored training data for the tests of views."""

from datetime import datetime

from app.deployments.training.queries import Cell, Distribution, TrainingData, TrainingForm, TrainingSummary, store_training_data
from tests.scenes import NOON, Scene


def put_training(stage: Scene, *cells: tuple[str, int, int], at: datetime = NOON) -> None:
    """Training data of sex × label: (sex, favourable, unfavourable)."""
    labels = Distribution((), (Cell((), 1, sum(c[1] for c in cells)), Cell((), 0, sum(c[2] for c in cells))))
    of_sex = Distribution(("sex",), tuple(Cell((sex,), label, count) for sex, one, none in cells for label, count in ((1, one), (0, none))))
    records = sum(c[1] + c[2] for c in cells)
    store_training(stage, TrainingData(summary(records, labels, at), (of_sex,), ()))


def store_training(stage: Scene, data: TrainingData) -> None:
    with stage.database.transaction() as session:
        store_training_data(session, stage.deployment.no, data)


def summary(records: int, labels: Distribution, at: datetime) -> TrainingSummary:
    return TrainingSummary(
        form=TrainingForm.DISTRIBUTION,
        label="approved",
        weight=None,
        records=records,
        schema_version=1,
        labels=labels,
        absent=(),
        processed_at=at,
        processing_seconds=0.1,
    )
