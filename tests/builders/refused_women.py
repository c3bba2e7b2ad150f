"""Simulated applicants that a model refused: it would accept some of them as men, those whose score lies in a band below its cut-off."""

from dataclasses import dataclass, replace
from random import Random

from app.base.values import Scalar
from app.domain.deployment import Column, FieldKind, FieldType
from app.mitigation.detector.bias_detector import BiasDetector
from app.mitigation.detector.detector_versions import TrainingRefusal, train

CUT_OFF, BONUS_OF_MEN = 0.5, 0.15

COLUMNS = (
    Column(name="Income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
    Column(name="Housing", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="Owner", type=FieldType.BOOLEAN, kind=FieldKind.CATEGORICAL),
)


@dataclass(frozen=True)
class Refused:
    """Women that were refused: their features, the model's scores, and whether the model would have accepted them as men."""

    ids: list[str]
    rows: list[tuple[Scalar | None, ...]]
    own_scores: list[float | None]
    biased: list[bool]

    def trained(self) -> BiasDetector | TrainingRefusal:
        """What training makes of them."""
        return train(COLUMNS, self.rows, own_scores=self.own_scores, biased=self.biased, ids=self.ids)

    def detector(self) -> BiasDetector:
        """The detector trained on them."""
        found = self.trained()
        assert isinstance(found, BiasDetector), found
        return found

    def refusal(self) -> TrainingRefusal:
        """The refusal to train on them."""
        found = self.trained()
        assert isinstance(found, TrainingRefusal), found
        return found

    def without_scores(self) -> "Refused":
        """The same by a model that gives no probability."""
        return replace(self, own_scores=[None] * len(self.rows))


def refused(count: int, *, seed: int = 1, first: int = 0) -> Refused:
    """That many refused women."""
    random = Random(seed)
    women = Refused([], [], [], [])
    while len(women.ids) < count:
        income, housing, owner = random.uniform(0, 100), random.choice(["rent", "own", "free"]), random.random() < 0.5
        score = 0.008 * income + {"rent": 0.0, "own": 0.15, "free": 0.05}[housing] + (0.05 if owner else 0.0)
        if score <= CUT_OFF:
            women.ids.append(f"applicant-{first + len(women.ids)}")
            women.rows.append((round(income, 3), housing, owner))
            women.own_scores.append(score)
            women.biased.append(score + BONUS_OF_MEN > CUT_OFF)
    return women
