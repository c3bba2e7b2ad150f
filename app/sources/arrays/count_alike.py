"""Records that count alike, for figures without weights: a record logged at rate r is kept with the chance
`lowest rate / r`.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...statistics.group_labels import IntArray


def choose_alike(
    record_nos: IntArray, sample_rates: pa.ChunkedArray, part_codes: IntArray | None = None
) -> npt.NDArray[np.bool_]:
    """Mask [N] of the records to keep so that those of a part were logged at one rate.

    `sample_rates` [N] is null where every record is logged; without `part_codes`, all are one part.
    """
    if sample_rates.null_count == len(sample_rates):
        return np.ones(len(record_nos), bool)
    rates = np.asarray(pc.fill_null(sample_rates, 1.0).to_numpy(), np.float64)
    codes = (
        np.zeros(len(rates), np.int64)
        if part_codes is None
        else np.unique(part_codes, return_inverse=True)[1].reshape(-1)
    )
    lowest = np.full(int(codes.max(initial=0)) + 1, np.inf)
    np.minimum.at(lowest, codes, rates)
    # A number in [0, 1) for each record number.
    drawn = (mix_bits(np.asarray(record_nos).astype(np.uint64)) >> np.uint64(11)) * 2.0**-53
    is_kept: npt.NDArray[np.bool_] = drawn < lowest[codes] / rates
    return is_kept


def mix_bits(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Looks drawn (splitmix64); products wrap around at 64 bits."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
