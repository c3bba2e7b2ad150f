"""Bias detectors as bodies."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import AliasPath, Field

from ...domain.bias_detectors import ALL_TOGETHER, DetectorVersion
from .base import Out, example

NOTE = (
    "Quality is measured on records held out of the training. A score is what the detector expects of a record, not what the model"
    " says of it."
)

_FIGURE: dict[str, Any] = {
    "value": 0.9167,
    "lower": 0.8569,
    "upper": 0.9528,
    "interval_method": "wilson",
    "n": 132,
    "reason": None,
}
_TRAINED: dict[str, Any] = {
    "attribute": "Sex",
    "state": "trained",
    "reason": None,
    "records": 2810,
    "biased_records": 431,
    "used": 2810,
    "used_biased": 431,
    "held_out": 843,
    "held_out_biased": 132,
    "threshold": 0.3127,
    "quality": {
        "roc_auc": {"value": 0.9612, "lower": 0.9437, "upper": 0.9734, "interval_method": "delong_wilson", "n": 843, "reason": None},
        "precision": {"value": 0.7333, "lower": 0.6611, "upper": 0.7949, "interval_method": "wilson", "n": 165, "reason": None},
        "recall": _FIGURE,
        "selected": {"value": 0.1957, "lower": 0.1704, "upper": 0.2239, "interval_method": "wilson", "n": 843, "reason": None},
    },
}
_REFUSED: dict[str, Any] = {
    "attribute": "Age",
    "state": "refused",
    "reason": "31 of the 902 monitored records with an unfavourable outcome are biased; at least 50 are needed.",
    "records": 902,
    "biased_records": 31,
    "used": 902,
    "used_biased": 31,
    "held_out": 268,
    "held_out_biased": 9,
    "threshold": None,
    "quality": None,
}
_TRAINING: dict[str, Any] = {
    "version": 3,
    "trained_at": "2026-03-01T10:00:38.114201Z",
    "check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    "detectors": [_TRAINED, _REFUSED],
}


class DetectorState(StrEnum):
    """The result of a training."""

    TRAINED = "trained"
    REFUSED = "refused"


class FigureOut(Out):
    """One figure with its 95 % interval; where the value is null, `reason` says why."""

    model_config = example(_FIGURE)

    value: float | None
    lower: float | None
    upper: float | None
    interval_method: str | None = Field(validation_alias="method")
    n: int
    """The records it rests on."""

    reason: str | None


class QualityOut(Out):
    """The quality of a detector on the records held out."""

    roc_auc: FigureOut
    """The chance that a biased record has a higher score than one that is not."""

    precision: FigureOut
    """The share of biased records among those at or above the threshold."""

    recall: FigureOut
    """The share of the biased records that are at or above the threshold."""

    selected: FigureOut
    """The share of all records at or above the threshold: those that would get a second call."""


class DetectorOut(Out):
    """The result of a training for one attribute. Counts are of monitored records with an unfavourable outcome."""

    model_config = example(_TRAINED)

    attribute: str | None
    """Null for all attributes together."""

    state: DetectorState
    reason: str | None
    """Why nothing was trained."""

    records: int = Field(validation_alias=AliasPath("counts", "records"))
    """Records whose outcome as reference was known."""

    biased_records: int = Field(validation_alias=AliasPath("counts", "biased"))
    """Those of them whose outcome as reference is favourable."""

    used: int = Field(validation_alias=AliasPath("counts", "used"))
    """The newest of them, which were used."""

    used_biased: int = Field(validation_alias=AliasPath("counts", "used_biased"))
    held_out: int = Field(validation_alias=AliasPath("counts", "held_out"))
    """Those used that were kept from the training to measure its quality."""

    held_out_biased: int = Field(validation_alias=AliasPath("counts", "held_out_biased"))
    threshold: float | None
    """The score from which on a record counts as likely biased."""

    quality: QualityOut | None

    @classmethod
    def of(cls, found: DetectorVersion) -> "DetectorOut":
        return cls.from_object(
            found,
            attribute=None if found.attribute == ALL_TOGETHER else found.attribute,
            state=DetectorState.TRAINED if found.reason is None else DetectorState.REFUSED,
        )


class TrainingOut(Out):
    """One training: a version, and the attributes that were due in it."""

    model_config = example(_TRAINING)

    version: int
    trained_at: datetime
    check_id: str
    """The check whose evidence it was trained on."""

    detectors: list[DetectorOut]
    """All attributes together first, then by name. Others keep their earlier version."""

    @classmethod
    def of(cls, training: list[DetectorVersion]) -> "TrainingOut":
        return cls.from_object(training[0], detectors=[DetectorOut.of(found) for found in training])


class BiasDetectorPage(Out):
    """A page of trainings."""

    model_config = example({"note": NOTE, "trainings": [_TRAINING], "next_cursor": None})

    note: str = NOTE
    """How the figures are to be read."""

    trainings: list[TrainingOut]
    next_cursor: str | None
