"""Definitions of custom monitors as the SDK sends them. Evenhand computes none of their metrics: scripts post them."""

import re
from typing import Any, Literal

from pydantic import Field

from ..errors import FieldProblem, InvalidInput
from .bodies import Answer, Sent

MAX_ID_CHARACTERS = 40
"""Max characters of a definition's id, which its instances' ids begin with."""

NEVER_RUN = "is not supported by Evenhand for a custom monitor, which is never run: post its metrics with measurements.add"
"""Ends the message to a field that asks for a custom monitor to be run."""


class DefaultLimitIn(Sent):
    """A limit that instances have unless they state another one."""

    type: Literal["lower_limit", "upper_limit"]
    default: float | None = None


class CustomMetricIn(Sent):
    """One metric of a custom monitor."""

    name: str = Field(min_length=1, max_length=100)
    description: str | None = Field(default=None, max_length=2000)
    thresholds: list[DefaultLimitIn] = Field(default_factory=list, max_length=2)
    required: bool = False
    applies_to: dict[str, Any] | None = None
    expected_direction: Literal["increasing", "decreasing", "unknown"] | None = None
    default_aggregation: str | None = Field(default=None, max_length=100)
    computation: dict[str, Any] | None = None


class CustomTagIn(Sent):
    """One tag of a custom monitor."""

    name: str = Field(min_length=1, max_length=100)
    description: str | None = Field(default=None, max_length=2000)
    required: bool = False


class CustomMonitorIn(Sent):
    """A custom monitor. Names of metrics and tags differ, also as ids."""

    name: str = Field(min_length=1, max_length=200)
    metrics: list[CustomMetricIn] = Field(min_length=1, max_length=100)
    tags: list[CustomTagIn] = Field(max_length=20)
    description: str | None = Field(default=None, max_length=2000)
    applies_to: dict[str, Any] | None = None
    parameters_schema: dict[str, Any] | None = None
    managed_by: str | None = Field(default=None, max_length=200)
    schedule: dict[str, Any] | None = None
    schedules: dict[str, Any] | None = None
    monitor_runtime: dict[str, Any] | None = None

    def to_entity(self) -> Answer:
        """Returns what is stored: the definition, with an id for each metric and tag.

        Raises:
            InvalidInput: two names give one id, or something is asked for that Evenhand does not do.
        """
        runtime = (self.monitor_runtime or {}).get("type", "none")
        refused = {
            "schedule": self.schedule,
            "schedules": self.schedules,
            "monitor_runtime": runtime != "none",
            **{f"metrics[{place}].computation": one.computation for place, one in enumerate(self.metrics)},
        }
        problems = [FieldProblem(name, NEVER_RUN) for name, is_stated in refused.items() if is_stated]
        if self.parameters_schema:
            problems.append(FieldProblem("parameters_schema", "is not supported by Evenhand, which stores parameters as they are"))
        metrics = [{"id": id_of(one.name), **one.model_dump(exclude_none=True)} for one in self.metrics]
        tags = [{"id": id_of(one.name), **one.model_dump(exclude_none=True)} for one in self.tags]
        ids = [one["id"] for one in (*metrics, *tags)]
        problems += [FieldProblem("metrics", f"name {one!r} twice, also counting tags") for one in dict.fromkeys(ids) if ids.count(one) > 1]
        if problems:
            raise InvalidInput(problems)
        kept = self.model_dump(include={"name", "description", "applies_to", "managed_by"}, exclude_none=True)
        return {**kept, "metrics": metrics, "tags": tags}


def id_of(name: str) -> str:
    """Returns the id that a name gives, as OpenScale forms it: in lower case, with underscores.

    Raises:
        InvalidInput: the name has no Latin letter and no digit.
    """
    found = re.sub("[^a-z0-9]+", "_", name.lower()).strip("_")[:MAX_ID_CHARACTERS]
    if not found:
        raise InvalidInput.of("name", f"must have a Latin letter or a digit, of which an id is made; found {name!r:.60}")
    return found
