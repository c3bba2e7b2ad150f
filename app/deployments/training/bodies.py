"""Training data as bodies."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import msgspec
from pydantic import FailFast, Field, PlainSerializer, PlainValidator, WithJsonSchema

from ...base.values import Range
from ...domain.monitor import Monitor
from ...web.body import RANGE_SCHEMA, In, Out, example, read_from, read_group_value
from .from_distributions import MIN_SHOWN_RECORDS, find_unclassified, merge_rare
from .queries import (
    MAX_DISTRIBUTION_COLUMNS,
    MAX_VALUE_CHARACTERS,
    Cell,
    Distribution,
    TrainingForm,
    TrainingSummary,
)

_COUNTS = [
    {"values": ["female"], "label": "No Risk", "records": 1113},
    {"values": ["female"], "label": "Risk", "records": 388},
    {"values": ["male"], "label": "No Risk", "records": 2184},
    {"values": ["male"], "label": "Risk", "records": 1315},
]
_LABELS = [
    {"label": "No Risk", "records": 3297, "weight": None},
    {"label": "Risk", "records": 1703, "weight": None},
]
_SUMMARY = {
    "form": "csv",
    "label": "Risk",
    "weight": None,
    "records": 5000,
    "labels": _LABELS,
    "labels_note": None,
    "unclassified": 0,
    "unclassified_examples": [],
    "absent": ["Postcode"],
    "schema_version": 1,
    "processed_at": "2026-07-01T12:00:00Z",
    "processing_seconds": 0.18,
}


ValueJson = Annotated[
    str | int | float | bool | Range | None,
    PlainValidator(lambda sent: None if sent is None else read_group_value(sent)),
    PlainSerializer(msgspec.to_builtins),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "maxLength": MAX_VALUE_CHARACTERS},
                {"type": "integer"},
                {"type": "number"},
                {"type": "boolean"},
                RANGE_SCHEMA,
                {"type": "null"},
            ]
        }
    ),
]


class CountIn(In):
    """The number of records with these values and this label."""

    values: list[ValueJson]
    """One for each of the columns, in their order; null where it is missing."""

    label: ValueJson
    """Null for records without one. For a regression, a number or a range."""

    records: int = Field(ge=0)


class DistributionIn(In):
    """The counts of the values of some columns with each label: of all records, those with missing values
    included.
    """

    columns: list[str] = Field(json_schema_extra={"minItems": 1, "maxItems": MAX_DISTRIBUTION_COLUMNS})
    """Attributes that are watched together, and the strata."""

    counts: Annotated[list[CountIn], FailFast()]


class TrainingDistributionsIn(In):
    """Training data as a ready distribution."""

    model_config = example({"distributions": [{"columns": ["Sex"], "counts": _COUNTS}]})

    # FailFast: a million wrong cells must not become a million messages.
    distributions: Annotated[list[DistributionIn], FailFast()] = Field(min_length=1, max_length=1_000)

    def to_domain(self) -> list[Distribution]:
        return [
            Distribution(
                tuple(distribution.columns),
                tuple(
                    Cell(tuple(count.values), count.label, count.records)
                    for count in distribution.counts
                    if count.records
                ),
            )
            for distribution in self.distributions
        ]


class LabelCountOut(Out):
    """The number of records with this label."""

    label: ValueJson
    """A range where labels are counted in intervals; null for records without one."""

    records: int
    weight: float | None
    """The sum of their weights; null where records carry none."""


class CountOut(LabelCountOut):
    """The number of records with these values and this label."""

    values: list[ValueJson]
    """A range where a column is counted in intervals; null where a value is missing."""


class DistributionOut(Out):
    """The joint distribution of the labels and the values of a column, or of several together."""

    columns: list[str]
    note: str | None
    """The part that is coarse or left out; null where every value is counted by itself."""

    counts: list[CountOut] = read_from("cells")


class TrainingSummaryOut(Out):
    """A summary of the upload."""

    model_config = example(_SUMMARY)

    form: TrainingForm
    label: str
    """The label's column."""

    weight: str | None
    """The column of the weights."""

    records: int
    labels: list[LabelCountOut] = read_from("labels.cells")
    labels_note: str | None = read_from("labels.note")
    """The part of the labels that is coarse; null where each is counted by itself."""

    unclassified: int | None
    """Records whose label is in neither outcome list of the monitor as it is now; those without a label
    are not counted. Null without a monitor, and where labels are counted in intervals that lie in an
    outcome only in part."""

    unclassified_examples: list[ValueJson]
    """Up to five of these labels, the most frequent first."""

    absent: list[str]
    """Columns of the schema that were not sent."""

    schema_version: int
    """Of the deployment, as it was then."""

    processed_at: datetime
    processing_seconds: float

    @classmethod
    def of(cls, summary: TrainingSummary, monitor: Monitor | None) -> "TrainingSummaryOut":
        return cls.from_object(summary, **_count_unclassified(summary, monitor))


class TrainingDataOut(TrainingSummaryOut):
    """A summary of the upload, and its distributions."""

    model_config = example(
        {
            **_SUMMARY,
            "distributions": [
                {"columns": ["Sex"], "note": None, "counts": [{**count, "weight": None} for count in _COUNTS]}
            ],
        }
    )

    distributions: list[DistributionOut]

    @classmethod
    def whole(
        cls,
        summary: TrainingSummary,
        distributions: Sequence[Distribution],
        monitor: Monitor | None,
        *,
        shows_rare: bool,
    ) -> "TrainingDataOut":
        members = _count_unclassified(summary, monitor, min_records=1 if shows_rare else MIN_SHOWN_RECORDS)
        if not shows_rare:
            summary = replace(summary, labels=merge_rare(summary.labels))
            distributions = [merge_rare(distribution) for distribution in distributions]
        return cls.from_object(summary, **members, distributions=distributions)


def _count_unclassified(
    summary: TrainingSummary, monitor: Monitor | None, *, min_records: int = 1
) -> dict[str, Any]:
    unclassified = (
        None
        if monitor is None
        else find_unclassified(summary.labels, monitor.outcomes, min_records=min_records)
    )
    return {
        "unclassified": None if unclassified is None else unclassified.records,
        "unclassified_examples": () if unclassified is None else unclassified.examples,
    }
