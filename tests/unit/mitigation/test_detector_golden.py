"""The detector on the records of a public data set, with the answers of a fixed model to their copies."""

import csv

import pytest

from app.domain.deployment import Column, FieldKind, FieldType
from app.mitigation.detector.bias_detector import BiasDetector
from app.mitigation.detector.detector_versions import train
from tests.builders.extras import NEEDS_DETECTOR
from tests.golden import golden

pytestmark = NEEDS_DETECTOR

NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
TEXTS = ("sex", "race", "workclass", "education", "marital_status", "occupation", "relationship", "native_country")
COLUMNS = (
    *(Column(name=name, type=FieldType.NUMBER, kind=FieldKind.NUMERIC) for name in NUMBERS),
    *(Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in TEXTS),
)


def detector_of_adult(*, knows_scores: bool) -> BiasDetector:
    """Trained on the women of Adult with an unfavourable outcome, biased where the model's answer to the copy as a man is favourable."""
    folder = golden("A1_adult")
    with (folder / "perturbed.csv").open(encoding="utf-8") as file:
        as_men = {row["row_id"]: row["prediction"] == "1" for row in csv.DictReader(file) if row["perturbed_value"] == "Male"}
    with (folder / "predictions.csv").open(encoding="utf-8") as file:
        women = [row for row in csv.DictReader(file) if row["sex"] == "Female" and row["prediction"] == "0"]
    found = train(
        COLUMNS,
        [(*(float(row[name]) for name in NUMBERS), *(row[name] for name in TEXTS)) for row in women],
        own_scores=[float(row["score"]) if knows_scores else None for row in women],
        biased=[as_men[row["row_id"]] for row in women],
        ids=[row["row_id"] for row in women],
    )
    assert isinstance(found, BiasDetector)
    return found


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("knows_scores", "least_area", "least_recall", "most_selected"), [(True, 0.99, 0.9, 0.06), (False, 0.98, 0.85, 0.12)]
)
def test_women_whom_the_model_of_adult_would_accept_as_men_are_found(
    knows_scores: bool,  # noqa: FBT001 - a case of the table above
    least_area: float,
    least_recall: float,
    most_selected: float,
) -> None:
    detector = detector_of_adult(knows_scores=knows_scores)

    quality, counts = detector.quality, detector.counts
    # The number of changed rows that debias.json has for lift only.
    assert (counts.records, counts.biased) == (4523, 223)
    assert quality.roc_auc.value is not None
    assert quality.roc_auc.value > least_area
    assert quality.recall.value is not None
    assert quality.recall.value > least_recall
    assert quality.selected.value is not None
    assert quality.selected.value < most_selected
