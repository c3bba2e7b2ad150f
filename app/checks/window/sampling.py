"""Records that represent others, because only a sample is logged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...domain.check import Measurement
from ...statistics.group_labels import FloatArray
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.perturbed_data import UNEQUALLY_SAMPLED

SAMPLING = "sampling"
"""Member of a window that describes its sample; absent where every record represents itself."""


def describe_sampling(weights: FloatArray | None) -> Mapping[str, object]:
    """Description of a sample with these weights [records]; empty without.

    `represented` is their sum, `effective` the number of equal records that are as certain (Kish 1965).
    """
    if weights is None:
        return {}
    total, squares = float(weights.sum()), float((weights * weights).sum())
    return {
        SAMPLING: {
            "records": len(weights),
            "represented": round(total),
            # A sum of equal weights may fall short of a whole number by rounding.
            "effective": int(total * total / squares + 1e-6),
            "lowest_rate": 1 / float(weights.max()),
            "highest_rate": 1 / float(weights.min()),
            "is_unequal": is_unequal(weights),
        }
    }


def is_unequal(weights: FloatArray | None) -> bool:
    """Whether some records represent more than others."""
    return (
        weights is not None and weights.size > 0 and not np.allclose(weights, weights[0], rtol=1e-9, atol=0)
    )


def without_values(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Measurements as not computable: they count records of unequal weight."""
    return [
        replace(
            measurement,
            value=None,
            lower=None,
            upper=None,
            interval_method=None,
            reason=measurement.reason or UNEQUALLY_SAMPLED,
            verdict=Verdict.NOT_COMPUTABLE,
            worst_of=None if measurement.worst_of is None else 0,
            chosen_lower=None,
            chosen_upper=None,
        )
        for measurement in measurements
    ]
