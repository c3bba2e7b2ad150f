import numpy as np
import numpy.typing as npt

from app.statistics.group_labels import FloatArray, IntArray
from app.statistics.records.flip_test import measure_flips, standardise
from app.statistics.records.measure_rows import Neighbourhood, measure_agreement


def consistency(features: FloatArray, favoured: IntArray, *, scaled: bool = True) -> float:
    """Returns 1 - mean of |y - mean y of the 5 nearest records|, from 0 to 1; 1 where similar records have the same outcome.

    Features [records, features] are standardised unless `scaled` is False.

    Raises:
        ValueError: there are fewer than 5 records.
    """
    agreed = measure_agreement(Neighbourhood.of(standardise(features) if scaled else features), favoured)
    return agreed.compute_value(np.ones(len(favoured), dtype=np.bool_))


def counterfactual_flip_test(
    features: FloatArray,
    favoured: IntArray,
    is_monitored: npt.NDArray[np.bool_],
    is_reference: npt.NDArray[np.bool_],
    *,
    scaled: bool = True,
) -> float:
    """Returns FT = (F+ - F-) / n of the monitored records, from -1 to 1; above 0 the monitored are treated worse.

    F+ are the unfavourable monitored records most of whose neighbours are favourable, F- the reverse. Where all are treated
    alike but the features do not decide the outcomes, FT is not quite 0 (see the module). Features [records, features] are
    standardised over all records unless `scaled` is False.

    Raises:
        ValueError: there is no monitored or no reference record.
    """
    if not is_monitored.any():
        raise ValueError("expected at least one monitored record, found none")
    places = standardise(features) if scaled else features
    flipped = measure_flips(places[is_monitored], favoured[is_monitored], places[is_reference], favoured[is_reference])
    return flipped.compute_value(np.ones(int(is_monitored.sum()), dtype=np.bool_))
