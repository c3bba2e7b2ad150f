"""Records of a frame whose favourable rates are compared."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..frozen import frozen
from ..metrics.groups import IntArray, of_role
from .columns import check_frame, column_of
from .features import Feature, read_features
from .grouping import FrameGrouping, group_records
from .outcomes import FAVOURABLE, UNCLASSIFIED, FrameOutcomes, OutcomeLists, outcomes_of


@frozen(eq=False)
class ComparedRecords:
    """A frame with the group, the outcome and the features of each record."""

    frame: pd.DataFrame
    grouping: FrameGrouping
    lists: OutcomeLists
    outcomes: FrameOutcomes
    features: tuple[Feature, ...]

    @property
    def favourable(self) -> npt.NDArray[np.bool_]:
        """Per record, whether its outcome is favourable."""
        return np.asarray(self.outcomes.codes == FAVOURABLE, dtype=np.bool_)

    @property
    def monitored(self) -> tuple[int, ...]:
        """Places of the monitored groups."""
        return of_role(self.grouping.groups, "monitored")

    def records_of(self, place: int) -> IntArray:
        """Positions of the group's classified records."""
        return self._find([place])

    def reference_records(self) -> IntArray:
        """Positions of all reference groups' classified records."""
        return self._find(of_role(self.grouping.groups, "reference"))

    def _find(self, places: Sequence[int]) -> IntArray:
        return np.flatnonzero(np.isin(self.grouping.codes, places) & (self.outcomes.codes != UNCLASSIFIED))


def read_compared(
    frame: pd.DataFrame,
    *,
    attribute: str | Sequence[str],
    prediction: str,
    features: Sequence[str] | str,
    favourable: object,
    unfavourable: object,
    monitored: object,
    reference: object,
) -> ComparedRecords:
    """Records read by the arguments of `measure_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    check_frame(frame)
    lists = OutcomeLists.of(favourable, unfavourable)
    return ComparedRecords(
        frame,
        group_records(frame, attribute, monitored, reference),
        lists,
        outcomes_of(column_of(frame, prediction, "prediction"), lists, "prediction"),
        read_features(frame, features),
    )


def as_rates(outcomes: FrameOutcomes) -> npt.NDArray[np.float64]:
    """1 for a favourable outcome, 0 for an unfavourable one, NaN for neither."""
    return np.select([outcomes.codes == FAVOURABLE, outcomes.codes == UNCLASSIFIED], [1.0, np.nan], 0.0)
