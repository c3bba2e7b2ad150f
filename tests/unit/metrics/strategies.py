"""Random records for the property tests: few groups, so that empty ones and zero denominators are common."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from app.metrics import BalancedCells, FeedbackCells, GroupCounts
from app.metrics.groups import FloatArray, IntArray, Role

LABELS = ("Female", "Male", "Black", "26-75", "")
STRATA = ("clerk", "farmer", "")


@dataclass(frozen=True)
class Records:
    """Coded records of one attribute, as a check would hand them over. `weights` None: all weigh 1."""

    groups: tuple[tuple[str, Role], ...]
    codes: IntArray
    outcomes: IntArray
    actual: IntArray
    correct: IntArray
    favourable: IntArray
    classified: IntArray
    strata: IntArray
    scores: FloatArray
    weights: FloatArray | None = None

    def group_counts(self) -> GroupCounts:
        return GroupCounts.from_records(self.groups, self.codes, self.outcomes, weights=self.weights, strata=(STRATA, self.strata))

    def label_counts(self) -> GroupCounts:
        return GroupCounts.from_records(self.groups, self.codes, self.actual, weights=self.weights, strata=(STRATA, self.strata))

    def feedback_cells(self) -> FeedbackCells:
        return FeedbackCells.from_records(
            self.groups,
            self.codes,
            actual=self.actual,
            predicted=self.outcomes,
            correct=self.correct,
            weights=self.weights,
            strata=(STRATA, self.strata),
            scores=self.scores,
        )

    def balanced_cells(self) -> BalancedCells:
        return BalancedCells.from_records(
            self.groups, self.codes, self.outcomes, copies_favourable=self.favourable, copies_classified=self.classified
        )

    def rows(self, chosen: IntArray) -> "Records":
        """The records at those positions."""
        names = ("codes", "outcomes", "actual", "correct", "favourable", "classified", "strata", "scores")
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, weights=weights, **{name: getattr(self, name)[chosen] for name in names})


@st.composite
def records(draw: st.DrawFn, *, weighted: bool = False) -> Records:
    """Up to 40 records in up to four groups; copies only from one side to the other, some unclassified."""
    labels = draw(st.lists(st.sampled_from(LABELS), max_size=4, unique=True))
    roles: list[Role] = ["monitored", "reference"]
    groups = tuple((label, draw(st.sampled_from(roles))) for label in labels)
    size, seed = draw(st.integers(0, 40)), draw(st.integers(0, 2**32 - 1))
    skew = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
    random = np.random.default_rng(seed)
    codes = random.integers(-1, len(groups), size)
    monitored = np.array([role == "monitored" for _, role in groups] + [False])
    crossing = (monitored[codes][:, None] != monitored[None, : len(groups)]) & (codes >= 0)[:, None]
    classified = random.integers(0, 3, (size, len(groups))) * crossing
    scores = random.choice([0.0, 1.0, np.nan, 0.5, 1e-30], size) if draw(st.booleans()) else random.random(size)
    return Records(
        groups=groups,
        codes=codes,
        outcomes=np.where(random.random(size) < 0.1, 2, random.random(size) < skew).astype(np.int64),
        actual=random.integers(0, 3, size),
        correct=random.integers(0, 2, size),
        favourable=random.binomial(classified, skew),
        classified=classified,
        strata=random.integers(-1, len(STRATA), size),
        scores=scores,
        weights=random.choice([0.0, 0.5, 1.0, 7.0], size) if weighted else None,
    )
