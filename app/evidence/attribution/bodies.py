"""Attributions as bodies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, model_validator

from ...checks.bodies import ProgressOut, RangeIn
from ...deployments.monitor.bodies import FeatureName
from ...domain.monitor_rules import MAX_ATTRIBUTED_ROWS, MAX_ATTRIBUTES, MAX_INTERSECTIONS
from ...web.body import FollowingCursor, Out, PageOut, example, read_from
from ...web.route_declarations import UUID_PATTERN
from .attribution import (
    AttributionLimits,
    AttributionRun,
    AttributionState,
    AttributionTrigger,
    Method,
    ResampledUnits,
)
from .attribution_request import AttributionRequest
from .words import say_result

MAX_PAIRS = 100_000

_COUNTS: dict[str, Any] = {
    "monitored": {"label": "female", "favourable": 412, "records": 1030},
    "reference": {"label": "male", "favourable": 1520, "records": 2410},
}
_SHARES: dict[str, Any] = {
    "gap_of_pairs": -0.226,
    "sum_of_shares": -0.226,
    "sampling": -0.00470,
    "pairs": 500,
    "pairs_left_out": 0,
    "resampled": "pairs",
    "compared": 100,
    "differing": 0,
    "shares": [
        {"features": ["income"], "share": {"value": -0.154, "low": -0.203, "high": -0.104}},
        {"features": ["area"], "share": {"value": -0.072, "low": -0.095, "high": -0.051}},
    ],
}
_GAP: dict[str, Any] = {
    "features": ["Sex"],
    "attribute": "Sex",
    **_COUNTS,
    "gap": -0.23070,
    "hybrids": _SHARES,
    "cells": [],
}
_RESULT: dict[str, Any] = {
    "method": "hybrids",
    "model_revision": "2026-02",
    "monitor_version": 3,
    "records": 3440,
    "additional_records": 0,
    "other_revisions": 0,
    "unclassified": 0,
    "not_drawn": 0,
    "gaps": [_GAP],
    "left_out": [],
    "change": None,
}
_ATTRIBUTION: dict[str, Any] = {
    "id": "7c2f7b0e-33c5-4f9a-8f0e-6a1d6a8f3b52",
    "deployment_id": "credit-risk",
    "trigger": "manual",
    "state": "done",
    "from": "2026-11-19T00:00:00Z",
    "to": "2026-11-20T00:00:00Z",
    "check_id": None,
    "pairs": None,
    "max_rows": None,
    "comparisons": None,
    "planned_rows": 1100,
    "planned_requests": 2,
    "asked_rows": 1100,
    "progress": {"step": "storing the result", "done": 0, "total": 0},
    "problem": None,
    "attempts": 1,
    "cancel_requested": False,
    "requested_by": "user:ada",
    "created_at": "2026-11-20T08:12:03.411290Z",
    "started_at": "2026-11-20T08:12:03.902113Z",
    "finished_at": "2026-11-20T08:12:09.020874Z",
    "sentences": [
        (
            "Of every 100 records of female, 40.0 have a favourable outcome; of every 100 of male, 63.1: a gap "
            "of −23.1 points."
        ),
        (
            "The gap of 500 sampled pairs is −22.6 points, by feature: −15.4 points (95 %: −20.3 to "
            "−10.4) by income, −7.2 points (95 %: −9.5 to −5.1) by area."
        ),
        (
            "The gap of all records differs from that of the pairs by −0.5 points, from the choice of pairs "
            "(sampling)."
        ),
    ],
    "result": _RESULT,
}
_COST: dict[str, Any] = {
    "method": "hybrids",
    "from": "2026-11-19T00:00:00Z",
    "to": "2026-11-20T00:00:00Z",
    "records": 3440,
    "rows": 1100,
    "requests": 2,
}


class AttributionIn(RangeIn):
    """The window to attribute, and limits on its cost. Without a check or a range: that of a check for
    now.
    """

    model_config = example(
        {"dry_run": True, "from": "2026-11-19T00:00:00Z", "to": "2026-11-20T00:00:00Z", "max_rows": 20_000}
    )

    dry_run: bool = False
    """True: answers what it would cost, stores nothing and asks nobody."""

    check_id: Annotated[str, Field(pattern=UUID_PATTERN)] | None = None
    """The window of this check; comes without a range."""

    pairs: int | None = Field(default=None, ge=1, le=MAX_PAIRS)
    """Max pairs of each gap. Left out: 500, or 4,000 if more than six features move separately."""

    max_rows: int | None = Field(default=None, ge=1, le=MAX_ATTRIBUTED_ROWS)
    """Max rows in all; fewer pairs are compared where they would cost more."""

    comparisons: list[Annotated[list[FeatureName], Field(min_length=1)]] | None = Field(
        default=None, min_length=1, max_length=MAX_ATTRIBUTES + MAX_INTERSECTIONS
    )
    """Comparisons of the monitor whose gaps are attributed, each as the names of its features: one
    attribute, or several of an intersection, such as `[["Sex"], ["Sex", "Age"]]`. Left out: each
    attribute by itself."""

    @model_validator(mode="after")
    def _require_one_window(self) -> "AttributionIn":
        if self.check_id is not None and self.from_ is not None:
            raise ValueError("`check_id` comes without `from` and `to`: a check has a range already")
        return self

    def to_domain(self) -> AttributionRequest:
        limits = self.read_as(AttributionLimits)
        return AttributionRequest(span=self.span(), check_id=self.check_id, limits=limits)


class SideCountsOut(Out):
    """Records of one side, and how many of them have a favourable outcome."""

    label: str | None
    """The group; null: every value that is not monitored."""

    favourable: int
    records: int


class PartOfGapOut(Out):
    """Part of a gap, from -1 to 1, with both ends of its 95 % interval; null where there are too few
    records.
    """

    value: float
    low: float | None
    high: float | None


class ShareOfPlayerOut(Out):
    """Part of the gap that is carried by a feature, or by several that go together."""

    features: list[str]
    share: PartOfGapOut


class HybridSharesOut(Out):
    """Shares of the gap of the sampled pairs."""

    gap_of_pairs: float
    """The gap of the sampled pairs, as logged."""

    sum_of_shares: float
    """The sum of all shares; the same number, up to rounding of the machine."""

    sampling: float
    """The gap of all records less that of the pairs: the rest that no feature carries."""

    pairs: int
    pairs_left_out: int
    """Pairs of which the model refused a row, or answered one with neither outcome."""

    resampled: ResampledUnits
    """The units by which the intervals are made: pairs, or records where they are in several pairs."""

    compared: int
    """Logged records that the model was asked about as they are."""

    differing: int
    """How many of them got another outcome than was logged."""

    shares: list[ShareOfPlayerOut]
    """Largest first."""


class CellsOfFeatureOut(Out):
    """Parts of the gap by the cells of one feature. They sum to the gap; parts of different features must
    not be added.
    """

    feature: str
    cells: int
    who_applies: PartOfGapOut
    """Carried by different shares of the cells."""

    how_treated: PartOfGapOut
    """Carried by different rates within a cell."""

    no_counterpart: PartOfGapOut
    """Carried by records in cells that only one group has."""


class AttributedGapOut(Out):
    """Gap of one monitored group: its favourable rate less that of the reference."""

    features: list[str]
    """The attribute that is compared; several of an intersection."""

    attribute: str
    """The same as one text, for people."""

    monitored: SideCountsOut
    reference: SideCountsOut
    gap: float
    hybrids: HybridSharesOut | None
    """Null by the method `kitagawa`, or if no pair was answered."""

    cells: list[CellsOfFeatureOut]
    """Empty by the method `hybrids`."""


class PeriodCountsOut(Out):
    """Both sides' records before a moment, or from then on."""

    monitored: SideCountsOut
    reference: SideCountsOut
    gap: float | None
    first: datetime | None
    """When the first of them was logged."""

    last: datetime | None
    revisions: dict[str, int]
    """How many are of each model revision."""


class RevisionBoundaryOut(Out):
    """A change of the model revision among the records."""

    before: str
    after: str
    at: datetime
    """When the first record of the new revision was logged."""


class ChangedPartsOut(Out):
    """Change of the gap by the cells of one feature, and of the logarithm of the ratio (null where a rate
    is 0).
    """

    feature: str
    who_asked: float
    how_answered: float
    no_counterpart: float
    who_asked_log_ratio: float | None
    how_answered_log_ratio: float | None
    no_counterpart_log_ratio: float | None


class ChangedGapOut(Out):
    """Why a group's gap changed at the onset of an alarm. Descriptive only: the alarm selected the records
    after it.
    """

    attribute: str
    group: str
    at: datetime
    before: PeriodCountsOut
    after: PeriodCountsOut
    boundary: RevisionBoundaryOut | None
    features: list[ChangedPartsOut]


class AttributionResultOut(Out):
    """Findings, with the counts that each figure is traced by."""

    method: Method
    """`hybrids`: the model was asked. `kitagawa`: the deployment has no endpoint, or it is for an alert."""

    model_revision: str
    monitor_version: int
    records: int
    """Records of the window."""

    additional_records: int
    """Of these, logged before the range; a check tops its window up in the same way."""

    other_revisions: int
    """Of these, of another model revision; they take no part."""

    unclassified: int
    """Of these, with an outcome in neither list; they take no part."""

    not_drawn: int
    """Of these, left out by chance: the window has records logged at different rates, and those that take
    part count alike."""

    gaps: list[AttributedGapOut]
    left_out: list[str]
    """Features without cells, because they have too many different values."""

    change: ChangedGapOut | None
    """Of an attribution for an alert."""


class AttributionOut(Out):
    """One attribution. `done`, `failed` and `cancelled` are final."""

    model_config = example(_ATTRIBUTION)

    id: str
    deployment_id: str
    trigger: AttributionTrigger
    """`manual`: requested; `nightly`: by the monitor; `alert`: why its figure changed."""

    state: AttributionState
    from_: datetime = read_from("span.start", serialization_alias="from")
    """The beginning of the window; the onset."""

    to: datetime = read_from("span.end")
    """Its end, exclusive."""

    check_id: str | None
    """The check whose window it is, if one was named."""

    pairs: int | None = read_from("limits.pairs")
    max_rows: int | None = read_from("limits.max_rows")
    comparisons: list[list[str]] | None = read_from("limits.comparisons")
    """Comparisons that it is about; null: each attribute by itself."""

    planned_rows: int | None
    """Rows that the model is asked about; known before the first is asked."""

    planned_requests: int | None
    """Requests for them, those aside that fail and are repeated."""

    asked_rows: int | None
    """Rows that were asked about; known at the end."""

    progress: ProgressOut | None
    problem: str | None
    """Why it failed, and what to do."""

    attempts: int
    """How often a worker has begun it. Rows that were answered before are not asked about again."""

    cancel_requested: bool
    """A running one stops before its next page."""

    requested_by: str = read_from("created_by")
    """The id of the API key, `user:` and a name, `schedule` or `alert`."""

    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    sentences: list[str]
    """The findings in plain sentences."""

    result: AttributionResultOut | None

    @classmethod
    def of(cls, run: AttributionRun) -> "AttributionOut":
        return cls.from_object(run, sentences=[] if run.result is None else say_result(run.result))


class AttributionPage(PageOut):
    """A page of attributions, newest first."""

    attributions: list[AttributionOut]
    next_cursor: FollowingCursor


class AttributionCostOut(Out):
    """Cost of an attribution; nothing was stored, and nobody was asked."""

    model_config = example(_COST)

    method: Method
    from_: datetime = read_from("span.start", serialization_alias="from")
    to: datetime = read_from("span.end")
    records: int
    """Records of the window."""

    rows: int = read_from("cost.rows")
    """Rows that the model would be asked about; 0 by `kitagawa`."""

    requests: int = read_from("cost.requests")
    """Requests, each of at most the endpoint's `page_size` rows."""
