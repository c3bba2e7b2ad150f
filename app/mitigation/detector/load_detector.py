"""Stored bias detectors, ready for use: they choose the live records that get a second call of the model,
and mark records.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np
import structlog
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.frozen import frozen
from ...deployments.bias_detector import ALL_TOGETHER
from ...deployments.mitigation_queries import find_detector_model
from ...statistics.group_labels import FloatArray
from .bias_detector import BiasDetector, BoolArray, Rows

MOST_KEPT = 64

log = structlog.get_logger("evenhand.mitigation")

_Key = tuple[int, str, int]


class LoadedDetectors:
    """The detectors of deployments; thread-safe. A version never changes, so none is ever out of date."""

    def __init__(self) -> None:
        self._kept = OrderedDict[_Key, BiasDetector | None]()
        self._lock = Lock()

    def of(
        self, session: Session, deployment_no: int, versions: Mapping[str, int]
    ) -> dict[str, BiasDetector]:
        """Returns the detectors of these versions, by attribute, without those that this library version
        cannot read.
        """
        detectors = {}
        for attribute, version in versions.items():
            key = (deployment_no, attribute, version)
            with self._lock:
                is_kept = key in self._kept
                detector = self._kept.get(key)
            if not is_kept:
                # Without the lock, because it takes long: two threads may read the same detector.
                stored = find_detector_model(session, deployment_no, attribute=attribute, version=version)
                try:
                    detector = None if stored is None else BiasDetector.from_bytes(stored)
                except InvalidInput as error:
                    about = {"deployment_no": deployment_no, "attribute": attribute, "reason": str(error)}
                    log.warning("a stored bias detector cannot be used", **about)
            with self._lock:
                self._kept[key] = detector
                self._kept.move_to_end(key)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            if detector is not None:
                detectors[attribute] = detector
        return detectors


@frozen
class BiasScores:
    """Each record's probability of biased treatment, and whether that reaches the detector's threshold."""

    scores: FloatArray
    is_likely: BoolArray


def bias_scores(
    detectors: Mapping[str, BiasDetector], attribute: str, rows: Rows, own_scores: Sequence[float | None]
) -> BiasScores | None:
    """Returns the scores of records with a monitored value of the attribute and an unfavourable outcome.

    Where the attribute has no detector, by that of all together; None where there is neither.
    """
    detector = detectors.get(attribute, detectors.get(ALL_TOGETHER))
    if detector is None:
        return None
    scores = detector.scores(rows, own_scores)
    return BiasScores(scores, scores >= detector.threshold)


@frozen
class DetectorChooser:
    """Picks the records of a request whose reference copies are worth scoring, by the detectors of each
    attribute.

    They know only records with an unfavourable outcome.
    """

    detectors: Mapping[str, BiasDetector]

    def choose(
        self, rows: Rows, own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        """Returns whether each record gets a second call: any attribute is likely to bias it.

        Without any detector, whether it has a monitored attribute. `rows` are in the order of the schema,
        `own_scores` the model's of the favourable outcome, `attributes` those of which the record has a
        monitored value.
        """
        chosen = np.zeros(len(rows), dtype=np.bool_)
        positions_of: dict[str, list[int]] = {}
        for position, (_, _, of_record) in enumerate(zip(rows, own_scores, attributes, strict=True)):
            for attribute in of_record:
                positions_of.setdefault(
                    attribute if attribute in self.detectors else ALL_TOGETHER, []
                ).append(position)
        for attribute, its_places in positions_of.items():
            once = sorted(set(its_places))
            scores = bias_scores(
                self.detectors,
                attribute,
                [rows[position] for position in once],
                [own_scores[position] for position in once],
            )
            chosen[once] |= True if scores is None else scores.is_likely
        return [bool(is_chosen) for is_chosen in chosen]
