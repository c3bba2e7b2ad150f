"""Settings of mitigation, profiles and bias detectors as bodies."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..deployments.mitigation_queries import ALL_TOGETHER, DetectorVersion
from ..domain.mitigation import ONLY_DIRECT, DetectorUse, MitigationSettings, Mode
from ..domain.monitor import Monitor
from ..web.body import FromText, In, Out, example, read_from
from .profile_in_force import list_mitigated_attributes, list_unused_attributes

_SETTINGS = {"mode": "reference_substitution", "attributes": ["Sex"], "bias_detector": "off"}

AttributeName = Annotated[str, Field(examples=["Sex"])]


class MitigationIn(In):
    """The settings of mitigation. Members that are left out get their default."""

    model_config = example(_SETTINGS)

    mode: FromText[Mode] = Mode.LIFT_ONLY
    """`lift_only`: a monitored record becomes favourable where it would be with a reference value, and
    nothing is lowered. `reference_substitution`: it gets the outcome it would have with a reference
    value."""

    attributes: list[AttributeName] | None = Field(default=None, json_schema_extra={"minItems": 1})
    """The attributes to mitigate. Left out: every one of the monitor."""

    bias_detector: FromText[DetectorUse] = DetectorUse.OFF
    """`mark`: trained in checks, to mark records. `choose`: also to choose live records for a second call
    of the model. Both need the extra `detector` where the service runs."""


class MitigationOut(Out):
    """The stored settings, and the attributes they apply to under the present monitor."""

    model_config = example(
        {
            "version": 2,
            **_SETTINGS,
            "mitigated_attributes": ["Sex"],
            "unused_attributes": [],
            "notes": [ONLY_DIRECT],
        }
    )

    version: int
    """Grows with every change of content; 0 for the defaults of a deployment where nothing was set."""

    mode: Mode
    attributes: list[AttributeName] | None
    bias_detector: DetectorUse
    mitigated_attributes: list[AttributeName]
    """The attributes that are mitigated now; empty without a monitor."""

    unused_attributes: list[AttributeName]
    """Named above, but no longer attributes of the monitor, so nothing is done."""

    notes: list[str]
    """Sentences to show along with every number of this mode."""

    @classmethod
    def of(cls, settings: MitigationSettings, monitor: Monitor | None) -> "MitigationOut":
        return cls.from_object(
            settings,
            mitigated_attributes=() if monitor is None else list_mitigated_attributes(settings, monitor),
            unused_attributes=list_unused_attributes(settings, monitor),
            notes=(ONLY_DIRECT,),
        )


_PROFILE = {
    "version": 3,
    "fitted_at": "2026-11-20T15:00:41.020874Z",
    "records": 10000,
    "is_provisional": False,
    "attributes": [
        {
            "feature": "Sex",
            "stand_ins": [{"group": "male", "changes": {"Sex": "male"}, "share": 1.0}],
            "covered": 1.0,
            "reason": None,
        }
    ],
    "reading": {"form": "list", "rises": True, "favourable": [1], "classes": []},
    "cut_off": {"value": 0.5, "highest_unfavourable": 0.4996, "lowest_favourable": 0.5003},
    "unread": None,
}


class StandInOut(Out):
    """One copy that represents reference records."""

    group: str
    """The reference value or range that it is of."""

    changes: Annotated[dict[str, Any], BeforeValidator(dict)]
    """The features that the copy has other values of, and which."""

    share: float
    """The share of reference records that it represents, which is its weight."""


class AttributeProfileOut(Out):
    """The part of a profile that was fitted for one attribute."""

    feature: str
    stand_ins: list[StandInOut]
    covered: float
    """The share of reference records whose values have a stand-in at all."""

    reason: str | None
    """Why there is no stand-in, where there is none."""


class ReadingOut(Out):
    """The reading of the model's probability as a score of the favourable outcome.

    A number is the score, or 1 minus it; of a list, the score is the sum of the numbers at `favourable`.
    """

    form: str
    """`number` or `list`."""

    rises: bool
    """Of a number: whether it is the probability of the favourable outcome, not of the other."""

    favourable: list[int]
    """Of a list: the places of favourable classes, counted from 0."""

    classes: list[str | None]
    """Of a list with more than two: the classes by place; null where none was seen predicted."""


class CutOffOut(Out):
    """The score above which the model is favourable, and the two observed scores that it lies between."""

    value: float
    highest_unfavourable: float
    lowest_favourable: float


class ProfileOut(Out):
    """One version of a profile fitted to payload. It never changes, so a mitigated answer can be computed
    again from it.
    """

    model_config = example(_PROFILE)

    version: int
    fitted_at: datetime
    records: int
    """The payload records that it was fitted to."""

    is_provisional: bool
    """True where these were fewer than the monitor's `min_records`; it is fitted again then."""

    attributes: list[AttributeProfileOut]
    reading: ReadingOut | None
    cut_off: CutOffOut | None
    unread: str | None
    """Why there is no reading, or no cut-off."""


NOTE = (
    "Quality is measured on records held out of the training. A score is what the detector expects of a "
    "record, not what the model says of it."
)

_FIGURE = {
    "value": 0.9167,
    "lower": 0.8569,
    "upper": 0.9528,
    "interval_method": "wilson",
    "n": 132,
    "reason": None,
}
_TRAINED = {
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
        "roc_auc": {
            "value": 0.9612,
            "lower": 0.9437,
            "upper": 0.9734,
            "interval_method": "delong_wilson",
            "n": 843,
            "reason": None,
        },
        "precision": _FIGURE | {"value": 0.7333, "lower": 0.6611, "upper": 0.7949, "n": 165},
        "recall": _FIGURE,
        "selected": _FIGURE | {"value": 0.1957, "lower": 0.1704, "upper": 0.2239, "n": 843},
    },
}
_REFUSED = {
    "attribute": "Age",
    "state": "refused",
    "reason": "31 of the 902 monitored records with an unfavourable outcome are biased; at least 50 are "
    "needed.",
    "records": 902,
    "biased_records": 31,
    "used": 902,
    "used_biased": 31,
    "held_out": 268,
    "held_out_biased": 9,
    "threshold": None,
    "quality": None,
}
_TRAINING = {
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
    interval_method: str | None = read_from("method")
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
    """The result of a training for one attribute. Counts are of monitored records with an unfavourable
    outcome.
    """

    model_config = example(_TRAINED)

    attribute: str | None
    """Null for all attributes together."""

    state: DetectorState
    reason: str | None
    """Why nothing was trained."""

    records: int = read_from("counts.records")
    """Records whose outcome as reference was known."""

    biased_records: int = read_from("counts.biased")
    """Those of them whose outcome as reference is favourable."""

    used: int = read_from("counts.used")
    """The newest of them, which were used."""

    used_biased: int = read_from("counts.used_biased")
    held_out: int = read_from("counts.held_out")
    """Those used that were kept from the training to measure its quality."""

    held_out_biased: int = read_from("counts.held_out_biased")
    threshold: float | None
    """The score from which on a record counts as likely biased."""

    quality: QualityOut | None

    @classmethod
    def of(cls, version: DetectorVersion) -> "DetectorOut":
        return cls.from_object(
            version,
            attribute=None if version.attribute == ALL_TOGETHER else version.attribute,
            state=DetectorState.TRAINED if version.reason is None else DetectorState.REFUSED,
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
        return cls.from_object(training[0], detectors=[DetectorOut.of(version) for version in training])


class BiasDetectorPage(Out):
    """A page of trainings."""

    model_config = example({"note": NOTE, "trainings": [_TRAINING], "next_cursor": None})

    note: str = NOTE
    """How the figures are to be read."""

    trainings: list[TrainingOut]
    next_cursor: str | None
