"""The model's answers to perturbed copies, reused by every later check."""

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Identity, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from .base import Json, Row


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
    deployment_no: Mapped[int] = mapped_column(ForeignKey("deployments.no", ondelete="CASCADE"))
    model_revision: Mapped[str]
    schema_version: Mapped[int] = mapped_column(SmallInteger)
    feature: Mapped[str]
    target: Mapped[str]
    draws: Mapped[int] = mapped_column(SmallInteger)
    seed: Mapped[int] = mapped_column(BigInteger)


class CounterfactualRow(Row):
    """The model's answer to one copy."""

    __tablename__ = "counterfactuals"

    target_no: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    record_no: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    draw: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    prediction: Mapped[Any] = mapped_column(Json)
    probability: Mapped[Any | None] = mapped_column(Json)
    label: Mapped[Any | None] = mapped_column(Json)
