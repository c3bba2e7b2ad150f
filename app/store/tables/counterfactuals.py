"""The model's answers to perturbed copies, reused by every later check."""

from sqlalchemy import BigInteger, Identity, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from .base import DeploymentNo, Int16, Int64, JsonValue, Row


class CopyTargetRow(Row):
    """One kind of copy: `feature` set to `target`, scored by `model_revision`.

    `target` is a value's canonical text, or `[lo, hi]` with `draws` and `seed`. Its number is taken before the model is asked.
    """

    __tablename__ = "copy_targets"
    __table_args__ = (
        UniqueConstraint(
            "deployment_no", "model_revision", "schema_version", "feature", "target", "draws", "seed", name="copy_targets_key"
        ),
    )

    no: Mapped[int] = mapped_column(Identity(), primary_key=True)
    deployment_no: Mapped[DeploymentNo]
    model_revision: Mapped[str]
    schema_version: Mapped[Int16]
    feature: Mapped[str]
    target: Mapped[str]
    draws: Mapped[Int16]
    seed: Mapped[Int64]


class CounterfactualRow(Row):
    __tablename__ = "counterfactuals"

    target_no: Mapped[int] = mapped_column(primary_key=True)
    record_no: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    draw: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    prediction: Mapped[JsonValue]
    probability: Mapped[JsonValue | None]
    label: Mapped[JsonValue | None]
