"""Evidence that a comparison is inside its limit, and how long it counts as shown fair."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan, log

from .change_detector import log_mean, mean_reaches

LOG_SHOWN_FAIR = log(20.0)
"""Ln of the min evidence (a factor) against unfairness for being shown fair."""


@dataclass(slots=True)
class FairnessProof:
    """Product of the e-values against unfairness since the start of the month or chapter.

    Starting again at each doubt would call twice as many months fair at the limit itself. `start` is its
    first hour, `shown` the first hour of the evidence and the month of the last proof.
    """

    alternatives: int
    month: int | None = None
    start: int | None = None
    shown: tuple[int, int] | None = None
    products: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.products:
            self.restart()

    def restart(self) -> None:
        self.products = [0.0] * self.alternatives
        self.start = self.shown = None

    @property
    def log_product(self) -> float:
        """Ln of the mean product of the alternatives."""
        return log_mean(self.products)

    @property
    def since(self) -> int | None:
        """First hour of the evidence that shows it fair; None if it is not shown now."""
        return None if self.shown is None else self.shown[0]

    def add(self, log_e_values: Sequence[float], hour: int, month: int, *, is_doubted: bool) -> None:
        """Adds an hour. Being shown ends when `is_doubted`, or after the whole month that follows the last
        proof.

        `is_doubted`: some evidence of unfairness. Nothing is shown then, but the product goes on.
        """
        if month != self.month:
            self.month, self.start = month, None
            self.products = [0.0] * self.alternatives
        if is_doubted:
            self.shown = None
        self.expire(month)
        self.start = hour if self.start is None else self.start
        self.products = [
            product + (0.0 if isnan(log_e) else log_e)
            for product, log_e in zip(self.products, log_e_values, strict=True)
        ]
        if mean_reaches(self.products, LOG_SHOWN_FAIR) and not is_doubted:
            self.shown = (self.start if self.shown is None else self.shown[0], month)

    def expire(self, month: int) -> None:
        """Ends what was shown last before the month that precedes this one."""
        if self.shown is not None and month > self.shown[1] + 1:
            self.shown = None
