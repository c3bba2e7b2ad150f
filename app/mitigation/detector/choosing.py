"""Choosing the live records that get a second call of the model, and marking records."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ...domain.bias_detectors import ALL_TOGETHER
from ...domain.values import Scalar
from ...frozen import frozen
from ...metrics.groups import FloatArray
from .model import BiasDetector
from .quality import BoolArray


class Chooser(Protocol):
    """Picks the records of a request whose reference copies are worth scoring."""

    def choose(
        self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        """Returns whether each record gets a second call.

        `rows` are in the order of the schema, `own_scores` the model's of the favourable outcome, `attributes` those of which the record
        has a monitored value.
        """
        ...


@frozen
class BiasScores:
    """Each record's probability of biased treatment, and whether that reaches the detector's threshold."""

    scores: FloatArray
    is_likely: BoolArray


def bias_scores(
    detectors: Mapping[str, BiasDetector],
    attribute: str,
    rows: Sequence[Sequence[Scalar | None]],
    own_scores: Sequence[float | None],
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
    """Chooses by the detectors of each attribute. They know only records with an unfavourable outcome."""

    detectors: Mapping[str, BiasDetector]

    def choose(
        self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        """Returns whether any attribute is likely to bias the record; without any detector, whether it has a monitored attribute."""
        chosen = np.zeros(len(rows), dtype=np.bool_)
        places: dict[str, list[int]] = {}
        for place, (_, _, of_record) in enumerate(zip(rows, own_scores, attributes, strict=True)):
            for attribute in of_record:
                places.setdefault(attribute if attribute in self.detectors else ALL_TOGETHER, []).append(place)
        for attribute, its_places in places.items():
            once = sorted(set(its_places))
            found = bias_scores(self.detectors, attribute, [rows[place] for place in once], [own_scores[place] for place in once])
            chosen[once] |= True if found is None else found.is_likely
        return [bool(is_chosen) for is_chosen in chosen]
