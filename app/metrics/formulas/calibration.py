"""How far probabilities lie from what comes true, from sums [..., bins, 3]: the weight, the probabilities and the favourable labels."""

import numpy as np
from scipy.special import gammainc, ndtr, ndtri

from app.metrics.formulas.means import BEYOND, UNSEEN, Limits, difference_limits, share_limits
from app.metrics.groups import FloatArray

HALVINGS = 40
"""Steps of the search for a limit: to 1e-12 of the error."""


def calibration_gap(bins: FloatArray) -> FloatArray:
    """The mean probability less the share of favourable labels; NaN without records."""
    weight, expected, favourable = np.moveaxis(bins.sum(axis=-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap: FloatArray = (expected - favourable) / weight
    return gap


def gap_limits(weights: FloatArray, sums: FloatArray, squares: FloatArray, size: FloatArray) -> Limits:
    """Limits of the gap: those of what is promised too much, p of an unfavourable label, and too little, 1 - p of a favourable one.

    The gap is the difference of the two means, each over all records; where one is, the other is not. `weights`, `sums` and
    `squares` [..., 2 actual] are of the probabilities. Both count as if so much of a record as a loss is allowed for were unseen.
    """
    weight, total, square = (part.sum(axis=-1) for part in (weights, sums, squares))
    # Of records like all, whose labels are the ones not seen: their promises and squares.
    unseen = (total / weight, square / weight), (1 - total / weight, 1 - 2 * total / weight + square / weight)
    much = sums[..., 0], squares[..., 0]
    little = weights[..., 1] - sums[..., 1], weights[..., 1] - 2 * sums[..., 1] + squares[..., 1]
    sides: list[tuple[FloatArray, Limits]] = []
    scatters: list[FloatArray] = []
    for seen, added in zip((much, little), unseen, strict=True):
        mean, mean_square = ((known / weight * size + UNSEEN * more) / (size + 2 * UNSEEN) for known, more in zip(seen, added, strict=True))
        sides.append((mean, share_limits(mean, mean_square, size)))
        scatters.append(np.maximum(mean_square - mean * mean, 0))
    of, against = sides
    scatter = scatters[0] * scatters[1]
    correlation = np.divide(-of[0] * against[0], np.sqrt(scatter), out=np.zeros_like(scatter), where=scatter > 0)
    return difference_limits(of, against, np.clip(correlation, -1, 1))


def calibration_error(bins: FloatArray) -> FloatArray:
    """The mean over the bins, by weight, of the distance of mean probability and share of favourable labels; NaN without records."""
    weight, expected, favourable = np.moveaxis(bins, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        error: FloatArray = np.abs(expected - favourable).sum(axis=-1) / weight.sum(axis=-1)
    return error


def error_limits(bins: FloatArray, size: FloatArray) -> Limits:
    """Limits of the calibration error, which chance alone makes larger than it is.

    The lower limit is the error at which one as large as observed would be seen in 2.5 % of samples, zero where perfect
    calibration would do: the gaps of the bins are taken to be the observed ones times a factor, which is searched. What a sample
    shows is then a sum of folded normal variables, likened to a gamma variable of its mean and variance. The upper limit forgoes
    the correction for chance, whose size is uncertain, and allows for records unseen as a loss does, each as wrong as can be.
    """
    known = _Bins(bins, size)
    lower = known.lowest_factor() * known.error
    variance = known.variance()
    upper = known.error - ndtri(BEYOND) * np.sqrt(variance)
    records = size + 2 * UNSEEN
    mean = (known.error * size + UNSEEN) / records
    square = ((variance * size + known.error**2) * size + UNSEEN) / records
    allowed = share_limits(mean, square, size).upper
    return Limits(np.minimum(lower, known.error), np.clip(np.maximum(upper, allowed), known.error, 1))


class _Bins:
    """Bins as shares of all records, with the gap that each shows. `size` [...] is the number of records of equal weight."""

    def __init__(self, bins: FloatArray, size: FloatArray) -> None:
        weight, expected, favourable = np.moveaxis(bins, -1, 0)
        self.error = calibration_error(bins)
        self.share = weight / weight.sum(axis=-1, keepdims=True)
        self.records = self.share * size[..., None]
        filled = weight > 0
        self.promised = np.divide(expected, weight, out=np.zeros_like(weight), where=filled)
        self.gap = np.divide(expected - favourable, weight, out=np.zeros_like(weight), where=filled)
        # The gaps scatter also because another sample fills the bins otherwise.
        self.among = np.maximum((self.share * self.gap**2).sum(axis=-1) - self.error**2, 0) / size

    def deviation(self, factor: FloatArray) -> FloatArray:
        """The standard deviation of each bin's gap, were it the observed one times the factor."""
        # One record as the probabilities promise it keeps a bin of like labels from passing for certain.
        favourable = np.clip(self.promised - factor[..., None] * self.gap * self.records / (self.records + 1), 0, 1)
        variance = favourable * (1 - favourable)
        deviation: FloatArray = np.sqrt(np.divide(variance, self.records, out=np.zeros_like(variance), where=self.records > 0))
        return deviation

    def variance(self) -> FloatArray:
        """The variance of the error, were each gap sure of its sign."""
        known: FloatArray = (self.share**2 * self.deviation(np.ones_like(self.error)) ** 2).sum(axis=-1) + self.among
        return known

    def lowest_factor(self) -> FloatArray:
        """The factor at which an error as large as observed has the chance `BEYOND`; zero where it has more already there."""
        low, high = np.zeros_like(self.error), np.ones_like(self.error)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            unlikely = self._smaller(middle) > 1 - BEYOND
            low, high = np.where(unlikely, middle, low), np.where(unlikely, high, middle)
        return low

    def _smaller(self, factor: FloatArray) -> FloatArray:
        """The chance of an error smaller than the observed one."""
        gap, deviation = factor[..., None] * self.gap, self.deviation(factor)
        mean, spread = _folded(gap, deviation)
        centre = (self.share * mean).sum(axis=-1)
        variance = (self.share**2 * spread).sum(axis=-1) + factor**2 * self.among
        varies = (variance > 0) & (centre > 0)
        shape = np.divide(centre**2, variance, out=np.ones_like(centre), where=varies)
        scaled = np.divide(self.error * centre, variance, out=np.zeros_like(centre), where=varies)
        chance: FloatArray = np.where(varies, gammainc(shape, scaled), np.where(centre < self.error, 1.0, 0.0))
        return chance


def _folded(mean: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the absolute value of a normal variable (Leone et al. 1961)."""
    z = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    folded = np.sqrt(2 / np.pi) * deviation * np.exp(-z * z / 2) + mean * (1 - 2 * ndtr(-z))
    folded = np.where(deviation > 0, folded, np.abs(mean))
    return folded, np.maximum(mean**2 + deviation**2 - folded**2, 0)
