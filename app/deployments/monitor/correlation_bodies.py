"""Features that are associated with a meta field, as a body."""

from pydantic import Field

from ...web.body import Out, example
from ..training.queries import MIN_ASSOCIATION, AssociationMeasure

_FEATURES = [
    {
        "feature": "Job",
        "measure": "cramers_v",
        "strength": 0.431,
        "chance_level": 0.045,
        "uncorrected": 0.434,
        "records": 4_718,
        "left_out": 282,
        "reason": None,
        "recommended": True,
        "can_be_picked": True,
        "warning": None,
    },
    {
        "feature": "Age",
        "measure": "correlation_ratio",
        "strength": 0.088,
        "chance_level": 0.024,
        "uncorrected": 0.089,
        "records": 5_000,
        "left_out": 0,
        "reason": None,
        "recommended": False,
        "can_be_picked": False,
        "warning": None,
    },
]


class CorrelatedFeatureOut(Out):
    """The strength of a feature's association with the meta field in the training data."""

    feature: str
    measure: AssociationMeasure
    """Cramér's V of two categories, the correlation ratio of a category and a quantity, the absolute
    value of Pearson's correlation of two quantities."""

    strength: float | None
    """From 0 to 1, corrected for chance; null where it was not measured."""

    chance_level: float | None
    """The strength that 95 of 100 shuffles of the records stay below, corrected as the strength is, so
    the two can be compared; null where it was not measured."""

    uncorrected: float | None
    """The strength without correction, from 0 to 1. Not to be compared with `chance_level`: many values
    or few records alone make it large."""

    records: int
    """Training records that have a value in both."""

    left_out: int
    """Training records that have none in one of them."""

    reason: str | None
    """Why there is no strength."""

    recommended: bool
    """Whether the strength is above both the threshold and the level of chance."""

    can_be_picked: bool = Field(
        description="Whether a monitor may list it under `correlated_features`: no values are kept of "
        f"features whose uncorrected strength is below {MIN_ASSOCIATION}, or that the schema no longer has."
    )
    warning: str | None
    """Of a feature that can be picked, what should be known before: that it is no stronger than chance,
    or that this is not known."""


class CorrelatedFeaturesOut(Out):
    """The features of the model by the strength of their association with a meta field."""

    model_config = example({"attribute": "Sex", "threshold": 0.1, "reason": None, "features": _FEATURES})

    attribute: str
    threshold: float
    reason: str | None
    """Why there is no feature in the list; null where there are any."""

    features: list[CorrelatedFeatureOut]
    """The strongest first, those without a strength last."""
