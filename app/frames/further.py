"""What further columns say of each record: its weight, its stratum, its score."""

import numpy as np

from app.errors import InvalidInput
from app.frames.columns import Codes, Column, complete_numbers_of, encode, numbers_of, where
from app.frames.outcomes import FAVOURABLE, UNFAVOURABLE, Outcomes
from app.metrics.groups import FloatArray
from app.metrics.tables.strata import MOST_STRATA
from app.metrics.tables.weighting import slices

LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e12
"""Between them, 0 aside, sums of weights and of their squares stay far from where numbers end."""


def weights_of(column: Column) -> FloatArray:
    """The weight of each record.

    Raises:
        InvalidInput: one is missing, no number, negative, or beyond the smallest or the largest that are counted.
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


def strata_of(column: Column) -> tuple[tuple[str, ...], Codes]:
    """The strata, and per record the position of its own.

    Raises:
        InvalidInput: there are too many.
    """
    encoded = encode(column, "strata")
    if len(encoded.texts) > MOST_STRATA:
        raise InvalidInput.of(
            "strata", f"{column.name!r} holds {len(encoded.texts):,} different values where at most {MOST_STRATA:,} are compared"
        )
    return encoded.texts, encoded.codes


def scores_of(column: Column, predicted: Outcomes) -> FloatArray:
    """The probability of the favourable outcome of each record; NaN where there is none.

    Raises:
        InvalidInput: one is no probability, or they are those of the other outcome.
    """
    scores = numbers_of(column, "score")
    with np.errstate(invalid="ignore"):
        outside = (scores < 0) | (scores > 1)
    if outside.any():
        raise InvalidInput.of(
            "score", f"{column.name!r} must hold probabilities between 0 and 1, found {scores[outside][0]:g} in {where(outside)}"
        )
    if _are_of_unfavourable(scores, predicted.codes):
        raise InvalidInput.of(
            "score",
            f"{column.name!r} is higher for every unfavourable prediction than for any favourable one: it must be the probability of the"
            " favourable outcome, so take 1 - score",
        )
    return scores


def _are_of_unfavourable(scores: FloatArray, outcomes: Codes) -> bool:
    """Whether every unfavourable prediction has a higher score than any favourable one; not where one side has none at all."""
    highest, lowest = -np.inf, np.inf
    for part in slices(scores.size):
        # Unlike max and min these pass over NaN.
        highest = np.fmax.reduce(scores[part][outcomes[part] == FAVOURABLE], initial=highest)
        lowest = np.fmin.reduce(scores[part][outcomes[part] == UNFAVOURABLE], initial=lowest)
        if highest >= lowest:
            return False
    return bool(-np.inf < highest and lowest < np.inf)
