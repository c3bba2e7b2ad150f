"""Causes that a gap, or its change, goes with: recognised from figures by fixed rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from math import inf, log

from ..base.values import frozen_by_name
from ..statistics.sentences.everything_equal import ALL_STAYS, NONE_STAYS, Ratio, find_stays, may_be_equal

MIN_PART = 0.5

MIN_RISE = 0.05
"""Rise of the share of bad values from which on a column has changed."""

MAX_DRIVER_RANK = 3
"""Last rank of the drivers whose quality counts."""

MIN_LABELS_APART = 0.1
MIN_DELAY_RATIO = 2
"""Difference of shares, and multiple of the usual delay, from which on labels are poor."""

MIN_RECORDS = 10
"""Records of the smaller side; with fewer there are too few data."""

MIN_FAILED_CHECKS = 2
"""Failed checks in a row after which the feed is away."""

NOT_SEEN = "not_seen_by_model"
"""Key of the reason of a missing counterfactual figure."""


class GapCause(StrEnum):
    """Cause that a gap, or its change, goes with."""

    FEED_AWAY = "feed_away"
    FEW_DATA = "few_data"
    DATA_QUALITY = "data_quality"
    MODEL_CHANGED = "model_changed"
    CUT_OFF = "cut_off"
    REFERENCE_CHANGED = "reference_changed"
    WHO_APPLIES = "who_applies"
    LABELS = "labels"
    ATTRIBUTE_ITSELF = "attribute_itself"
    PROXY = "proxy"


@frozen_by_name
class Availability:
    """`usual_gap_hours` lie between records as a rule."""

    checks_failed_in_a_row: int = 0
    hours_without_records: float = 0
    usual_gap_hours: float = inf

    @property
    def is_away(self) -> bool:
        is_silent = self.hours_without_records > 2 * self.usual_gap_hours
        return is_silent or self.checks_failed_in_a_row >= MIN_FAILED_CHECKS


@frozen_by_name
class ColumnQuality:
    """Rise since the onset of the share of records whose value is missing, out of range or new.

    `driver_rank`: place among the drivers, without the attribute itself.
    """

    column: str
    rise: float
    above_chance: bool
    driver_rank: int | None

    @property
    def is_bad_driver(self) -> bool:
        is_driver = self.driver_rank is not None and self.driver_rank <= MAX_DRIVER_RANK
        return is_driver and self.above_chance and self.rise >= MIN_RISE


@frozen_by_name
class Drift:
    """Whether they changed by more than chance."""

    prediction: bool
    score: bool


@frozen_by_name
class RateChange:
    """Rates of the monitored group and the reference before the onset and after it; by feature, the part of
    the change of the logarithm of their ratio that goes with who applied.
    """

    before: tuple[float, float]
    after: tuple[float, float]
    who: Mapping[str, float] = field(default_factory=dict)

    @property
    def size(self) -> float:
        """Change of the logarithm of the ratio; 0 where a rate is 0."""
        if not all((*self.before, *self.after)):
            return 0.0
        return log(self.after[0] / self.after[1]) - log(self.before[0] / self.before[1])

    @property
    def of_reference(self) -> float:
        """Part of the change that is the reference's; 0 where it is not known."""
        return -log(self.after[1] / self.before[1]) / self.size if self.size else 0.0

    @property
    def of_applicants(self) -> tuple[float, str]:
        """Part that goes with who applied, by the feature that most does; 0 where it is not known."""
        parts = [(who / self.size, name) for name, who in self.who.items() if self.size]
        return max(parts, default=(0.0, ""))


@frozen_by_name
class LabelQuality:
    """`share_gap` lies between the labelled shares of the groups, `delay_ratio` is a multiple of the usual
    delay.
    """

    one_decision_only: bool = False
    too_late_share: float = 0
    share_gap: float = 0
    delay_ratio: float = 0

    @property
    def is_poor(self) -> bool:
        are_apart = max(self.too_late_share, self.share_gap) >= MIN_LABELS_APART
        return self.one_decision_only or are_apart or self.delay_ratio >= MIN_DELAY_RATIO


@frozen_by_name
class CauseFigures:
    """Figures by which causes are recognised; None is not known, and rules that need it do not apply.

    `smallest` are the records of the smaller side, `needed` those still missing for a decision. With
    `other_cut_off_inside`, a cut-off near the present one has a ratio inside the limits.
    """

    state: str
    smallest: float | None = None
    needed: int | None = None
    logged: Ratio | None = None
    counterfactual: Ratio | None = None
    counterfactual_reason: str | None = None
    availability: Availability = Availability()
    attribute_values_changed: bool = False
    quality: Sequence[ColumnQuality] = ()
    drift: Drift | None = None
    revision_boundary: bool = False
    change: RateChange | None = None
    needs_labels: bool = False
    labels: LabelQuality = LabelQuality()
    other_cut_off_inside: bool = False


def recognise_causes(figures: CauseFigures) -> tuple[GapCause, ...]:
    """Causes, at most two: what changed, then what carries the gap."""
    if figures.availability.is_away:
        return (GapCause.FEED_AWAY,)
    if figures.state in {"fair", "confirmed fair"}:
        return ()
    if figures.attribute_values_changed:
        return (GapCause.DATA_QUALITY,)
    is_small = figures.smallest is not None and figures.smallest < MIN_RECORDS
    if (is_small or figures.needed) and not figures.state.startswith("unfair"):
        return (GapCause.FEW_DATA,)
    changed = _find_change(figures)
    carried = list(_find_carriers(figures))
    if figures.other_cut_off_inside and changed is not GapCause.CUT_OFF:
        carried = [GapCause.CUT_OFF if cause is GapCause.PROXY else cause for cause in carried]
    return tuple(filter(None, [changed, *carried]))[:2]


def _find_change(figures: CauseFigures) -> GapCause | None:
    change = figures.change or RateChange(before=(0.0, 0.0), after=(0.0, 0.0))
    reference, applicants = change.of_reference, change.of_applicants[0]
    if any(feature.is_bad_driver for feature in figures.quality):
        return GapCause.DATA_QUALITY
    if figures.revision_boundary and applicants < MIN_PART:
        return GapCause.MODEL_CHANGED
    if figures.drift == Drift(prediction=True, score=False) and not figures.revision_boundary:
        return GapCause.CUT_OFF
    if reference >= MIN_PART:
        return GapCause.REFERENCE_CHANGED
    return GapCause.WHO_APPLIES if applicants >= MIN_PART else None


def _find_carriers(figures: CauseFigures) -> Iterator[GapCause]:
    logged, counterfactual = figures.logged, figures.counterfactual
    stays = find_stays(logged, counterfactual)
    if figures.needs_labels and figures.labels.is_poor:
        yield GapCause.LABELS
    elif counterfactual is None and figures.counterfactual_reason == NOT_SEEN:
        yield GapCause.PROXY
    elif counterfactual is None or logged is None:
        return
    elif may_be_equal(counterfactual):
        if logged[0] != 1:
            yield GapCause.PROXY
    elif stays is None or stays >= ALL_STAYS or stays < 0:
        yield GapCause.ATTRIBUTE_ITSELF
    elif stays <= NONE_STAYS:
        yield GapCause.PROXY
    else:
        both = (GapCause.ATTRIBUTE_ITSELF, GapCause.PROXY)
        yield from both if stays >= MIN_PART else both[::-1]
