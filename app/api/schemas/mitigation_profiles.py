"""Mitigation profiles as bodies: everything that a debiased answer can be traced to, with the numbers put into words."""

from datetime import datetime
from typing import Any

from pydantic import Field

from app.api.schemas.base import Out, example
from app.domain.mitigation import AttributeProfile, CutOff, Profile, Reading
from app.domain.records import Prediction

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
    """One copy that stands for reference records."""

    group: str = Field(description="The reference value or range that it is of.")
    changes: dict[str, Any] = Field(description="The features that the copy has other values of, and which.")
    share: float = Field(description="The share of reference records that it stands for, which is its weight.")


class AttributeProfileOut(Out):
    """What was learnt of one attribute."""

    feature: str
    stand_ins: list[StandInOut]
    covered: float = Field(description="The share of reference records whose values have a stand-in at all.")
    reason: str | None = Field(description="Why there is no stand-in, where there is none.")
    thresholds: dict[str, float] = Field(description="Of mode parity: the score from which each monitored group is lifted.")
    untouched: dict[str, str] = Field(description="The monitored groups that have no threshold, and why.")

    @classmethod
    def of(cls, attribute: AttributeProfile) -> "AttributeProfileOut":
        """The body of what was learnt."""
        return cls(
            feature=attribute.feature,
            stand_ins=[StandInOut(group=one.group, changes=dict(one.changes), share=one.share) for one in attribute.stand_ins],
            covered=attribute.covered,
            reason=attribute.reason,
            thresholds=dict(attribute.thresholds),
            untouched=dict(attribute.untouched),
        )


class ReadingOut(Out):
    """How the model's probability speaks of the favourable outcome. What is read from it is the score."""

    form: str = Field(description="`number` or `list`.")
    rises: bool = Field(description="Of a number: whether it is the probability of the favourable outcome, not of the other.")
    favourable: list[int] = Field(description="Of a list: the places of favourable classes, counted from 0.")
    classes: list[str | None] = Field(description="Of a list with more than two: the classes by place; null where none was seen predicted.")
    sentence: str

    @classmethod
    def of(cls, reading: Reading) -> "ReadingOut":
        """The body of a reading."""
        return cls(
            form=reading.form,
            rises=reading.rises,
            favourable=list(reading.favourable),
            classes=list(reading.classes),
            sentence=reading_sentence(reading),
        )


class CutOffOut(Out):
    """The score above which the model is favourable, and the two seen scores that it lies between."""

    value: float
    highest_unfavourable: float
    lowest_favourable: float
    sentence: str

    @classmethod
    def of(cls, cut_off: CutOff) -> "CutOffOut":
        """The body of a cut-off."""
        return cls(
            value=cut_off.value,
            highest_unfavourable=cut_off.highest_unfavourable,
            lowest_favourable=cut_off.lowest_favourable,
            sentence=cut_off_sentence(cut_off),
        )


class FavourableOut(Out):
    """The answer that the model gives most often when it is favourable."""

    prediction: Any
    label: Any

    @classmethod
    def of(cls, answer: Prediction) -> "FavourableOut":
        """The body of an answer."""
        return cls(prediction=answer.prediction, label=answer.label)


class ProfileOut(Out):
    """One version of what was learnt from payload. It never changes, so a debiased answer can be worked out again from it."""

    model_config = example(_PROFILE)

    version: int
    in_use: bool = Field(
        description="Whether debiased answers and checks rest on it: the newest version, if it was fitted for the model, columns, groups "
        "and goals of now. Where none is in use, the next debiased answer or check fits one."
    )
    fitted_at: datetime
    records: int = Field(description="The payload records that it was learnt from.")
    is_provisional: bool = Field(description="True where these were fewer than the monitor's `min_records`; it is fitted again then.")
    attributes: list[AttributeProfileOut]
    reading: ReadingOut | None
    cut_off: CutOffOut | None
    unread: str | None = Field(description="Why there is no reading, or no cut-off.")
    favourable: FavourableOut | None = Field(description="What mode parity answers where it lifts; null where nothing favourable was seen.")

    @classmethod
    def of(cls, profile: Profile, *, in_use: bool) -> "ProfileOut":
        """The body of a stored profile."""
        return cls(
            version=profile.version,
            in_use=in_use,
            fitted_at=profile.fitted_at,
            records=profile.records,
            is_provisional=profile.is_provisional,
            attributes=[AttributeProfileOut.of(attribute) for attribute in profile.attributes],
            reading=None if profile.reading is None else ReadingOut.of(profile.reading),
            cut_off=None if profile.cut_off is None else CutOffOut.of(profile.cut_off),
            unread=profile.unread,
            favourable=None if profile.favourable is None else FavourableOut.of(profile.favourable),
        )


class ProfilePage(Out):
    """A page of profiles."""

    model_config = example({"profiles": [_PROFILE], "next_cursor": None})

    profiles: list[ProfileOut]
    next_cursor: str | None


def reading_sentence(reading: Reading) -> str:
    """How the score is read from what the model gives, in words."""
    if reading.form == "number":
        if reading.rises:
            return "The model's number is the probability of the favourable outcome and is the score."
        return "The model's number is the probability of the unfavourable outcome; 1 minus it is the score."
    places = [_place(place, reading.classes) for place in reading.favourable]
    if not places:
        return "None of the listed probabilities is known to be of a favourable outcome, so the score is 0."
    if len(places) == 1:
        return f"Of the listed probabilities the one at place {places[0]} (counted from 0) is of favourable outcomes and is the score."
    listed = f"{', '.join(places[:-1])} and {places[-1]}"
    return f"Of the listed probabilities those at places {listed} (counted from 0) are of favourable outcomes; their sum is the score."


def cut_off_sentence(cut_off: CutOff) -> str:
    """Where the model parts its outcomes, in words."""
    return (
        f"The model is favourable above the score {cut_off.value:.6g}: the highest with an unfavourable prediction is"
        f" {cut_off.highest_unfavourable:.6g}, the lowest with a favourable one {cut_off.lowest_favourable:.6g}."
    )


def _place(place: int, classes: tuple[str | None, ...]) -> str:
    name = classes[place] if place < len(classes) else None
    return f"{place}" if name is None else f"{place} ({name})"
