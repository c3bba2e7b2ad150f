"""Random records for the property tests: few groups, so that empty ones and zero denominators are common."""

from dataclasses import dataclass, fields, replace

import numpy as np
from hypothesis import strategies as st

from app.statistics.group_labels import FloatArray, IntArray, Role
from app.statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells, MitigatedCells

LABELS = ("Female", "Male", "Black", "26-75", "")
STRATA = ("clerk", "farmer", "")


@dataclass(frozen=True)
class Records:
    """Coded records of one attribute, as a check would hand them over. `weights` None: all weigh 1.

    `after`, `correct_after` and `favourable_after` are outcomes, `correct` and `favourable` after mitigation.
    """

    groups: tuple[tuple[str, Role], ...]
    codes: IntArray
    outcomes: IntArray
    actual: IntArray
    correct: IntArray
    favourable: IntArray
    classified: IntArray
    after: IntArray
    correct_after: IntArray
    favourable_after: IntArray
    strata: IntArray
    scores: FloatArray
    weights: FloatArray | None = None

    def group_counts(self) -> GroupCounts:
        return GroupCounts.from_records(
            self.groups, self.codes, outcome=self.outcomes, weights=self.weights, strata=(STRATA, self.strata), scores=self.scores
        )

    def label_counts(self) -> GroupCounts:
        return GroupCounts.from_records(self.groups, self.codes, outcome=self.actual, weights=self.weights, strata=(STRATA, self.strata))

    def feedback_cells(self) -> LabelledCells:
        return LabelledCells.from_records(
            self.groups,
            self.codes,
            actual=self.actual,
            predicted=self.outcomes,
            correct=self.correct,
            weights=self.weights,
            strata=(STRATA, self.strata),
            scores=self.scores,
        )

    def counterfactual_cells(self) -> CounterfactualCells:
        return CounterfactualCells.from_records(
            self.groups,
            self.codes,
            outcome=self.outcomes,
            copies_favourable=self.favourable,
            copies_classified=self.classified,
            weights=self.weights,
        )

    def mitigated_cells(self) -> MitigatedCells:
        return MitigatedCells.from_records(
            self.groups,
            self.codes,
            before=self.outcomes,
            after=self.after,
            copies_classified=self.classified,
            copies_before=self.favourable,
            copies_after=self.favourable_after,
        )

    def mitigated_labelled(self) -> MitigatedLabelledCells:
        return MitigatedLabelledCells.from_records(
            self.groups,
            self.codes,
            actual=self.actual,
            before=self.outcomes,
            after=self.after,
            correct_before=self.correct,
            correct_after=self.correct_after,
        )

    def rows(self, chosen: IntArray) -> "Records":
        """The records at those positions."""
        names = [name.name for name in fields(self) if name.name not in {"groups", "weights"}]
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
    favourable = random.binomial(classified, skew)
    scores = random.choice([0.0, 1.0, np.nan, 0.5, 1e-30], size) if draw(st.booleans()) else random.random(size)
    outcomes = np.where(random.random(size) < 0.1, 2, random.random(size) < skew).astype(np.int64)
    # Mostly as a check has it: only monitored records, and copies into monitored values, are changed.
    mitigated = monitored | draw(st.booleans())
    return Records(
        groups=groups,
        codes=codes,
        outcomes=outcomes,
        actual=random.integers(0, 3, size),
        correct=random.integers(0, 2, size),
        favourable=favourable,
        classified=classified,
        after=np.where(mitigated[codes] & (random.random(size) < skew), random.integers(0, 3, size), outcomes),
        correct_after=random.integers(0, 2, size),
        favourable_after=np.where(mitigated[: len(groups)], random.binomial(classified, skew), favourable),
        strata=random.integers(-1, len(STRATA), size),
        scores=scores,
        weights=random.choice([0.0, 0.5, 1.0, 7.0], size) if weighted else None,
    )
