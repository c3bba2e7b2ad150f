"""Each record's weight, stratum and score."""

import numpy as np

from ..errors import InvalidInput
from ..metrics.groups import FloatArray
from ..metrics.tables.strata import MOST_STRATA, RecordStrata
from ..metrics.tables.weighting import slices
from .columns import Column, complete_numbers_of, encode, numbers_of, where
from .outcomes import FAVOURABLE, UNFAVOURABLE, FrameOutcomes

LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e12
"""Smallest and largest weight apart from 0: sums of squares stay in the range of floats."""


def weights_of(column: Column) -> FloatArray:
    """Weight of each record.

    Raises:
        InvalidInput: one is missing, not a number, negative, or beyond the bounds.
    """
    weights = complete_numbers_of(column, "weight")
    wrong = (weights != 0) & ((weights < LEAST_WEIGHT) | (weights > MOST_WEIGHT))
    if wrong.any():
        raise InvalidInput.of(
            "weight",
            f"{column.name!r} must hold 0 or numbers from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g},"
            f" found {weights[wrong][0]:g} in {where(wrong)}",
        )
    return weights


def strata_of(column: Column) -> RecordStrata:
    """Stratum of each record.

    Raises:
        InvalidInput: there are too many.
    """
    encoded = encode(column, "strata")
    if len(encoded.texts) > MOST_STRATA:
        raise InvalidInput.of(
            "strata", f"{column.name!r} holds {len(encoded.texts):,} different values where at most {MOST_STRATA:,} are compared"
        )
    return RecordStrata(encoded.texts, encoded.codes)


def scores_of(column: Column, predicted: FrameOutcomes) -> FloatArray:
    """Probability of the favourable outcome of each record; NaN where there is none.

    Raises:
        InvalidInput: one is not a probability, or they are those of the other outcome.
    """
    scores = numbers_of(column, "score")
    with np.errstate(invalid="ignore"):
        outside = (scores < 0) | (scores > 1)
    if outside.any():
        raise InvalidInput.of(
            "score", f"{column.name!r} must hold probabilities between 0 and 1, found {scores[outside][0]:g} in {where(outside)}"
        )
    highest, lowest = -np.inf, np.inf
    for part in slices(scores.size):
        # Unlike max and min these skip NaN.
        highest = np.fmax.reduce(scores[part][predicted.codes[part] == FAVOURABLE], initial=highest)
        lowest = np.fmin.reduce(scores[part][predicted.codes[part] == UNFAVOURABLE], initial=lowest)
        if highest >= lowest:
            break
    # An infinite end means that one side has no score.
    if -np.inf < highest < lowest < np.inf:
        raise InvalidInput.of(
            "score",
            f"{column.name!r} is higher for every unfavourable prediction than for any favourable one: it must be the probability of the"
            " favourable outcome, so take 1 - score",
        )
    return scores
