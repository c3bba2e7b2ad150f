"""The four views of one check, as shapes. `app.views.viewing` makes them; nothing here reads or computes.

Source: spec of the fairness check, section 12.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ..domain.checks import CheckState, Measurement, Span
from ..domain.comparisons import Comparison
from ..domain.groups import Role


class ViewKind(StrEnum):
    """Kind of a view: logged records with their perturbed copies, logged records, training data, or before and after mitigation."""

    PAYLOAD_PERTURBED = "payload_perturbed"
    PAYLOAD = "payload"
    TRAINING = "training"
    DEBIASED = "debiased"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """Availability of a view of a check; `reason` says why the check does not have it, and is None where it has."""

    kind: ViewKind
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubRange:
    """One interval of a numeric group. `label` is `20-21` of whole numbers, else `0.5 to <1` (the group's last one: `1 to 1.5`).

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
        """Returns the number of classified records, of which `favourable` is a share."""
        return self.favourable + self.unfavourable


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Favourable and unfavourable outcomes of some records. `records` are both; of weighted training data they are weights.

    `share` is None exactly when `reason` says why. `lower` and `upper` are its 95 % interval, `figure` the measurement they are of; None
    where no metric of the catalogue is it (balanced data after mitigation), whose counts the comparison has.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare:
    """One group of an attribute, or (`group` None) all groups of the role together.

    `outcomes` are before mitigation where there is an `after`. `original_records` are the classified records without copies.
    `unclassified` records are in neither outcome list and in no share. `additional_records` of the original ones come from earlier
    hours, `additional_favourable` of them favourable. `comparison` is how a monitored group compares with the reference: its disparate
    impact, with verdict; of training data the difference in proportions of labels. None where the check did not measure it, and for
    the reference. `comparison_after` is the same after mitigation. With copies, `comparison` is the balanced disparate impact, and
    `openscale_fairness` OpenScale's figure of the outcomes shown, which counts every copy as a record.
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
        """Returns the favourable rate; before mitigation where there is an after."""
        return self.outcomes.share

    @property
    def records(self) -> float:
        """Returns the records of the share."""
        return self.outcomes.records


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One figure before and after mitigation, and the change; of all records, a role or a group, as their scope says."""

    before: Measurement
    after: Measurement | None
    change: Measurement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MitigatedRecords:
    """Counts of the monitored records that mitigation changes.

    `changed` are `lifted` and `lowered`; `undecided` it left. `note` says what is not known of the attribute.
    """

    monitored: int
    changed: int
    lifted: int
    lowered: int
    undecided: int
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeView:
    """One attribute, or an intersection of several.

    `groups` are in the order of the monitor, `pooled` is the monitored then the reference group as a whole. Where there are none,
    `reason` says why. `worst` is the headline: the comparison of the monitored value that is furthest out. `in_no_group` counts the
    records whose value is in neither group or missing. `perturbed_records` are the copies (None: it is not perturbed),
    `unclassified_copies` those of them in neither outcome list. `perfect_equality` is there on data with copies, and `notes` where the
    model does not see the attribute: what its copies mean. `accuracy` and `mitigated` are of the debiased view only, `worst_after` too.
    """

    comparison: Comparison
    groups: tuple[GroupShare, ...] = ()
    pooled: tuple[GroupShare, ...] = ()
    reason: str | None = None
    worst: Measurement | None = None
    worst_after: Measurement | None = None
    in_no_group: int = 0
    perturbed_records: int | None = None
    unclassified_copies: int | None = None
    perfect_equality: Measurement | None = None
    accuracy: tuple[Change, ...] = ()
    mitigated: MitigatedRecords | None = None
    notes: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        """The comparison's label, for people and answers."""
        return self.comparison.label

    @property
    def features(self) -> tuple[str, ...]:
        """The attributes of the comparison."""
        return self.comparison.features


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOfView:
    """The check of a view. `counted_span` is that of the check that counted, another one where it was carried forward."""

    id: str
    deployment_id: str
    state: CheckState
    span: Span
    monitor_version: int | None
    model_revision: str | None
    carried_from: str | None
    counted_span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """One view of one check. Where there is nothing to show, `attributes` is empty and `reason` says why.

    `records` are the window's from the check's own span, `additional_records` those of earlier hours; of training data, `records` are
    those of the upload, `processed_at` says when. Where the check was carried forward they are those of the check that counted.
    `balanced` is, in the debiased view, the same attributes with copies. `not_received` and `left_out` records of the window's hours did
    not reach Evenhand; None in the view of training data. `notes` are sentences to show next to the figures.
    """

    kind: ViewKind
    check: CheckOfView
    reason: str | None = None
    attributes: tuple[AttributeView, ...] = ()
    balanced: tuple[AttributeView, ...] = ()
    records: int | None = None
    additional_records: int | None = None
    logged_in_span: int | None = None
    unclassified_records: int | None = None
    oldest: datetime | None = None
    newest: datetime | None = None
    processed_at: datetime | None = None
    mitigation_mode: str | None = None
    not_received: int | None = None
    left_out: int | None = None
    notes: tuple[str, ...] = ()
