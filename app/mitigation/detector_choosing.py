"""What bias detectors are used for: which live records get a second call of the model, and which records are marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.bias_detectors import ALL_TOGETHER
from app.domain.values import Scalar
from app.metrics.groups import FloatArray
from app.mitigation.detector import Detector
from app.mitigation.detector_quality import BoolArray


@dataclass(frozen=True, slots=True)
class BiasScores:
    """Each record's probability that the model treats it with bias, and whether that reaches the detector's threshold."""

    scores: FloatArray
    is_likely: BoolArray


def bias_scores(
    detectors: Mapping[str, Detector],
    attribute: str,
    rows: Sequence[Sequence[Scalar | None]],
    own_scores: Sequence[float | None],
) -> BiasScores | None:
    """What the attribute's detector thinks of records with a monitored value of it and an unfavourable outcome.

    Where the attribute has none, the detector of all together; None where there is neither.
    """
    detector = detectors.get(attribute, detectors.get(ALL_TOGETHER))
    if detector is None:
        return None
    scores = detector.scores(rows, own_scores)
    return BiasScores(scores, scores >= detector.threshold)


@dataclass(frozen=True, slots=True)
class DetectorChooser:
    """Chooses by the detectors, which are given by attribute. They know records with an unfavourable outcome only."""

    detectors: Mapping[str, Detector]

    def choose(
        self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        """Whether each record is likely treated with bias by any of its attributes; without any detector, every one that has one.

        A record without a monitored attribute is not chosen.
        """
        chosen = np.zeros(len(rows), dtype=np.bool_)
        places: dict[str, list[int]] = {}
        for place, (_, _, own) in enumerate(zip(rows, own_scores, attributes, strict=True)):
            for attribute in own:
                places.setdefault(attribute if attribute in self.detectors else ALL_TOGETHER, []).append(place)
        for attribute, its_places in places.items():
            once = sorted(set(its_places))
            found = bias_scores(self.detectors, attribute, [rows[place] for place in once], [own_scores[place] for place in once])
            chosen[once] |= True if found is None else found.is_likely
        return [bool(is_chosen) for is_chosen in chosen]
