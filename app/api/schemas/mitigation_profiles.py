"""Mitigation profiles as bodies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from .base import Out, example

_PROFILE: dict[str, Any] = {
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
    """One version of a profile fitted to payload. It never changes, so a debiased answer can be computed again from it."""

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
