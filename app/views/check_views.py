"""Shapes of the views of one check.

Source: spec of the fairness check, section 12.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..domain.checks import CheckRun, Measurement, Span
from ..domain.comparisons import Comparison
from ..domain.groups import Role
from ..frozen import frozen


class ViewKind(StrEnum):
    """Kind of a view: logged records with their perturbed copies, logged records, training data, or before and after mitigation."""

    PAYLOAD_PERTURBED = "payload_perturbed"
    PAYLOAD = "payload"
    TRAINING = "training"
    DEBIASED = "debiased"


@frozen(kw_only=True)
class ViewState:
    """`reason` says why the check does not have the view; None where it has."""

    kind: ViewKind
    reason: str | None


@frozen(kw_only=True)
class SubRange:
    """Interval of a numeric group: `20-21` of whole numbers, else `0.5 to <1`, the last `1 to 1.5`.

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


@frozen(kw_only=True)
class Outcomes:
    """Outcomes of some records; of weighted training data they are weights.

    `share` is None exactly when `reason` says why. `lower` and `upper` are its 95 % interval, `figure` its measurement; None where no
    metric of the catalogue is it (balanced data after mitigation), whose counts the comparison has.
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


@frozen(kw_only=True)
class GroupShare:
    """One group, or (`group` None) all groups of the role together.

    `outcomes` are before mitigation where there is an `after`. `original_records` are classified, without copies. `unclassified` records
    are in no share. `additional_records` of the original ones come from earlier hours. `comparison` is the disparate impact with verdict,
    of training data the difference in proportions of labels, with copies the balanced disparate impact; None for the reference and where
    not measured. `openscale_fairness` is OpenScale's figure of these outcomes, which counts every copy as a record.
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
        """Favourable rate; before mitigation where there is an after."""
        return self.outcomes.share

    @property
    def records(self) -> float:
        return self.outcomes.records


@frozen(kw_only=True)
class Change:
    before: Measurement
    after: Measurement | None
    change: Measurement | None


@frozen(kw_only=True)
class MitigatedRecords:
    """Monitored records that mitigation changes.

    `changed` are `lifted` and `lowered`; `undecided` it left. `note` says what is not known of the attribute.
    """

    monitored: int
    changed: int
    lifted: int
    lowered: int
    undecided: int
    note: str | None


@frozen(kw_only=True)
class AttributeView:
    """One attribute, or an intersection.

    `groups` are in the monitor's order, `pooled` the monitored, then the reference group. Without them `reason` says why. `worst` is the
    comparison furthest out. `records` says which records are left out. `perturbed_records` are copies (None: not perturbed),
    `unclassified_copies` those in neither outcome list. `notes` say what copies mean where the model does not see the
    attribute. `accuracy`, `mitigated` and `worst_after` are of the debiased view only.
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
    mitigated: MitigatedRecords | None = None
    notes: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        return self.comparison.label

    @property
    def features(self) -> tuple[str, ...]:
        return self.comparison.features


@frozen(kw_only=True)
class CheckView:
    """One view. Without anything to show `attributes` is empty and `reason` says why.

    `counted_span` is that of the check that counted: another one where figures are carried forward. `records` are of that span,
    `additional_records` of earlier hours; of training data, `records` are of the upload, `processed_at` says when. `balanced` is, in the
    debiased view, the same with copies. `notes` are shown next to the figures.
    """

    kind: ViewKind
    check: CheckRun
    counted_span: Span
    reason: str | None = None
    attributes: tuple[AttributeView, ...] = ()
    balanced: tuple[AttributeView, ...] = ()
    records: int | None = None
    additional_records: int | None = None
    logged_in_span: int | None = None
    oldest: datetime | None = None
    newest: datetime | None = None
    processed_at: datetime | None = None
    mitigation_mode: str | None = None
    notes: tuple[str, ...] = ()
