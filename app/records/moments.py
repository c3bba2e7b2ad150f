"""Sums of powers of differences from the mean, counted piece by piece."""

import numpy as np

from ..metrics.groups import FloatArray


def sum_products(first: FloatArray, second: FloatArray) -> float:
    """Returns the sum of products, on one thread: BLAS threads are slow on busy processors."""
    return float(np.einsum("i,i", first, second))


class Moments:
    """Moments of the numbers added so far. Sums that are too large are not finite."""

    def __init__(self) -> None:
        self.records = 0
        self.mean = 0.0
        self.squares = 0.0
        self._cubes = 0.0
        self.fourths = 0.0

    def add(self, numbers: FloatArray) -> None:
        """Adds finite numbers; joined as in Pébay 2008, Sandia report SAND2008-6212."""
        with np.errstate(all="ignore"):
            mean = float(numbers.mean())
            centred = numbers - mean
            squared = centred * centred
            squares, cubes, fourths = float(squared.sum()), sum_products(squared, centred), sum_products(squared, squared)
            mine, theirs = self.records, len(numbers)
            whole = mine + theirs
            # A numpy number overflows to infinity, one of Python's raises an error.
            apart = np.float64(mean - self.mean) / whole
            self.fourths = float(
                self.fourths
                + fourths
                + apart**4 * mine * theirs * whole * (mine**2 - mine * theirs + theirs**2)
                + 6 * apart**2 * (mine**2 * squares + theirs**2 * self.squares)
                + 4 * apart * (mine * cubes - theirs * self._cubes)
            )
            self._cubes = float(
                self._cubes
                + cubes
                + apart**3 * mine * theirs * whole * (mine - theirs)
                + 3 * apart * (mine * squares - theirs * self.squares)
            )
            self.squares = float(self.squares + squares + apart**2 * mine * theirs * whole)
            self.mean = float(self.mean + apart * theirs)
        self.records = whole
