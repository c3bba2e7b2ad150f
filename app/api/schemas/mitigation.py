"""The mitigation settings as a body."""

from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.base import In, Out, example
from app.domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, DetectorUse, MitigationSettings, Mode, ParityGoal
from app.domain.mitigation_rules import (
    DEFAULT_GROUP,
    LEAST_GROUP,
    MOST_GROUP,
    attributes_without_goal,
    mitigated_attributes,
    notes_of,
    unused_attributes,
)
from app.domain.monitors import Monitor

_GOAL = {"attribute": "Sex", "disparate_impact": 0.9, "min_group_size": 100}
_SETTINGS: dict[str, Any] = {"mode": "parity", "attributes": ["Sex"], "parity": [_GOAL], "bias_detector": "off"}

AttributeName = Annotated[str, Field(examples=["Sex"])]


class ParityGoalIn(In):
    """How far every monitored group of an attribute is lifted in mode parity."""

    attribute: AttributeName
    disparate_impact: float = Field(
        json_schema_extra={"exclusiveMinimum": 0, "maximum": 1}, description="The payload disparate impact to be reached."
    )
    min_group_size: int = Field(
        default=DEFAULT_GROUP,
        json_schema_extra={"minimum": LEAST_GROUP, "maximum": MOST_GROUP},
        description="A group with fewer records with a probability keeps its outcomes.",
    )


class MitigationIn(In):
    """How outcomes are mitigated. What is left out gets its default."""

    model_config = example(_SETTINGS)

    mode: Annotated[Mode, Field(strict=False)] = Field(
        default=Mode.LIFT_ONLY,
        description="`lift_only`: a monitored record becomes favourable where it would be with a reference value, and nothing is lowered. "
        "`reference_substitution`: it gets the outcome it would have with a reference value. "
        "`parity`: it becomes favourable from its group's own threshold on.",
    )
    attributes: list[AttributeName] | None = Field(
        default=None, json_schema_extra={"minItems": 1}, description="The attributes to mitigate. Left out: every one of the monitor."
    )
    parity: list[ParityGoalIn] = Field(
        default_factory=list, description="Goals of mode parity, which needs one for every attribute that is mitigated."
    )
    bias_detector: Annotated[DetectorUse, Field(strict=False)] = Field(
        default=DetectorUse.OFF,
        description="`mark`: trained in checks, to mark records. `choose`: also to choose live records for a second call of the model.",
    )

    def to_domain(self) -> MitigationSettings:
        """The settings it stands for; not yet checked."""
        return MitigationSettings(
            mode=self.mode,
            attributes=None if self.attributes is None else tuple(self.attributes),
            parity=tuple(ParityGoal(**goal.model_dump()) for goal in self.parity),
            bias_detector=self.bias_detector,
        )


class ParityGoalOut(Out):
    """One goal of mode parity."""

    attribute: AttributeName
    disparate_impact: float
    min_group_size: int


class MitigationOut(Out):
    """The settings as they are stored, and what they come to with the monitor as it is now."""

    model_config = example(
        {
            "version": 2,
            **_SETTINGS,
            "mitigated_attributes": ["Sex"],
            "unused_attributes": [],
            "attributes_without_goal": [],
            "notes": [ONLY_DIRECT, PARITY_TREATS_UNLIKE],
        }
    )

    version: int = Field(description="Grows with every change of content; 0 for the defaults of a deployment where nothing was set.")
    mode: Mode
    attributes: list[AttributeName] | None
    parity: list[ParityGoalOut]
    bias_detector: DetectorUse
    mitigated_attributes: list[AttributeName] = Field(description="The attributes that are mitigated now; empty without a monitor.")
    unused_attributes: list[AttributeName] = Field(description="Named above, but no longer attributes of the monitor, so nothing is done.")
    attributes_without_goal: list[AttributeName] = Field(
        description="In mode parity, attributes that the monitor was given later. They keep their outcomes until they have a goal."
    )
    notes: list[str] = Field(description="What has to be said beside every number that this mode makes.")

    @classmethod
    def of(cls, settings: MitigationSettings, monitor: Monitor | None) -> "MitigationOut":
        """The body of stored settings, under the monitor as it is now."""
        return cls(
            version=settings.version,
            mode=settings.mode,
            attributes=None if settings.attributes is None else list(settings.attributes),
            parity=[
                ParityGoalOut(attribute=goal.attribute, disparate_impact=goal.disparate_impact, min_group_size=goal.min_group_size)
                for goal in settings.parity
            ],
            bias_detector=settings.bias_detector,
            mitigated_attributes=list(mitigated_attributes(settings, monitor)) if monitor is not None else [],
            unused_attributes=list(unused_attributes(settings, monitor)),
            attributes_without_goal=list(attributes_without_goal(settings, monitor)) if monitor is not None else [],
            notes=list(notes_of(settings.mode)),
        )
