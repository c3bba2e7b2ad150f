"""What was measured of a frame: the groups, the figures with their intervals, verdicts and sentences, as rows or as JSON."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from app.metrics import CATALOGUE, FeedbackCells, GroupCounts, Measured, Undefined, Value, Verdict, verdict
from app.metrics.groups import Role
from app.metrics.sentences import sentence

Table: TypeAlias = GroupCounts | FeedbackCells


@dataclass(frozen=True, slots=True)
class GroupSize:
    """One group and how many records are in it."""

    label: str
    role: Role
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything measured of one frame. `data` says of what: feedback (labels and predictions), payload, or training (labels).

    `records` are those of the frame, `in_no_group` those among them that take no part. `chosen` says in words which reference
    was taken because none was given, `warnings` which listed groups no record is in. `table` holds the counts that all but the
    metrics of rows were computed from.
    """

    data: str
    attribute: str
    favourable: tuple[str, ...]
    groups: tuple[GroupSize, ...]
    records: int
    in_no_group: int
    chosen: str | None
    warnings: tuple[str, ...]
    table: Table
    measured: list[Measured]

    def to_frame(self) -> pd.DataFrame:
        """One row per measurement, in catalogue order; a missing number is NaN, an open end of an interval too."""
        rows = [{name: value for name, value in _measurement(one).items() if name != "details"} for one in self.measured]
        return pd.DataFrame(rows, columns=list(_COLUMN_TYPES)).astype(_COLUMN_TYPES)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; a missing number is None with its reason, never NaN."""
        return {
            "data": self.data,
            "attribute": self.attribute,
            "favourable": list(self.favourable),
            "groups": [{"label": group.label, "role": group.role, "records": group.records} for group in self.groups],
            "records": self.records,
            "records_in_no_group": self.in_no_group,
            "reference_chosen": self.chosen,
            "warnings": list(self.warnings),
            "measurements": [_measurement(one) for one in self.measured],
        }


def judged(measured: Measured) -> Verdict | None:
    """The verdict under the catalogue's limits for the metric; a missing number says so even where there are none."""
    lower, upper = CATALOGUE[measured.metric].limits
    given = verdict(measured.number, lower_limit=lower, upper_limit=upper, smallest_group=measured.smallest_group)
    return Verdict.NOT_COMPUTABLE if given is None and isinstance(measured.number, Undefined) else given


def sentence_of(measured: Measured) -> str:
    """What the measurement means, in words."""
    number = measured.number
    if isinstance(number, Undefined):
        return sentence(measured.metric, value=None, reason=number.reason, details=measured.details)
    return sentence(measured.metric, value=number.value, lower=number.lower, upper=number.upper, details=measured.details)


_COLUMN_TYPES = {
    "metric": "str",
    "scope": "str",
    "group": "str",
    "value": "float64",
    "lower": "float64",
    "upper": "float64",
    "interval_method": "str",
    "n": "int64",
    "verdict": "str",
    "lower_limit": "float64",
    "upper_limit": "float64",
    "reason": "str",
    "sentence": "str",
}


def _measurement(measured: Measured) -> dict[str, Any]:
    """One measurement under the names that the API gives its members."""
    number = measured.number
    value = number if isinstance(number, Value) else None
    lower_limit, upper_limit = CATALOGUE[measured.metric].limits
    given = judged(measured)
    return {
        "metric": measured.metric,
        "scope": measured.scope,
        "group": measured.group,
        "value": value and value.value,
        "lower": value and value.lower,
        "upper": value and value.upper,
        "interval_method": value and value.method,
        "n": number.n,
        "verdict": given and given.value,
        "lower_limit": lower_limit,
        "upper_limit": upper_limit,
        "reason": number.reason if isinstance(number, Undefined) else None,
        "sentence": sentence_of(measured),
        "details": measured.details,
    }
