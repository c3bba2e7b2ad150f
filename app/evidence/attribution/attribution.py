"""Attributions: what carries the gaps of a window, and why the gap of an alert changed."""

from datetime import datetime
from enum import StrEnum

from ...base.values import frozen_by_name
from ...domain.check import Progress, Span
from ...domain.monitor import Comparison


class AttributionState(StrEnum):
    """The state of an attribution; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self not in {AttributionState.QUEUED, AttributionState.RUNNING}


class AttributionTrigger(StrEnum):
    """The origin of an attribution: a person or program, the night, or an alert that evidence has opened."""

    MANUAL = "manual"
    NIGHTLY = "nightly"
    ALERT = "alert"


class Method(StrEnum):
    """Shapley values of hybrids that the model was asked about, or Kitagawa's parts, for which nothing is
    asked.
    """

    HYBRIDS = "hybrids"
    KITAGAWA = "kitagawa"


class ResampledUnits(StrEnum):
    """Whole pairs or, where records are in several pairs, those records."""

    PAIRS = "pairs"
    RECORDS = "records"


@frozen_by_name
class AttributionLimits:
    """Limits on the cost: max pairs of each gap (None: the usual number), and max rows in all (None: none).

    Rows are those that the model is asked about. `comparisons` None: each attribute of the monitor by itself.
    """

    pairs: int | None = None
    max_rows: int | None = None
    comparisons: tuple[tuple[str, ...], ...] | None = None


@frozen_by_name
class AttributionCost:
    rows: int
    requests: int


@frozen_by_name
class SideCounts:
    """Records of one side of a gap, and how many have a favourable outcome. `label` None: every other
    value is the reference.
    """

    label: str | None
    favourable: int
    records: int

    @property
    def rate(self) -> float | None:
        return self.favourable / self.records if self.records else None


@frozen_by_name
class PartOfGap:
    """From -1 to 1, with its 95 % interval; ends are None with too few records."""

    value: float
    low: float | None
    high: float | None


@frozen_by_name
class ShareOfPlayer:
    """The player is a feature, or several that move together."""

    features: tuple[str, ...]
    share: PartOfGap


@frozen_by_name
class HybridShares:
    """Shares of the gap of the sampled pairs, which sum to it; the window's gap is this plus `sampling`.

    `pairs_left_out` had an answer that is no outcome or was refused. Of `compared` records, asked about as
    they are, `differing` got another outcome than was logged.
    """

    gap_of_pairs: float
    sum_of_shares: float
    sampling: float
    pairs: int
    pairs_left_out: int
    resampled: ResampledUnits
    compared: int
    differing: int
    shares: tuple[ShareOfPlayer, ...]


@frozen_by_name
class CellsOfFeature:
    """Parts of a gap by the cells of one feature, which sum to it; do not add those of several features."""

    feature: str
    cells: int
    who_applies: PartOfGap
    how_treated: PartOfGap
    no_counterpart: PartOfGap


@frozen_by_name
class AttributedGap:
    """Gap: the favourable rate of a monitored group less the reference's.

    `hybrids` are None by the method `kitagawa`, or if the model answered no pair; `cells` are empty by the
    method `hybrids`.
    """

    features: tuple[str, ...]
    monitored: SideCounts
    reference: SideCounts
    gap: float
    hybrids: HybridShares | None = None
    cells: tuple[CellsOfFeature, ...] = ()

    @property
    def comparison(self) -> Comparison:
        return Comparison(self.features)

    @property
    def attribute(self) -> str:
        return self.comparison.label


@frozen_by_name
class ChangedParts:
    """Parts of the logarithm of the ratio are None where a rate is 0."""

    feature: str
    who_asked: float
    how_answered: float
    no_counterpart: float
    who_asked_log_ratio: float | None
    how_answered_log_ratio: float | None
    no_counterpart_log_ratio: float | None


@frozen_by_name
class PeriodCounts:
    """Records of both sides before a moment or after it; `gap` is None where a side has none."""

    monitored: SideCounts
    reference: SideCounts
    first: datetime | None
    last: datetime | None
    revisions: dict[str, int]
    gap: float | None


@frozen_by_name
class RevisionBoundary:
    before: str
    after: str
    at: datetime


@frozen_by_name
class ChangedGap:
    """Records before the onset `at` against those from then on. Descriptive only: the alarm selected the
    records, which exaggerates the change.

    `reaches_first_hour`: it may be as old as the first counted hour.
    """

    attribute: str
    group: str
    at: datetime
    before: PeriodCounts
    after: PeriodCounts
    boundary: RevisionBoundary | None
    features: tuple[ChangedParts, ...]
    reaches_first_hour: bool = False

    @property
    def is_known(self) -> bool:
        return self.before.gap is not None and self.after.gap is not None


@frozen_by_name
class AttributionResult:
    """Findings of an attribution, with the counts that each figure is traced by.

    Of the window's `records`, `additional_records` were logged before its span; `other_revisions` are of
    an earlier model, `unclassified` in neither list and `not_drawn` logged too often for the sample: these
    three take no part. `left_out` are features with too many values for cells. `change` is the finding for
    an alert, which has no `gaps`.
    """

    method: Method
    model_revision: str
    monitor_version: int
    records: int
    additional_records: int
    other_revisions: int
    unclassified: int
    gaps: tuple[AttributedGap, ...] = ()
    left_out: tuple[str, ...] = ()
    change: ChangedGap | None = None
    not_drawn: int = 0


@frozen_by_name
class AttributionRun:
    """Stored attribution; its `span` is that of a check, whose window it takes, or from onset to alarm.

    `lease_token` fences a worker. `planned_*` are set before the first question, `asked_rows` after the last
    answer.
    """

    no: int
    id: str
    deployment_no: int
    deployment_id: str
    trigger: AttributionTrigger
    state: AttributionState
    span: Span
    check_id: str | None
    alert_no: int | None
    limits: AttributionLimits
    planned_rows: int | None
    planned_requests: int | None
    asked_rows: int | None
    result: AttributionResult | None
    problem: str | None
    attempts: int
    cancel_requested: bool
    lease_token: str | None
    progress: Progress | None
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
