"""The features that go together with a meta field, as a body."""

from typing import Any

from pydantic import Field

from app.api.schemas.base import Out, example
from app.domain.training_data import Association, AssociationMeasure
from app.training.limits import LEAST_STRENGTH

_FEATURES: list[dict[str, Any]] = [
    {
        "feature": "Job",
        "measure": "cramers_v",
        "strength": 0.434,
        "records": 4_718,
        "left_out": 282,
        "reason": None,
        "is_correlated": True,
        "can_be_picked": True,
    },
    {
        "feature": "Age",
        "measure": "correlation_ratio",
        "strength": 0.089,
        "records": 5_000,
        "left_out": 0,
        "reason": None,
        "is_correlated": False,
        "can_be_picked": False,
    },
]


class CorrelatedFeatureOut(Out):
    """How strongly a feature goes together with the meta field in the training data."""

    feature: str
    measure: AssociationMeasure = Field(
        description="Cramér's V (not corrected for bias) of two categories, the correlation ratio of a category and a quantity, the "
        "absolute value of Pearson's correlation of two quantities."
    )
    strength: float | None = Field(description="From 0 to 1; null where it cannot be measured.")
    records: int = Field(description="Training records that have a value in both.")
    left_out: int = Field(description="Training records that have none in one of them.")
    reason: str | None = Field(description="Why there is no strength.")
    is_correlated: bool = Field(description="Whether the strength is at least the threshold.")
    can_be_picked: bool = Field(
        description="Whether a monitor may list it under `correlated_features`: no values are kept of features weaker than "
        f"{LEAST_STRENGTH}, or that the schema no longer has."
    )


class CorrelatedFeaturesOut(Out):
    """The features of the model by how strongly they go together with a meta field."""

    model_config = example({"attribute": "Sex", "threshold": 0.3, "reason": None, "features": _FEATURES})

    attribute: str
    threshold: float
    reason: str | None = Field(description="Why there is no feature in the list; null where there are any.")
    features: list[CorrelatedFeatureOut] = Field(description="The strongest first, those without a strength last.")


def correlated_feature(one: Association, *, threshold: float, can_be_picked: bool) -> CorrelatedFeatureOut:
    """The body of one association."""
    return CorrelatedFeatureOut(
        feature=one.feature,
        measure=one.measure,
        strength=one.strength,
        records=one.records,
        left_out=one.left_out,
        reason=one.reason,
        is_correlated=one.strength is not None and one.strength >= threshold,
        can_be_picked=can_be_picked,
    )
