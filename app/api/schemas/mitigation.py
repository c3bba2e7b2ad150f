"""The mitigation settings as a body."""

from typing import Annotated, Any

from pydantic import Field

from ...domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, DetectorUse, MitigationSettings, Mode, ParityGoal
from ...domain.mitigation_rules import (
    DEFAULT_GROUP,
    LEAST_GROUP,
    MOST_GROUP,
    attributes_without_goal,
    mitigated_attributes,
    notes_of,
    unused_attributes,
)
from ...domain.monitors import Monitor
from .base import In, Out, example

_GOAL = {"attribute": "Sex", "disparate_impact": 0.9, "min_group_size": 100}
_SETTINGS: dict[str, Any] = {"mode": "parity", "attributes": ["Sex"], "parity": [_GOAL], "bias_detector": "off"}

AttributeName = Annotated[str, Field(examples=["Sex"])]


class ParityGoalIn(In):
    """The goal to which mode parity lifts every monitored group of an attribute."""

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
    """The settings of mitigation. Members that are left out get their default."""

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
        """Returns the settings, not yet checked."""
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
    """The stored settings, and the attributes they apply to under the present monitor."""

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
    notes: list[str] = Field(description="Sentences to show along with every number of this mode.")

    @classmethod
    def of(cls, settings: MitigationSettings, monitor: Monitor | None) -> "MitigationOut":
        """Returns the body of stored settings, under the present monitor."""
        return cls.from_object(
            settings,
            mitigated_attributes=() if monitor is None else mitigated_attributes(settings, monitor),
            unused_attributes=unused_attributes(settings, monitor),
            attributes_without_goal=() if monitor is None else attributes_without_goal(settings, monitor),
            notes=notes_of(settings.mode),
        )
