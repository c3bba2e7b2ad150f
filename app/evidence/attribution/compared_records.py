"""Records of an attribution: those that a check would read, of the present model revision."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...base.errors import InvalidInput
from ...base.values import frozen_arrays
from ...checks.subject import require_attributes
from ...checks.window.window import LoggedRecords, PayloadWindow, read_payload_window
from ...database.engine import ArrowReader
from ...domain.check import Span
from ...domain.deployment import Column, Deployment
from ...domain.monitor import Comparison, Monitor, Outcome, list_comparisons
from ...sources.arrays.favourable_scores import read_stored_cells
from ...sources.arrays.read_records import RecordColumns, RecordTable, read_table, thin_to_equal_rates
from ...sources.stored.window_queries import WindowQuery
from ...statistics.group_labels import FloatArray, IntArray
from .attribution import AttributedGap, SideCounts

BoolArray = npt.NDArray[np.bool_]

MAX_CELLS = 1_000
"""Max cells of a feature; with more, hardly any cell has records of both groups."""


@frozen_arrays
class GapRecords:
    """Records of a monitored group and its reference, as positions in the window."""

    comparison: Comparison
    group: str
    reference_label: str | None
    monitored: IntArray
    reference: IntArray


@dataclass(frozen=True, eq=False)
class WindowRecords:
    """Only records of the present model with an outcome of either list take part."""

    deployment: Deployment
    window: PayloadWindow
    read: RecordTable

    @cached_property
    def revisions(self) -> npt.NDArray[np.object_]:
        return np.array(self.window.rows["model_revision"].to_pylist(), dtype=object)

    @cached_property
    def is_classified(self) -> BoolArray:
        return np.asarray(self.read.outcomes != Outcome.UNCLASSIFIED)

    @cached_property
    def is_drawn(self) -> BoolArray:
        return thin_to_equal_rates(self.window.record_nos(), self.window.rows["sample_rate"])

    @cached_property
    def is_usable(self) -> BoolArray:
        return np.asarray(
            (self.revisions == self.deployment.model_revision) & self.is_classified & self.is_drawn
        )

    @cached_property
    def is_favourable(self) -> BoolArray:
        return np.asarray(self.read.outcomes == Outcome.FAVOURABLE)

    def list_gaps(self, comparisons: Sequence[Sequence[str]] | None) -> list[GapRecords]:
        """The monitored groups with usable records on both sides; None: of each attribute by itself.

        Raises InvalidInput: the monitor has no such comparison.
        """
        gaps = []
        for comparison in require_comparisons(self.read.monitor, comparisons):
            named, codes = self.read.compare(comparison)
            is_monitored = np.array([role == "monitored" for _, role in named], dtype=np.bool_)
            # Not "all that are not monitored": the code of a record in no group is -1.
            reference = np.flatnonzero(self.is_usable & np.isin(codes, np.flatnonzero(~is_monitored)))
            for code in np.flatnonzero(is_monitored).tolist():
                monitored = np.flatnonzero(self.is_usable & (codes == code))
                if len(monitored) and len(reference):
                    label = comparison.reference_label(self.read.monitor)
                    gaps.append(GapRecords(comparison, named[code][0], label, monitored, reference))
        return gaps

    def measure_gap(self, gap: GapRecords) -> AttributedGap:
        monitored = self.count(gap.group, gap.monitored)
        reference = self.count(gap.reference_label, gap.reference)
        size = (monitored.rate or 0.0) - (reference.rate or 0.0)
        return AttributedGap(
            features=gap.comparison.features, monitored=monitored, reference=reference, gap=size
        )

    def count(self, label: str | None, records: IntArray) -> SideCounts:
        return SideCounts(
            label=label, favourable=int(self.is_favourable[records].sum()), records=len(records)
        )


def require_comparisons(monitor: Monitor, requested: Sequence[Sequence[str]] | None) -> list[Comparison]:
    """Finds the monitor's comparisons of those features, in any order; for None, of each attribute alone.

    Raises:
        InvalidInput: the monitor has no such comparison, or one is wanted twice.
    """
    listed = list_comparisons(monitor)
    if requested is None:
        return [comparison for comparison in listed if not comparison.is_combination]
    required = []
    for index, features in enumerate(requested):
        by_features = next(
            (comparison for comparison in listed if set(comparison.features) == set(features)), None
        )
        if by_features is None or len(features) != len(by_features.features):
            choices = "; ".join(json.dumps(comparison.features, ensure_ascii=False) for comparison in listed)
            raise InvalidInput(
                f"comparisons[{index}]", f"must be one of the monitor's comparisons: {choices}"
            )
        if by_features in required:
            raise InvalidInput(f"comparisons[{index}]", "must be listed once")
        required.append(by_features)
    return required


def read_window_records(
    reader: ArrowReader,
    deployment: Deployment,
    monitor: Monitor,
    span: Span,
    *,
    further: Sequence[Column] = (),
) -> WindowRecords:
    """Reads the window that a check of the span reads, with `further` columns.

    Raises InvalidInput: the monitor cannot be applied to what was logged.
    """
    window = read_payload_window(
        LoggedRecords(reader, deployment.no), build_window_query(deployment, monitor, further), span, monitor
    )
    return read_as_monitored(deployment, monitor, window)


def build_window_query(deployment: Deployment, monitor: Monitor, further: Sequence[Column]) -> WindowQuery:
    names = require_attributes(deployment, monitor.attributes)
    return WindowQuery(
        deployment.no, deployment.schema, tuple(dict.fromkeys([*names, *(column.name for column in further)]))
    )


def read_as_monitored(deployment: Deployment, monitor: Monitor, window: PayloadWindow) -> WindowRecords:
    """Applies the monitor. Raises InvalidInput if it does not fit what was logged."""
    return WindowRecords(
        deployment,
        window,
        read_table(RecordColumns(window.values(), window.rows["outcome"]), deployment.schema, monitor),
    )


def read_cells(records: WindowRecords, feature: Column) -> IntArray | FloatArray | None:
    """Reads a feature as `count_cells` takes it; None if it has more than `MAX_CELLS` values."""
    cells = read_stored_cells(records.read.values(feature.name), feature)
    numbers = cells.floats()
    if numbers is not None:
        return numbers
    coded = cells.coded()
    return coded.codes if len(coded.values) <= MAX_CELLS else None
