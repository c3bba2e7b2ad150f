"""Mitigation of unfair outcomes. Source: spec of the fairness check, section 8."""

from datetime import datetime
from enum import StrEnum

from ..base.values import Scalar, frozen, frozen_by_name

ONLY_DIRECT = (
    "Mitigation by substitution removes direct bias only: what the model takes from other features stays."
    " Read the figure as logged and the counterfactual one together."
)


class Mode(StrEnum):
    """Treatment of a monitored record: turned favourable if its reference copies are, or given their outcome.

    Stored with the counts of an hour: another word would separate the hours before from those after.
    """

    LIFT_ONLY = "lift_only"
    REFERENCE_SUBSTITUTION = "reference_substitution"


class DetectorUse(StrEnum):
    """Use of the bias detector: none, marking records, or also choosing the live records that get a second
    call of the model.
    """

    OFF = "off"
    MARK = "mark"
    CHOOSE = "choose"


@frozen_by_name
class MitigationSettings:
    """Settings of mitigation. `attributes` None = all; `version` 0: never set."""

    mode: Mode = Mode.LIFT_ONLY
    attributes: tuple[str, ...] | None = None
    bias_detector: DetectorUse = DetectorUse.OFF
    version: int = 0

    def mitigates(self, attribute: str) -> bool:
        return self.attributes is None or attribute in self.attributes


@frozen
class Reading:
    """Part of a stored probability that is about the favourable outcome.

    A single number is the probability of the favourable outcome (`rises`) or of the other. Of a list,
    `favourable` are the places of the favourable classes; `classes` their canonical texts by place, None
    where none was seen predicted, and empty where there are two and the model's cut-off need not be one half.
    """

    form: str
    rises: bool = True
    favourable: tuple[int, ...] = ()
    classes: tuple[str | None, ...] = ()


@frozen
class CutOff:
    """Score above which the model predicts the favourable outcome.

    Between the highest score seen of an unfavourable prediction and the lowest of a favourable one: one half
    if that lies there, else their middle.
    """

    value: float
    highest_unfavourable: float
    lowest_favourable: float


@frozen
class StandIn:
    """One copy that represents reference records: new values of the features, and the share it covers.

    `group` is the label of the reference value or range.
    """

    group: str
    changes: tuple[tuple[str, Scalar | None], ...]
    share: float


@frozen
class AttributeProfile:
    """Facts fitted for one attribute; `reason` says why there are no `stand_ins`, and so no substitution.

    `covered` is the share of reference records that the stand-ins represent.
    """

    feature: str
    stand_ins: tuple[StandIn, ...]
    covered: float = 1.0
    reason: str | None = None

    def shares(self) -> dict[str, float]:
        shares: dict[str, float] = {}
        for stand_in in self.stand_ins:
            shares[stand_in.group] = shares.get(stand_in.group, 0.0) + stand_in.share
        return shares


@frozen_by_name
class Profile:
    """Facts fitted for mitigation, fixed until the next fit, so that the same request gets the same answer.

    A profile of another `basis` is not used. It is provisional if there was too little payload. `reading` and
    `cut_off` are None with the reason in `unread`.
    """

    version: int
    fitted_at: datetime
    basis: str
    records: int
    is_provisional: bool
    attributes: tuple[AttributeProfile, ...]
    reading: Reading | None = None
    cut_off: CutOff | None = None
    unread: str | None = None

    def attribute(self, feature: str) -> AttributeProfile | None:
        return next((profile for profile in self.attributes if profile.feature == feature), None)


@frozen_by_name
class FlaggedRecord:
    """A payload record that needs a second look: with a reference value of the attribute its outcome would be
    another, or probably.

    `kind`: `changed` (the model said so) or `likely` (the bias detector thinks so); `direction`: `lifted`
    where the outcome would be favourable, else `lowered`. Scores are probabilities of the favourable
    outcome; `gap` is their distance, 0 without scores.
    """

    record_no: int
    attribute: str
    logged_at: datetime
    model_revision: str
    group: str
    kind: str
    direction: str
    own_score: float | None = None
    reference_score: float | None = None
    gap: float = 0.0
    bias_score: float | None = None
