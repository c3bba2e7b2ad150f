"""The mitigation settings as a body."""

from typing import Annotated, Any

from pydantic import Field

from ...domain.mitigation import ONLY_DIRECT, DetectorUse, MitigationSettings, Mode
from ...domain.mitigation_rules import mitigated_attributes, unused_attributes
from ...domain.monitors import Monitor
from .base import In, Out, example

_SETTINGS: dict[str, Any] = {"mode": "reference_substitution", "attributes": ["Sex"], "bias_detector": "off"}

AttributeName = Annotated[str, Field(examples=["Sex"])]


class MitigationIn(In):
    """The settings of mitigation. Members that are left out get their default."""

    model_config = example(_SETTINGS)

    mode: Annotated[Mode, Field(strict=False)] = Mode.LIFT_ONLY
    """`lift_only`: a monitored record becomes favourable where it would be with a reference value, and
    nothing is lowered. `reference_substitution`: it gets the outcome it would have with a reference
    value."""

    attributes: list[AttributeName] | None = Field(default=None, json_schema_extra={"minItems": 1})
    """The attributes to mitigate. Left out: every one of the monitor."""

    bias_detector: Annotated[DetectorUse, Field(strict=False)] = DetectorUse.OFF
    """`mark`: trained in checks, to mark records. `choose`: also to choose live records for a second call
    of the model. Both need the extra `detector` where the service runs."""


class MitigationOut(Out):
    """The stored settings, and the attributes they apply to under the present monitor."""

    model_config = example(
        {
            "version": 2,
            **_SETTINGS,
            "mitigated_attributes": ["Sex"],
            "unused_attributes": [],
            "notes": [ONLY_DIRECT],
        }
    )

    version: int
    """Grows with every change of content; 0 for the defaults of a deployment where nothing was set."""

    mode: Mode
    attributes: list[AttributeName] | None
    bias_detector: DetectorUse
    mitigated_attributes: list[AttributeName]
    """The attributes that are mitigated now; empty without a monitor."""

    unused_attributes: list[AttributeName]
    """Named above, but no longer attributes of the monitor, so nothing is done."""

    notes: list[str]
    """Sentences to show along with every number of this mode."""

    @classmethod
    def of(cls, settings: MitigationSettings, monitor: Monitor | None) -> "MitigationOut":
        return cls.from_object(
            settings,
            mitigated_attributes=() if monitor is None else mitigated_attributes(settings, monitor),
            unused_attributes=unused_attributes(settings, monitor),
            notes=(ONLY_DIRECT,),
        )
