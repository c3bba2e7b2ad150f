"""Probability that a difference of two selection rates is due to chance, and its size in decisions."""

import math
from dataclasses import dataclass

from .comparisons import Share

SMALLEST_EXPECTED = 5
"""Min expected records in a cell for the normal approximation (Cochran 1954)."""


@dataclass(frozen=True, slots=True)
class Significance:
    """Two-sided p-value, its method, and the shortfall in records."""

    p_value: float
    method: str
    shortfall: float


def significance(monitored: Share, reference: Share, *, pairs: int = 1) -> Significance:
    """Tests whether two favourable rates differ, and counts the shortfall.

    Fisher's exact test where an expected count is below 5, else the two-proportion z test with the pooled rate; Bonferroni for the worst of
    `pairs`. The shortfall is how many further monitored records would be favourable at the reference rate, negative if there are more; in
    records, whatever their weight. Neither share may be empty.
    """
    shortfall = (reference.rate - monitored.rate) * monitored.total
    (count, total), (other_count, other_total) = monitored.size, reference.size
    pooled = (count + other_count) / (total + other_total)
    smallest = min(total, other_total) * min(pooled, 1 - pooled)
    if smallest < SMALLEST_EXPECTED:
        from scipy.stats import fisher_exact  # noqa: PLC0415 - scipy.stats takes a second to import, and few groups are so small

        # The exact test takes whole records; effective numbers are fractions.
        table = [[round(count), round(total) - round(count)], [round(other_count), round(other_total) - round(other_count)]]
        return Significance(min(1.0, pairs * float(fisher_exact(table).pvalue)), "fisher", shortfall)
    error = math.sqrt(pooled * (1 - pooled) * (1 / total + 1 / other_total))
    z = (count / total - other_count / other_total) / error
    return Significance(min(1.0, pairs * math.erfc(abs(z) / math.sqrt(2))), "two_proportion_z", shortfall)
