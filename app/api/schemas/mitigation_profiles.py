"""Mitigation profiles as bodies: everything that a debiased answer can be traced to, with the numbers put into words."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from ...domain.mitigation import CutOff, Reading
from .base import Out, example

_PROFILE: dict[str, Any] = {
    "version": 3,
    "in_use": True,
    "fitted_at": "2026-11-20T15:00:41.020874Z",
    "records": 10000,
    "is_provisional": False,
    "attributes": [
        {
            "feature": "Sex",
            "stand_ins": [{"group": "male", "changes": {"Sex": "male"}, "share": 1.0}],
            "covered": 1.0,
            "reason": None,
            "thresholds": {"female": 0.3178},
            "untouched": {},
        }
    ],
    "reading": {
        "form": "list",
        "rises": True,
        "favourable": [1],
        "classes": [],
        "sentence": "Of the listed probabilities the one at place 1 (counted from 0) is of favourable outcomes and is the score.",
    },
    "cut_off": {
        "value": 0.5,
        "highest_unfavourable": 0.4996,
        "lowest_favourable": 0.5003,
        "sentence": "The model is favourable above the score 0.5: the highest with an unfavourable prediction is 0.4996, "
        "the lowest with a favourable one 0.5003.",
    },
    "unread": None,
    "favourable": {"prediction": 1, "label": "No Risk"},
}


class StandInOut(Out):
    """One copy that represents reference records."""

    group: str = Field(description="The reference value or range that it is of.")
    changes: Annotated[dict[str, Any], BeforeValidator(dict)] = Field(
        description="The features that the copy has other values of, and which."
    )
    share: float = Field(description="The share of reference records that it represents, which is its weight.")


class AttributeProfileOut(Out):
    """The part of a profile that was learned for one attribute."""

    feature: str
    stand_ins: list[StandInOut]
    covered: float = Field(description="The share of reference records whose values have a stand-in at all.")
    reason: str | None = Field(description="Why there is no stand-in, where there is none.")
    thresholds: Annotated[dict[str, float], BeforeValidator(dict)] = Field(
        description="Of mode parity: the score from which each monitored group is lifted."
    )
    untouched: Annotated[dict[str, str], BeforeValidator(dict)] = Field(description="The monitored groups that have no threshold, and why.")


class ReadingOut(Out):
    """The reading of the model's probability as a score of the favourable outcome."""

    form: str = Field(description="`number` or `list`.")
    rises: bool = Field(description="Of a number: whether it is the probability of the favourable outcome, not of the other.")
    favourable: list[int] = Field(description="Of a list: the places of favourable classes, counted from 0.")
    classes: list[str | None] = Field(description="Of a list with more than two: the classes by place; null where none was seen predicted.")
    sentence: str

    @model_validator(mode="before")
    @classmethod
    def _add_sentence(cls, found: object) -> object:
        return {**asdict(found), "sentence": reading_sentence(found)} if isinstance(found, Reading) else found


class CutOffOut(Out):
    """The score above which the model is favourable, and the two observed scores that it lies between."""

    value: float
    highest_unfavourable: float
    lowest_favourable: float
    sentence: str

    @model_validator(mode="before")
    @classmethod
    def _add_sentence(cls, found: object) -> object:
        return {**asdict(found), "sentence": cut_off_sentence(found)} if isinstance(found, CutOff) else found


class FavourableOut(Out):
    """The answer that the model gives most often when it is favourable."""

    prediction: Any
    label: Any


class ProfileOut(Out):
    """One version of a profile learned from payload. It never changes, so a debiased answer can be computed again from it."""

    model_config = example(_PROFILE)

    version: int
    in_use: bool = Field(
        description="Whether debiased answers and checks use it: the newest version, if it was fitted for the model, columns, groups "
        "and goals of now. Where none is in use, the next debiased answer or check fits one."
    )
    fitted_at: datetime
    records: int = Field(description="The payload records that it was learned from.")
    is_provisional: bool = Field(description="True where these were fewer than the monitor's `min_records`; it is fitted again then.")
    attributes: list[AttributeProfileOut]
    reading: ReadingOut | None
    cut_off: CutOffOut | None
    unread: str | None = Field(description="Why there is no reading, or no cut-off.")
    favourable: FavourableOut | None = Field(description="What mode parity answers where it lifts; null where nothing favourable was seen.")


class ProfilePage(Out):
    """A page of profiles."""

    model_config = example({"profiles": [_PROFILE], "next_cursor": None})

    profiles: list[ProfileOut]
    next_cursor: str | None


def reading_sentence(reading: Reading) -> str:
    """Returns the reading of the score from the model's answer, in words."""
    if reading.form == "number":
        if reading.rises:
            return "The model's number is the probability of the favourable outcome and is the score."
        return "The model's number is the probability of the unfavourable outcome; 1 minus it is the score."
    names = dict(enumerate(reading.classes))
    places = [f"{place} ({names[place]})" if names.get(place) is not None else f"{place}" for place in reading.favourable]
    if not places:
        return "None of the listed probabilities is known to be of a favourable outcome, so the score is 0."
    if len(places) == 1:
        return f"Of the listed probabilities the one at place {places[0]} (counted from 0) is of favourable outcomes and is the score."
    listed = f"{', '.join(places[:-1])} and {places[-1]}"
    return f"Of the listed probabilities those at places {listed} (counted from 0) are of favourable outcomes; their sum is the score."


def cut_off_sentence(cut_off: CutOff) -> str:
    """Returns the cut-off between the model's outcomes, in words."""
    return (
        f"The model is favourable above the score {cut_off.value:.6g}: the highest with an unfavourable prediction is"
        f" {cut_off.highest_unfavourable:.6g}, the lowest with a favourable one {cut_off.lowest_favourable:.6g}."
    )
