"""Columns of a frame as features of few values: categories, or ranges of numbers with about as many records each."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..domain.values import canonical
from ..metrics.groups import IntArray
from .columns import Column, encode, is_numeric, numbers_of

BINS = 4
"""Ranges of a column of numbers."""

MAX_VALUES = 10
"""Max values of a feature, the rest and the missing ones included. A column of numbers with more different ones is divided into ranges."""

MIN_RECORDS = 10
"""Min records of a value; rarer ones are put together, so that none of them is named."""

REST, MISSING = "other values", "no value"


@dataclass(frozen=True, slots=True, eq=False)
class BinnedFeature:
    """A column divided into a few values: `labels`, and per record the position [N] of its label."""

    name: str
    labels: tuple[str, ...]
    codes: IntArray


def bin_feature(column: Column, seen: npt.NDArray[np.bool_]) -> BinnedFeature:
    """Returns the column as a feature whose values are chosen by the records that are `seen` [N]; the others get the same values.

    Raises:
        InvalidInput: it has too many different values, or values that are neither text, numbers nor true/false.
    """
    name = str(column.name)
    if is_numeric(column) and column[seen].nunique() > MAX_VALUES:
        return _divide_numbers(name, numbers_of(column, "features"), seen)
    encoded = encode(column, "features")
    counts = np.bincount(encoded.codes[seen & (encoded.codes >= 0)], minlength=len(encoded.texts))
    order = np.argsort(-counts, kind="stable")[: MAX_VALUES - 2]
    # In the order of the column, as the labels are shown.
    kept = sorted(int(place) for place in order if counts[place] >= MIN_RECORDS)
    labels = [encoded.texts[place] for place in kept]
    places = np.full(len(encoded.texts) + 1, len(kept), np.int64)
    places[kept] = np.arange(len(kept))
    places[-1] = len(kept) + 1  # a missing value has the code -1
    return _drop_empty(name, [*labels, REST, MISSING], places[encoded.codes])


def _divide_numbers(name: str, numbers: npt.NDArray[np.float64], seen: npt.NDArray[np.bool_]) -> BinnedFeature:
    known = numbers[seen & ~np.isnan(numbers)]
    edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    edges = edges[edges < known.max()]
    if not len(edges):  # most records have the largest number
        edges = known[known < known.max()].max(keepdims=True)
    texts = [canonical(float(edge)) for edge in edges]
    labels = [f"up to {texts[0]}", *(f"above {low} to {high}" for low, high in pairwise(texts)), f"above {texts[-1]}"]
    codes = np.where(np.isnan(numbers), len(labels), np.searchsorted(edges, numbers, side="left"))
    return _drop_empty(name, [*labels, MISSING], codes)


def _drop_empty(name: str, labels: list[str], codes: IntArray) -> BinnedFeature:
    """Returns the feature without labels that no record has."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(labels)))
    renumbered = np.zeros(len(labels), np.int64)
    renumbered[used] = np.arange(len(used))
    return BinnedFeature(name, tuple(labels[place] for place in used), renumbered[codes])
