"""Where the bias detector draws its line, and how good it is on records it never saw."""

import math

import numpy as np
import numpy.typing as npt

from app.domain.bias_detectors import DetectorQuality, Figure
from app.metrics.formulas.ranking import ranking, ranking_limits
from app.metrics.groups import FloatArray
from app.metrics.intervals import wilson
from app.metrics.tables.score_bins import ScoreBins

BoolArray = npt.NDArray[np.bool_]

LEAST_RECALL = 0.9
MISSED_WEIGHS = 4
"""Needless calls that a missed record weighs as much as: the call costs a call, the record stays treated with bias."""


def threshold_of(scores: FloatArray, biased: BoolArray) -> float:
    """Of the thresholds that nine tenths of the biased records reach, the one with the greatest F2; of equal ones the greatest.

    It is drawn midway to the next lower score of any record, because the scores of one kind of record differ a little from one
    classifier to the next.
    """
    wanted, others = np.sort(scores[biased]), np.sort(scores[~biased])
    reached = wanted[::-1][math.ceil(LEAST_RECALL * len(wanted)) - 1 :]
    missed = np.searchsorted(wanted, reached)
    found, needless = len(wanted) - missed, len(others) - np.searchsorted(others, reached)
    gain = (1 + MISSED_WEIGHS) * found
    best = reached[np.argmax(gain / (gain + MISSED_WEIGHS * missed + needless))]
    below = scores[scores < best]
    return float((best + (below.max() if below.size else 0.0)) / 2)


def quality_of(scores: FloatArray, biased: BoolArray, threshold: float) -> DetectorQuality:
    """The figures over those records, of which some are biased and some are not."""
    selected = scores >= threshold
    found, chosen, all_biased, records = (int(part.sum()) for part in (selected & biased, selected, biased, np.ones_like(biased)))
    return DetectorQuality(
        roc_auc=_area(scores, biased),
        precision=_share(found, chosen, "no record held out is at or above the threshold"),
        recall=_share(found, all_biased, "no record held out is biased"),
        selected=_share(chosen, records, "no record is held out"),
    )


def _area(scores: FloatArray, biased: BoolArray) -> Figure:
    found = ranking(ScoreBins.from_records(biased.astype(np.int64), 2, scores, None))
    sizes = np.array([[(~biased).sum(), biased.sum()]], dtype=np.float64)
    limits = ranking_limits(found, sizes)
    value = float(found.area[0])
    lower, upper = min(value, float(limits.lower[0])), max(value, float(limits.upper[0]))
    return Figure(value=value, lower=lower, upper=upper, method="delong_wilson", n=len(biased))


def _share(count: int, total: int, lacking: str) -> Figure:
    if total == 0:
        return Figure(value=None, n=0, reason=lacking)
    lower, upper, method = wilson(count, total)
    return Figure(value=count / total, lower=lower, upper=upper, method=method, n=total)
