"""Facts about a trained bias detector."""

from datetime import datetime

from ..base.values import frozen_by_name

ALL_TOGETHER = ""


@frozen_by_name
class QualityFigure:
    """One figure of quality over `n` records with its 95 % interval, or the reason why there is none."""

    value: float | None
    lower: float | None = None
    upper: float | None = None
    method: str | None = None
    n: int
    reason: str | None = None


@frozen_by_name
class DetectorQuality:
    """The quality of a detector on the records held out.

    `roc_auc`: chance that a biased record has a higher score than another. At or above the threshold,
    `precision`: share of biased records; `recall`: share of the biased; `selected`: share of all.
    """

    roc_auc: QualityFigure
    precision: QualityFigure
    recall: QualityFigure
    selected: QualityFigure


@frozen_by_name
class DetectorCounts:
    """Records of a training. `records` and `biased` are before the newest were picked; the others of those
    used.
    """

    records: int
    biased: int
    used: int
    used_biased: int
    held_out: int
    held_out_biased: int


@frozen_by_name
class DetectorVersion:
    """One stored training for an attribute: either `threshold` and `quality`, or the `reason` why nothing was
    trained.

    A detector of another `basis` is of no use. `made_by` is what its model can be read with.
    """

    version: int
    attribute: str
    basis: str
    check_id: str
    trained_at: datetime
    counts: DetectorCounts
    made_by: str
    threshold: float | None
    quality: DetectorQuality | None
    reason: str | None
