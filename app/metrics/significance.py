"""How likely a difference of two selection rates is by chance alone, and how many decisions it amounts to."""

import math

from scipy.stats import fisher_exact

from app.metrics.comparisons import Share

SMALLEST_EXPECTED = 5
"""With fewer expected records than this in a cell the normal approximation is not used (Cochran 1954)."""


def significance(monitored: Share, reference: Share, *, pairs: int = 1) -> dict[str, float | str]:
    """The two-sided `p_value` with its `p_value_method`, and the `shortfall`, as details of a comparison of favourable rates.

    Fisher's exact test where an expected count is below 5, else the two-proportion z test with the pooled rate. Of the worst of
    many `pairs` the p-value is that of all of them together (Bonferroni). The shortfall is how many more monitored records would
    be favourable at the reference rate, below zero if there are more already; it counts records, however much they weigh.
    Neither share may be empty.
    """
    shortfall = (reference.rate - monitored.rate) * monitored.total
    (count, total), (other_count, other_total) = monitored.size, reference.size
    pooled = (count + other_count) / (total + other_total)
    smallest = min(total, other_total) * min(pooled, 1 - pooled)
    if smallest < SMALLEST_EXPECTED:
        table = [[round(count), round(total) - round(count)], [round(other_count), round(other_total) - round(other_count)]]
        return {"p_value": min(1.0, pairs * float(fisher_exact(table).pvalue)), "p_value_method": "fisher", "shortfall": shortfall}
    error = math.sqrt(pooled * (1 - pooled) * (1 / total + 1 / other_total))
    z = (count / total - other_count / other_total) / error
    return {"p_value": min(1.0, pairs * math.erfc(abs(z) / math.sqrt(2))), "p_value_method": "two_proportion_z", "shortfall": shortfall}
