"""Views of one check, and their groups, which are made of measurements and count tables.

Source: spec of the fairness check, section 12.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

import numpy as np

from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import read_row
from ...domain.check import SIDES, CheckRun, Measurement, Scope, Span
from ...domain.groups import Role
from ...domain.monitor import Comparison
from ...statistics.group_labels import IntArray, find_positions
from ...statistics.intervals.intervals import build_rate_interval
from ...statistics.tables.count_table import GroupCounts
from ...statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from ...web.body import Out
from ..counting.sub_ranges import SubRanges, merge_sub_ranges
from ..counting.tabulate import Table
from .view_source import StoredParts

_POOLED: Mapping[Role, Scope] = {"monitored": Scope.POOLED, "reference": Scope.REFERENCE}


class ViewKind(StrEnum):
    """Kind of a view: logged records with their perturbed copies, logged records, training data, or before
    and after mitigation.
    """

    OPENSCALE = "openscale"
    AS_LOGGED = "as_logged"
    TRAINING = "training"
    MITIGATED = "mitigated"


class ViewStateOut(Out):
    """The availability of one view of a check."""

    kind: ViewKind
    reason: str | None
    """Why there is none; null where there is one."""


@frozen_by_name
class SubRange:
    """Outcomes in one interval of a range: `20-21` of whole numbers, else `0.5 to <1`, the last `1 to 1.5`.

    `share` is None exactly when `reason` says why. `lower` and `upper` are its 95 % interval.
    """

    label: str
    favourable: int
    unfavourable: int
    unclassified: int
    share: float | None
    lower: float | None
    upper: float | None
    reason: str | None

    @property
    def records(self) -> int:
        return self.favourable + self.unfavourable


@frozen_by_name
class Outcomes:
    """Outcomes of some records; of weighted training data they are weights.

    `share` is None exactly when `reason` says why. `lower` and `upper` are its 95 % interval, `figure` its
    measurement; None where no metric of the catalogue is it (counterfactual data after mitigation), whose
    counts the comparison has.
    """

    favourable: float
    unfavourable: float
    records: float
    share: float | None
    lower: float | None
    upper: float | None
    interval_method: str | None
    reason: str | None
    figure: Measurement | None


@frozen_by_name
class GroupShare:
    """Share of favourable outcomes of one group, or (`group` None) of all groups of the role together.

    `outcomes` are before mitigation where there is an `after`. `original_records` are classified, without
    copies. `unclassified` records are in no share. `additional_records` of the original ones come from
    earlier hours. `comparison` is the disparate impact with verdict, of training data the difference in
    proportions of labels, with copies the counterfactual disparate impact; None for the reference and where
    not measured. `openscale_fairness` is OpenScale's figure of these outcomes, which counts every copy as a
    record.
    """

    group: str | None
    role: Role
    outcomes: Outcomes
    after: Outcomes | None = None
    original_records: int
    additional_records: int = 0
    additional_favourable: int = 0
    unclassified: int
    comparison: Measurement | None
    comparison_after: Measurement | None = None
    openscale_fairness: Measurement | None = None
    sub_ranges: tuple[SubRange, ...] = ()

    @property
    def share(self) -> float | None:
        return self.outcomes.share

    @property
    def records(self) -> float:
        return self.outcomes.records


@frozen
class Change:
    before: Measurement
    after: Measurement | None
    change: Measurement | None


class MitigatedOut(Out):
    """The number of monitored records that mitigation changes."""

    monitored: int
    changed: int
    lifted: int
    """Turned favourable."""

    lowered: int
    """Turned unfavourable."""

    undecided: int
    """Left as they were, because their copies do not decide it."""

    note: str | None
    """The part that could not be learned of the attribute."""


@frozen
class AttributeView:
    """One comparison in a view: `groups` in the monitor's order, both sides `pooled`, else the reason.

    `worst` is the comparison furthest out. `perturbed_records` are copies (None: not perturbed),
    `unclassified_copies` those in neither outcome list. `notes` say what copies mean where the model does not
    see the attribute. `accuracy`, `mitigated` and `worst_after` are of the mitigated view only.
    """

    comparison: Comparison
    groups: tuple[GroupShare, ...] = ()
    pooled: tuple[GroupShare, ...] = ()
    reason: str | None = None
    worst: Measurement | None = None
    worst_after: Measurement | None = None
    records: Mapping[str, Any] | None = None
    perturbed_records: int | None = None
    unclassified_copies: int | None = None
    perfect_equality: Measurement | None = None
    accuracy: tuple[Change, ...] = ()
    mitigated: MitigatedOut | None = None
    notes: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        return self.comparison.label

    @property
    def features(self) -> tuple[str, ...]:
        return self.comparison.features


@frozen_by_name
class CheckView:
    """One view of a check. Without anything to show `attributes` is empty and `reason` says why.

    `counted_span` is that of the check that counted: another one where figures are carried forward. `records`
    are of that span, `additional_records` of earlier hours; of training data, `records` are of the upload,
    `processed_at` says when. `counterfactual` are, in the mitigated view, the same attributes with copies.
    """

    kind: ViewKind
    check: CheckRun
    counted_span: Span
    reason: str | None = None
    attributes: tuple[AttributeView, ...] = ()
    counterfactual: tuple[AttributeView, ...] = ()
    records: int | None = None
    additional_records: int | None = None
    logged_in_span: int | None = None
    oldest: datetime | None = None
    newest: datetime | None = None
    processed_at: datetime | None = None
    mitigation_mode: str | None = None
    notes: tuple[str, ...] = ()


ShareSubject = tuple[Scope, str | None]
"""Scope and group of a figure."""


@frozen
class GroupFigures:
    outcomes: Mapping[ShareSubject, Outcomes]
    comparisons: Mapping[ShareSubject, Measurement]
    openscale: Mapping[ShareSubject, Measurement]

    @property
    def worst(self) -> Measurement | None:
        return next(
            (comparison for comparison in self.comparisons.values() if comparison.worst_of is not None), None
        )


def collect_figures(
    rates: Iterable[Measurement],
    comparisons: Iterable[Measurement],
    *,
    counted_as: str = "favourable",
    openscale: Iterable[Measurement] = (),
) -> GroupFigures:
    """Collects figures; favourable outcomes are called `counted_as` in the details of the rates."""
    return GroupFigures(
        {(figure.scope, figure.group): _read_outcomes(figure, counted_as) for figure in rates},
        index_by_subject(comparisons),
        index_by_subject(openscale),
    )


def index_by_subject(figures: Iterable[Measurement]) -> dict[ShareSubject, Measurement]:
    return {(figure.scope, figure.group): figure for figure in figures}


def divide_shares(
    comparison: Comparison, stored: StoredParts, before: GroupFigures, *, after: GroupFigures | None = None
) -> AttributeView:
    """Builds the view of a comparison; `after` are the figures after mitigation."""
    table = stored.whole
    additional = stored.additional
    counts = count_outcomes(table)
    # Earlier hours may have had other groups: their counts are put in the order of the whole table.
    earlier = {
        group.label: outcomes
        for group, outcomes in zip(additional.groups, count_outcomes(additional), strict=True)
    }
    earlier_counts = np.array(
        [earlier.get(group.label, (0, 0)) for group in table.groups], dtype=np.int64
    ).reshape(len(table.groups), 2)
    intervals = {label: _divide_range(ranges) for label, ranges in merge_sub_ranges(stored.cells).items()}

    def build_group_share(
        subject: ShareSubject, group: str | None, role: Role, positions: Sequence[int]
    ) -> GroupShare:
        return GroupShare(
            group=group,
            role=role,
            outcomes=before.outcomes[subject],
            after=after.outcomes[subject] if after else None,
            original_records=int(counts[positions].sum()),
            additional_records=int(earlier_counts[positions].sum()),
            additional_favourable=int(earlier_counts[positions, 1].sum()),
            unclassified=int(table.unclassified[positions].sum()),
            comparison=before.comparisons.get(subject),
            comparison_after=after.comparisons.get(subject) if after else None,
            openscale_fairness=before.openscale.get(subject),
            sub_ranges=intervals.get(group or "", ()),
        )

    pooled = []
    for role in SIDES:
        positions = list(find_positions(table.groups, role))
        # A role's only group, or all of them.
        subject = (
            (Scope.GROUP, table.groups[positions[0]].label) if len(positions) == 1 else (_POOLED[role], None)
        )
        pooled.append(build_group_share(subject, None, role, positions))
    return AttributeView(
        comparison,
        groups=tuple(
            build_group_share((Scope.GROUP, label), label, role, [position])
            for position, (label, role) in enumerate(table.groups)
        ),
        pooled=tuple(pooled),
        worst=before.worst,
        worst_after=after.worst if after else None,
    )


def count_outcomes(table: Table) -> IntArray:
    """Counts outcomes [groups, 2] (unfavourable, favourable) of records, without copies or mitigation."""
    if isinstance(table, GroupCounts):
        return table.counts
    outcomes = cast("CounterfactualCells | MitigatedCells", table).outcomes
    counts: IntArray = outcomes.reshape(len(table.groups), 2, -1).sum(axis=2)
    return counts


def _read_outcomes(figure: Measurement, counted_as: str) -> Outcomes:
    counts = figure.details.counts
    # Weighted training data have weights; all others have counts only.
    favourable = counts.get(f"{counted_as}_weight", counts.get(counted_as)) or 0
    records = counts.get("weight", counts.get("n")) or 0
    return read_row(
        Outcomes,
        figure,
        favourable=favourable,
        unfavourable=records - favourable,
        records=records,
        share=figure.value,
        figure=figure,
    )


def _divide_range(ranges: SubRanges) -> tuple[SubRange, ...]:
    sub_ranges = []
    for label, (unfavourable, favourable, unclassified) in zip(
        ranges.labels, ranges.counts.tolist(), strict=True
    ):
        records = favourable + unfavourable
        lower, upper, _ = build_rate_interval(favourable, records) if records else (None, None, None)
        reason = f"no record of {label} was classified" if unclassified else f"there is no record of {label}"
        sub_ranges.append(
            SubRange(
                label=label,
                favourable=favourable,
                unfavourable=unfavourable,
                unclassified=unclassified,
                share=favourable / records if records else None,
                lower=lower,
                upper=upper,
                reason=None if records else reason,
            )
        )
    return tuple(sub_ranges)
