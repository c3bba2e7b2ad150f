"""Measurements as a body."""

from datetime import datetime
from typing import Any

from pydantic import Field, model_validator

from ...domain.check import DataSet, Measurement, Scope
from ...statistics.measures.worst_group import Disadvantaged
from ...statistics.sentences.statements import describe_gap, describe_verdict
from ...web.body import FollowingCursor, Joined, Out, PageOut, example
from .explain_figure import build_judged_figure, describe_measurement

VERDICT = (
    "`fair`: inside the limits with the whole interval. `undecided`: inside, but the interval reaches "
    "outside. `unwatched`: inside the one limit that is set with the whole interval, but beyond its mirror "
    "image (1/limit of a ratio, -limit of a difference) on the side that has none. `suspected`: outside, but "
    "the interval reaches inside. `unfair`: outside with the whole interval; both, of one of several groups, "
    "by the interval that allows for the choice among them. `insufficient_data`, `not_computable`: nothing "
    "is judged. Null where no limit is set. OpenScale's fairness is judged by its value alone, as there."
)
DISADVANTAGED = (
    "Who gets the favourable outcome less often than the limits, and the mirror image of a lone one, allow: "
    "`monitored`, `reference`, or `nobody` inside them; by the value, whether or not chance may explain it. "
    "Null where nothing is judged and where the metric does not say who is favoured (accuracy, distances, "
    "figures of everybody). In the scope `worst_pair` the two are the sides of `details`, whatever their "
    "role."
)
DISADVANTAGED_GROUP = "Its name; null where `disadvantaged` is `nobody` or null."
GAP = (
    "Whether there is a gap at all: by the p-value, or where there is none by the interval, of several "
    "groups allowing for the choice among them. Null where that cannot be asked."
)
BEYOND_LIMIT = "Whether the value is beyond a limit, and how sure that is."


def list_members(measurement: Measurement) -> dict[str, Any]:
    figure = build_judged_figure(measurement)
    return {
        "details": measurement.details.to_json(),
        "disadvantaged": figure.disadvantaged,
        "disadvantaged_group": figure.disadvantaged_group,
        "sentence": describe_measurement(measurement),
        "gap": describe_gap(figure),
        "beyond_limit": describe_verdict(figure),
    }


MEASUREMENT = {
    "metric": "disparate_impact",
    "data": "as_logged",
    "scope": "group",
    "attribute": "Sex",
    "group": "female",
    "at": "2026-03-01T10:00:00Z",
    "value": 0.8,
    "reason": None,
    "lower": 0.694,
    "upper": 0.9222,
    "interval_method": "log_ratio",
    "n": 400,
    "verdict": "suspected",
    "disadvantaged": "monitored",
    "disadvantaged_group": "female",
    "lower_limit": 0.85,
    "upper_limit": 1.1764705882352942,
    "carried_forward": False,
    "definition": 1,
    "worst_of": 1,
    "chosen_lower": None,
    "chosen_upper": None,
    "sentence": "Of every 100 records of female, 60 were predicted favourable; of every 100 of male, 75: a "
    "ratio of 0.800 (95 %: 0.694 to 0.922).",
    "gap": "The gap is larger than chance explains (p = 0.0013).",
    "beyond_limit": "Whether it is beyond the limit of 0.85 is not certain: its interval reaches 0.922.",
    "details": {
        "formula": "favourable_rate(monitored) / favourable_rate(reference)",
        "monitored": "female",
        "reference": "male",
        "monitored_favourable": 120,
        "monitored_n": 200,
        "reference_favourable": 150,
        "reference_n": 200,
        "p_value": 0.0013,
    },
}
RECORDS = {
    "of": 412,
    "counted": 400,
    "left_out": [
        {
            "reason": "outcome_unlisted",
            "text": "prediction in neither outcome list",
            "count": 3,
            "estimated": False,
            "groups": [{"group": "female", "count": 2}, {"group": "male", "count": 1}],
        },
        {
            "reason": "attribute_missing",
            "text": "Sex unknown",
            "count": 9,
            "estimated": False,
            "groups": [{"group": None, "count": 9}],
        },
    ],
    "groups": [
        {"group": "female", "of": 202, "counted": 200},
        {"group": "male", "of": 201, "counted": 200},
        {"group": None, "of": 9, "counted": 0},
    ],
    "cautions": [],
    "not_among": {"rejected": 0, "dropped": 0, "erased": 0},
    "text": "400 of 412 records counted; left out: prediction in neither outcome list 3 (female 2, male 1), "
    "Sex unknown 9.",
}
RECORDS_MEANING = (
    "Records of the range: how many are counted, and how many are left out for which reason, by group (null: "
    "none is known). Counted and left out add up to `of`. A caution names a group of which another share is "
    "left out than of the reference, or (`group` null) that favourable and unfavourable outcomes differ in "
    "it. `text` is the line in words."
)
_SERIES_MEASUREMENT = {
    "at": MEASUREMENT["at"],
    **MEASUREMENT,
    "check_id": "6f1c2d3e-4b5a-4978-8c9d-0e1f2a3b4c5d",
    "hours": None,
}


class MeasurementOut(Out):
    """One measured value; where it is null, `reason` says why."""

    model_config = example(MEASUREMENT)

    metric: str
    """The metric's key in the catalogue."""

    data: DataSet
    """On what it was computed: as_logged; counterfactual (every record once on each side: as it is, and as
    its perturbed copies are); openscale (every copy counted as a record, as OpenScale does); labelled;
    training; or, before and after mitigation, mitigated (records and copies) or mitigated_labelled.
    """

    scope: Scope
    """Subject of the figure: one group, several monitored groups pooled, the two groups furthest apart,
    several reference groups pooled, all groups, or everybody. `worst` is only asked for: it lets those
    through whose `worst_of` is set."""

    attribute: str | None
    """The attribute, or several joined by ' × ' for an intersection; null for everybody."""

    group: str | None
    """The value or range, in the scope `group`."""

    at: datetime
    value: float | None
    """Null where it cannot be computed; then `reason` says why."""

    reason: str | None
    lower: float | None
    """Lower end of the 95 % interval."""

    upper: float | None
    """Upper end of the 95 % interval; null next to a value means unbounded."""

    interval_method: str | None
    n: int
    """Logged records that the value is based on; synthetic copies are not counted."""

    verdict: str | None = Field(description=VERDICT)
    disadvantaged: Disadvantaged | None = Field(description=DISADVANTAGED)
    disadvantaged_group: str | None = Field(description=DISADVANTAGED_GROUP)
    lower_limit: float | None
    upper_limit: float | None
    carried_forward: bool
    """Nothing has changed since the check before; this is its value."""

    definition: int
    """Number of the metric's definition on this data: 2 where release 0.1 had another one, whose points
    have 1."""

    worst_of: int | None
    """Set on the monitored group that is furthest out: the number of groups that it was chosen from, those
    of fewer than 10 records only if there are no others; 0 where none has a value."""

    chosen_lower: float | None
    """Of several groups: lower end of the interval that allows for the choice among them, as
    `details.chosen_p_value` does."""

    chosen_upper: float | None
    """Upper end of the same; null next to a lower end means unbounded."""

    sentence: str
    """The value in words; where the reference is at a disadvantage, also as seen from its side."""

    gap: str | None = Field(description=GAP)
    beyond_limit: str = Field(description=BEYOND_LIMIT)
    details: dict[str, Any]
    """The counts and the formula it was computed from."""

    @model_validator(mode="before")
    @classmethod
    def _add_statements(cls, source: object) -> object:
        return Joined(source, list_members(source)) if isinstance(source, Measurement) else source


class CheckMeasurementPage(PageOut):
    """Measurements of a check."""

    measurements: list[MeasurementOut]
    next_cursor: FollowingCursor


class _TimeFirst(Out):
    # A body has its members in the order of its base classes, from the last to the first: `at` comes first.
    at: datetime


class SeriesMeasurementOut(MeasurementOut, _TimeFirst):
    """One value of a series, with everything needed to trace it."""

    model_config = example(_SERIES_MEASUREMENT)

    at: datetime
    """The end of the time it is about; of a roll-up, the start of the period."""

    check_id: str | None
    """The check that measured it; null for a roll-up."""

    hours: int | None
    """Of a roll-up: how many checked hours it sums up."""

    @classmethod
    def of(
        cls, measurement: Measurement, *, check_id: str | None = None, hours: int | None = None
    ) -> "SeriesMeasurementOut":
        """Body of a measurement of that check, or of a roll-up of so many hours."""
        return cls.from_object(measurement, **list_members(measurement), check_id=check_id, hours=hours)


class MeasurementPage(Out):
    """Measurements, oldest first."""

    measurements: list[SeriesMeasurementOut]
    next_cursor: str | None
    """Send it as `cursor` for what follows; null at the end, and for roll-ups."""
