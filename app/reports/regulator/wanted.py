"""Content of a regulator's report that a caller chooses."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

import msgspec

from ...domain.category_schemes import CategoryMapping
from ...frozen import frozen


class PeriodSheet(StrEnum):
    """Sheets of a report on a period, in the order of its chapters: hazards, measures, evaluation, treatment."""

    ADVERSE_IMPACT = "adverse_impact"
    LL144 = "ll144"
    LENDING = "lending"
    PROBABILISTIC = "probabilistic"
    CONTROLS = "controls"
    INDIRECT_BIAS = "indirect_bias"
    EVIDENCE = "evidence"
    ALERTS = "alerts"
    FLIPS = "flips"
    ALTERNATIVE = "alternative"


class ToolKind(StrEnum):
    """Kinds of tools under Local Law 144."""

    SELECTING = "selecting"
    SCORING = "scoring"


@frozen(kw_only=True)
class SheetsWanted:
    """No attributes mean all of the monitor.

    `categories` map values to a scheme, or name the columns of weights of the probabilistic sheet.
    """

    sheets: tuple[PeriodSheet, ...]
    attributes: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    tool: ToolKind = ToolKind.SELECTING
    preset: str | None = None
    categories: tuple[CategoryMapping, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the content for storage; equal contents are equal there."""
        # Through JSON: a stored list would not equal a tuple.
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return msgspec.convert(stored, cls)
