"""Distances of probabilities from outcomes; bins [..., bins, 3] sum weights, probabilities, favourable."""

import numpy as np
from scipy.special import gammainc, ndtr, ndtri

from ..group_labels import FloatArray, divide, divide_or
from ..intervals.intervals import (
    TAIL,
    UNSEEN_RECORD,
    BoundedEstimate,
    IntervalEnds,
    find_difference_limits,
    find_share_limits,
)

BISECTION_STEPS = 40
"""Halvings that leave less than 1e-12 of the factor."""


def calibration_gap(bins: FloatArray) -> FloatArray:
    """Mean probability - share of favourable labels; NaN without records."""
    weight, expected, favourable = np.moveaxis(bins.sum(-2), -1, 0)
    return divide(expected - favourable, weight)


def find_gap_limits(
    weights: FloatArray, sums: FloatArray, squares: FloatArray, size: FloatArray
) -> IntervalEnds:
    """Limits from those of the excess, p of an unfavourable label, and the shortfall, 1 - p of a favourable
    one.

    Arguments are [..., 2 actual] of the probabilities. Both parts allow for the part of a record that a loss
    counts as unseen.
    """
    weight, total, square = (of_label.sum(-1) for of_label in (weights, sums, squares))
    # Unseen records resemble all records, with the opposite labels.
    unseen = (total / weight, square / weight), (1 - total / weight, 1 - 2 * total / weight + square / weight)
    excess = sums[..., 0], squares[..., 0]
    shortfall = weights[..., 1] - sums[..., 1], weights[..., 1] - 2 * sums[..., 1] + squares[..., 1]
    sides = list[BoundedEstimate]()
    scatters = list[FloatArray]()
    for observed, unseen_part in zip((excess, shortfall), unseen, strict=True):
        mean, mean_square = (
            (figure / weight * size + UNSEEN_RECORD * addition) / (size + 2 * UNSEEN_RECORD)
            for figure, addition in zip(observed, unseen_part, strict=True)
        )
        sides.append(BoundedEstimate(mean, find_share_limits(mean, mean_square, size)))
        scatters.append(np.maximum(mean_square - mean * mean, 0))
    excess_estimate, shortfall_estimate = sides
    correlation = divide_or(
        -excess_estimate.point * shortfall_estimate.point, np.sqrt(scatters[0] * scatters[1]), 0.0
    )
    return find_difference_limits(excess_estimate, shortfall_estimate, np.clip(correlation, -1, 1))


def calibration_error(bins: FloatArray) -> FloatArray:
    """Mean over bins, by weight, of |mean probability - share of favourable labels|; NaN without records."""
    weight, expected, favourable = np.moveaxis(bins, -1, 0)
    return divide(np.abs(expected - favourable).sum(-1), weight.sum(-1))


def find_error_limits(bins: FloatArray, size: FloatArray) -> IntervalEnds:
    """Limits of the calibration error, which chance alone makes larger.

    Lower: the error at which one as large as observed is seen in 2.5 % of samples, the bins' gaps being the
    observed ones times a factor; a sample's error is a sum of folded normal variables, approximated by a
    gamma variable. Upper: without the correction for chance, with unseen records, each as wrong as can be.
    """
    of_bins = _CalibrationBins(bins, size)
    low = np.zeros_like(of_bins.error)
    high = np.ones_like(of_bins.error)
    # The largest factor at which an error as large as observed has at most the probability `TAIL`; zero
    # where it has more.
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        unlikely = of_bins.compute_chance_of_smaller(middle) > 1 - TAIL
        low = np.where(unlikely, middle, low)
        high = np.where(unlikely, high, middle)
    # If the sign of each gap were certain.
    variance = (of_bins.share**2 * of_bins.compute_deviation(np.ones_like(of_bins.error)) ** 2).sum(
        -1
    ) + of_bins.gap_variance
    upper = of_bins.error - ndtri(TAIL) * np.sqrt(variance)
    records = size + 2 * UNSEEN_RECORD
    mean = (of_bins.error * size + UNSEEN_RECORD) / records
    square = ((variance * size + of_bins.error**2) * size + UNSEEN_RECORD) / records
    allowed = find_share_limits(mean, square, size).upper
    return IntervalEnds(low * of_bins.error, np.clip(np.maximum(upper, allowed), of_bins.error, 1))


class _CalibrationBins:
    """Bins by their shares of all records, whose number `size` [...] is in records of equal weight.

    `gap_variance` [...] is the part of the variance of `error` [...] by the gaps' spread over the bins.
    """

    def __init__(self, bins: FloatArray, size: FloatArray) -> None:
        weight, expected, favourable = np.moveaxis(bins, -1, 0)
        self.error = calibration_error(bins)
        self.share = weight / weight.sum(-1, keepdims=True)
        self.records = self.share * size[..., None]
        self.mean_probability = divide_or(expected, weight, 0.0)
        self.gap = divide_or(expected - favourable, weight, 0.0)
        self.gap_variance = np.maximum((self.share * self.gap**2).sum(-1) - self.error**2, 0) / size

    def compute_deviation(self, factor: FloatArray) -> FloatArray:
        """Standard deviation [..., bins] of each gap, if gaps are the observed ones times `factor`."""
        # One record drawn from the probabilities keeps a bin of equal labels from appearing certain.
        favourable = np.clip(
            self.mean_probability - factor[..., None] * self.gap * self.records / (self.records + 1), 0, 1
        )
        return np.sqrt(divide_or(favourable * (1 - favourable), self.records, 0.0))

    def compute_chance_of_smaller(self, factor: FloatArray) -> FloatArray:
        """Probability of an error smaller than observed, if gaps are the observed ones times `factor`."""
        gap = factor[..., None] * self.gap
        deviation = self.compute_deviation(factor)
        # Mean and variance of the absolute value of a normal variable (Leone et al. 1961).
        z = divide_or(gap, deviation, 0.0)
        folded = np.sqrt(2 / np.pi) * deviation * np.exp(-z * z / 2) + gap * (1 - 2 * ndtr(-z))
        mean = np.where(deviation > 0, folded, np.abs(gap))
        spread = np.maximum(gap**2 + deviation**2 - mean**2, 0)
        centre = (self.share * mean).sum(-1)
        variance = (self.share**2 * spread).sum(-1) + factor**2 * self.gap_variance
        varies = (variance > 0) & (centre > 0)
        shape = np.divide(centre**2, variance, out=np.ones_like(centre), where=varies)
        scaled = np.divide(self.error * centre, variance, out=np.zeros_like(centre), where=varies)
        return np.where(varies, gammainc(shape, scaled), np.where(centre < self.error, 1.0, 0.0))
