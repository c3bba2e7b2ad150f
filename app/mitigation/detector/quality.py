"""The bias detector's threshold, and its quality on records it never saw."""

import math

import numpy as np
import numpy.typing as npt

from ...domain.bias_detectors import DetectorQuality, QualityFigure
from ...metrics.formulas.ranking import ranking, ranking_limits
from ...metrics.groups import FloatArray
from ...metrics.intervals import wilson
from ...metrics.tables.score_bins import ScoreBins

BoolArray = npt.NDArray[np.bool_]

LEAST_RECALL = 0.9

MISSED_WEIGHS = 4
"""Needless calls that weigh as much as one missed record."""


def find_threshold(scores: FloatArray, biased: BoolArray) -> float:
    """Returns, of the thresholds that nine tenths of the biased records reach, the one with the greatest F2; of equal ones the greatest.

    It lies midway to the next lower score, because scores of one kind of record differ a little between classifiers.
    """
    wanted, others = np.sort(scores[biased]), np.sort(scores[~biased])
    reached = wanted[::-1][math.ceil(LEAST_RECALL * len(wanted)) - 1 :]
    missed = np.searchsorted(wanted, reached)
    found, needless = len(wanted) - missed, len(others) - np.searchsorted(others, reached)
    gain = (1 + MISSED_WEIGHS) * found
    best = reached[np.argmax(gain / (gain + MISSED_WEIGHS * missed + needless))]
    below = scores[scores < best]
    return float((best + (below.max() if below.size else 0.0)) / 2)


def measure_quality(scores: FloatArray, biased: BoolArray, threshold: float) -> DetectorQuality:
    selected = scores >= threshold
    found, chosen, all_biased, records = (int(part.sum()) for part in (selected & biased, selected, biased, np.ones_like(biased)))
    ranked = ranking(ScoreBins.from_records(biased.astype(np.int64), 2, scores, None))
    limits = ranking_limits(ranked, np.array([[(~biased).sum(), biased.sum()]], dtype=np.float64))
    area = float(ranked.area[0])
    # Rounding must not leave the area outside its own interval.
    lower, upper = min(area, float(limits.lower[0])), max(area, float(limits.upper[0]))
    return DetectorQuality(
        roc_auc=QualityFigure(value=area, lower=lower, upper=upper, method="delong_wilson", n=len(biased)),
        precision=_measure_share(found, chosen, "no record held out is at or above the threshold"),
        recall=_measure_share(found, all_biased, "no record held out is biased"),
        selected=_measure_share(chosen, records, "no record is held out"),
    )


def _measure_share(count: int, total: int, lacking: str) -> QualityFigure:
    if total == 0:
        return QualityFigure(value=None, n=0, reason=lacking)
    lower, upper, method = wilson(count, total)
    return QualityFigure(value=count / total, lower=lower, upper=upper, method=method, n=total)
