"""Every figure of scores, of many sets of records at once, from their sums: points, limits, and the records behind them.

No interval is drawn: each has a closed form, or is searched for. They were chosen by simulating how often they hold the truth, where
normal intervals, also on the logit scale, miss far too often in groups of twenty records with a rare label.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from app.metrics.formulas.calibration import calibration_error, calibration_gap, error_limits, gap_limits
from app.metrics.formulas.means import BEYOND, UNSEEN, Limits, difference_limits, likened_limits, loss_limits, share_limits
from app.metrics.formulas.ranking import MOST_ERROR, ranking, ranking_limits
from app.metrics.groups import FloatArray, IntArray
from app.metrics.tables.score_bins import MOST
from app.metrics.tables.score_sums import LARGEST_LOSS, QUANTITIES, ScoreSums, losses_of

FAVOURABLE, UNFAVOURABLE = 1, 0
SCORE, SQUARED_ERROR, LOG_LOSS = range(len(QUANTITIES))


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """One figure of each set [S]. `points` are NaN where `lacking`, a format of whom it is ({of}), says why.

    `n` counts the records a figure rests on, `smallest` those in its smallest denominator; `details` trace it. Where a figure is
    NaN and `is_doubtful`, the reason is `doubtful`, a format of whom it is and of the details.
    """

    points: FloatArray
    limits: Limits
    method: str
    n: IntArray
    smallest: IntArray
    lacking: str
    details: Mapping[str, FloatArray | IntArray] = field(default_factory=dict)
    is_doubtful: npt.NDArray[np.bool_] | None = None
    doubtful: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The sums of the sets [S, …], and of everybody [1, …]."""

    sets: ScoreSums
    everybody: ScoreSums

    def size(self) -> FloatArray:
        """The number of records of equal weight of each set and label [S, 2]."""
        return _effective(self.sets.weights, self.sets.squares)

    def sizes(self) -> FloatArray:
        """The number of records of equal weight of each set [S]."""
        return _effective(self.sets.weights.sum(axis=-1), self.sets.squares.sum(axis=-1))


Figure = Callable[[Known], Figures]
_LABELS = ("an unfavourable label", "a favourable label")
_SCORED = "has a probability of the favourable outcome"
_TOO_CLOSE = (
    f"more than {MOST:,} different probabilities were tabulated, in bins in which those{{of}} lie too close together:"
    " the figure could be off by {binning_error:.2g}"
)
NOBODY = f"no labelled record{{of}} {_SCORED}"


def rate(label: int, *, of_favourable: bool) -> Figure:
    """The mean probability of the favourable outcome, or of the other, over the records of one label."""

    def figures(known: Known) -> Figures:
        weight, total, square = _moments(known.sets, label)
        mean = total / weight
        limits = share_limits(mean, square / weight, known.size()[:, label])
        part = total if of_favourable else weight - total
        n = known.sets.counts[:, label]
        lacking = f"no record{{of}} with {_LABELS[label]} {_SCORED}"
        return Figures(
            part / weight,
            limits if of_favourable else Limits(1 - limits.upper, 1 - limits.lower),
            "wilson_effective",
            n,
            n,
            lacking,
            {"score_sum": part, "n": n},
        )

    return figures


def count(label: int, *, of_favourable: bool) -> Figure:
    """The sum of the probabilities over the records of one label: as often as it is the mean over everybody."""

    def figures(known: Known) -> Figures:
        weight, total, square = _moments(known.sets, label)
        if not of_favourable:
            total, square = weight - total, weight - 2 * total + square
        everybody = known.everybody.weights.sum()
        size = _effective(everybody, known.everybody.squares.sum())
        mean = np.maximum(total, 0) / everybody
        # Only the records of the label tell how scores scatter; where there are none the sum is of whole records.
        several = known.size()[:, label] + 1
        freedom = np.where(known.sets.counts[:, label] > 0, np.fmin(several, size), size)
        limits = likened_limits(mean, np.maximum(square / everybody - mean * mean, 0), np.full_like(mean, size), freedom)
        counted, all_counted = known.sets.counts[:, label], np.full_like(known.sets.counts[:, label], known.everybody.counts.sum())
        points = np.where(everybody > 0, np.maximum(total, 0), np.nan)
        # A sum rests on everybody's records, and is no less sure for being small.
        return Figures(
            points,
            Limits(limits.lower * everybody, limits.upper * everybody),
            "wilson_effective",
            all_counted,
            all_counted,
            NOBODY.format(of=""),
            {"records": counted, "n": all_counted},
        )

    return figures


def brier_score(known: Known) -> Figures:
    """The mean squared distance of probability and label."""
    scores = known.sets.bins.scores
    return _loss(known, SQUARED_ERROR, ((1 - scores) ** 2, scores**2), share_limits, "wilson_effective")


def log_loss(known: Known) -> Figures:
    """The mean of -ln of the probability of what happened; no loss is larger than that of a probability of nothing."""
    found = _loss(known, LOG_LOSS, losses_of(known.sets.bins.scores), loss_limits, "log_student")
    return replace(found, limits=Limits(found.limits.lower, np.minimum(found.limits.upper, LARGEST_LOSS)))


def _loss(
    known: Known,
    quantity: int,
    costs: tuple[FloatArray, FloatArray],
    limits_of: Callable[[FloatArray, FloatArray, FloatArray], Limits],
    method: str,
) -> Figures:
    """`costs` are what a record of each bin costs if its label is favourable, and if it is not."""
    weight = known.sets.weights.sum(axis=-1)
    size, n = known.sizes(), known.sets.counts.sum(axis=-1)
    total, square = (part[..., quantity].sum(axis=-1) for part in (known.sets.sums, known.sets.sums_of_squares))
    first, second = (known.sets.bins.summed(costs[0] ** power + costs[1] ** power) / weight * UNSEEN for power in (1, 2))
    point = total / weight
    mean = (point * size + first) / (size + 2 * UNSEEN)
    limits = limits_of(mean, (square / weight * size + second) / (size + 2 * UNSEEN), size)
    return Figures(point, _holding(limits, point), method, n, n, NOBODY, {f"{QUANTITIES[quantity]}_sum": total, "n": n})


def roc_auc(known: Known) -> Figures:
    """The chance that a favourable label has a higher score than an unfavourable one."""
    found = ranking(known.sets.bins)
    counts = known.sets.counts
    details: dict[str, FloatArray | IntArray] = {"favourable_labels": counts[:, 1], "unfavourable_labels": counts[:, 0]}
    details["binning_error"] = found.error
    lacking = f"no two labelled records{{of}}, one favourable and one not, {_SCORED.replace('has', 'have')}"
    limits = ranking_limits(found, known.size())
    is_doubtful = found.error > MOST_ERROR
    area = np.where(is_doubtful, np.nan, found.area)
    n = counts.sum(axis=-1), counts.min(axis=-1)
    return Figures(area, limits, "delong_wilson", *n, lacking, details, is_doubtful, _TOO_CLOSE)


def gap(known: Known) -> Figures:
    """The mean probability less the share of favourable labels."""
    sums = known.sets
    n = sums.counts.sum(axis=-1)
    expected, favourable = (sums.calibration[..., part].sum(axis=-1) for part in (1, 2))
    details = {"score_sum": expected, "favourable_labels": favourable, "n": n}
    limits = gap_limits(sums.weights, sums.sums[..., SCORE], sums.sums_of_squares[..., SCORE], known.sizes())
    points = calibration_gap(sums.calibration)
    return Figures(points, _holding(limits, points), "newcombe_correlated", n, n, NOBODY, details)


def expected_error(known: Known) -> Figures:
    """The distance of probability and share of favourable labels, averaged over ten bins."""
    bins, n = known.sets.calibration, known.sets.counts.sum(axis=-1)
    details = {"bins": (bins[..., 0] > 0).sum(axis=-1), "n": n}
    return Figures(calibration_error(bins), error_limits(bins, known.sizes()), "folded_normal", n, n, NOBODY, details)


FIGURES: Mapping[str, Figure] = {
    "generalized_true_positive_count": count(FAVOURABLE, of_favourable=True),
    "generalized_false_negative_count": count(FAVOURABLE, of_favourable=False),
    "generalized_false_positive_count": count(UNFAVOURABLE, of_favourable=True),
    "generalized_true_negative_count": count(UNFAVOURABLE, of_favourable=False),
    "generalized_true_positive_rate": rate(FAVOURABLE, of_favourable=True),
    "generalized_false_negative_rate": rate(FAVOURABLE, of_favourable=False),
    "generalized_false_positive_rate": rate(UNFAVOURABLE, of_favourable=True),
    "generalized_true_negative_rate": rate(UNFAVOURABLE, of_favourable=False),
    "log_loss": log_loss,
    "brier_score": brier_score,
    "roc_auc": roc_auc,
    "calibration_gap": gap,
    "calibration_error": expected_error,
}
"""By metric. The generalised equalised odds compare two sets and stand apart."""


def odds(sums: ScoreSums) -> FloatArray:
    """The mean score of each set over unfavourable and over favourable labels [S, 2]: the generalised odds; NaN where there are none."""
    return sums.sums[..., SCORE] / sums.weights


def equalized_odds(sums: ScoreSums) -> tuple[FloatArray, Limits]:
    """The larger distance of the generalised odds of each set but the last from the last's, with its limits.

    The upper limit is the furthest end of the two differences' intervals. The lower is zero unless one of the differences is surely
    none, at 95 % for both together.
    """
    means, sizes = odds(sums), _effective(sums.weights, sums.squares)
    squares = sums.sums_of_squares[..., SCORE] / sums.weights
    points = np.abs(means[:-1] - means[-1:]).max(axis=-1)
    each = {}
    for beyond in (BEYOND, BEYOND / 2):
        ends = share_limits(means, squares, sizes, beyond=beyond)
        each[beyond] = difference_limits(
            (means[:-1], Limits(*(end[:-1] for end in ends))), (means[-1:], Limits(*(end[-1:] for end in ends)))
        )
    wide, sure = each[BEYOND], each[BEYOND / 2]
    upper = np.maximum(np.abs(wide.lower), np.abs(wide.upper)).max(axis=-1)
    lower = np.maximum(0, np.maximum(sure.lower, -sure.upper)).max(axis=-1)
    return points, _holding(Limits(lower, np.minimum(upper, 1)), points)


def _moments(sums: ScoreSums, label: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weight, the scores and their squares over the records of one label."""
    return sums.weights[:, label], sums.sums[:, label, SCORE], sums.sums_of_squares[:, label, SCORE]


def _effective(weights: FloatArray, squares: FloatArray) -> FloatArray:
    return np.asarray(weights * weights / squares)


def _holding(limits: Limits, points: FloatArray) -> Limits:
    return Limits(np.minimum(limits.lower, points), np.maximum(limits.upper, points))
