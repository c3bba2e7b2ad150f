"""The outcomes of the perturbed copies of one attribute: those stored already, those just scored, and those still missing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.classifying import json_text_of, outcome_codes
from app.checks.donors import GroupDonors, require_donors
from app.checks.grouping import Grouping
from app.checks.perturbation import CopyTarget, copies_needed, copy_target
from app.domain.monitors import Monitor
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.records import Prediction
from app.store.counterfactuals import TargetKey

Matrix = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TargetAnswers:
    """What was answered to copies into one target: the positions of their records, and the outcomes and probabilities as JSON texts.

    `are_new` says that the model was asked in this check.
    """

    target: int
    records: npt.NDArray[np.int64]
    outcomes: pa.ChunkedArray
    probabilities: pa.ChunkedArray
    are_new: bool = False


@dataclass(slots=True)
class CopyOutcomes:
    """Per record of the window and target group [records, groups], what is known of its copies.

    `needed` says where there are copies; `known`, `classified` and `favourable` count those whose outcome is known, and
    grow as answers are added. The answers themselves are kept where mitigation may have to read them: of copies into reference
    groups, and of all with `keeps_all`.
    """

    grouping: Grouping
    targets: tuple[CopyTarget, ...]
    needed: npt.NDArray[np.bool_]
    keeps_all: bool = False
    answers: list[TargetAnswers] = field(init=False, default_factory=list)
    known: Matrix = field(init=False)
    classified: Matrix = field(init=False)
    favourable: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.known, self.classified, self.favourable = (np.zeros(self.needed.shape, dtype=np.int64) for _ in range(3))

    def add(self, target: int, records: npt.NDArray[np.int64], outcomes: npt.NDArray[np.int64]) -> None:
        """Counts outcomes of copies into `target` of the records at these positions, one entry a copy."""
        np.add.at(self.known[:, target], records, 1)
        np.add.at(self.classified[:, target], records, outcomes != Outcome.UNCLASSIFIED)
        np.add.at(self.favourable[:, target], records, outcomes == Outcome.FAVOURABLE)

    def keeps(self, target: int) -> bool:
        """Whether the answers to copies into the target are kept."""
        return self.keeps_all or self.grouping.groups[target].role == "reference"

    def missing(self) -> list[tuple[int, npt.NDArray[np.int64]]]:
        """Per target with any, the positions of the records whose copies must still be scored."""
        found = [(no, np.flatnonzero(self.needed[:, no] & (self.known[:, no] < target.draws))) for no, target in enumerate(self.targets)]
        return [(no, records) for no, records in found if len(records)]

    @property
    def copies(self) -> int:
        """How many copies the window's records have in all."""
        return int(sum(self.needed[:, no].sum() * target.draws for no, target in enumerate(self.targets)))


def plan_copies(
    grouping: Grouping,
    outcomes: npt.NDArray[np.int64],
    monitor: Monitor,
    *,
    seen_by_model: bool,
    donors: Sequence[GroupDonors] | None = None,
    keeps_all: bool = False,
) -> CopyOutcomes:
    """The copies an attribute asks for, none of them known yet.

    A column that the model never sees has none: changing it changes no answer, so its balanced data is its payload. Unless it has
    `donors`, one entry a group, of the features that are correlated with it.

    Raises:
        InvalidInput: records would be copied into a group without a donor.
    """
    needed = copies_needed(grouping, outcomes)
    of_group: Sequence[GroupDonors | None] = [None] * len(grouping.groups) if donors is None else donors
    targets = []
    for place, (group, lent) in enumerate(zip(grouping.groups, of_group, strict=True)):
        if lent is not None and needed[:, place].any():
            require_donors(lent, group, grouping.column)
        targets.append(copy_target(group, grouping.column, draws=monitor.draws, seed=monitor.seed, donors=lent))
    is_copied = seen_by_model or donors is not None
    return CopyOutcomes(grouping, tuple(targets), needed if is_copied else np.zeros_like(needed), keeps_all)


def fill_stored(copies: CopyOutcomes, target: int, stored: pa.Table, *, record_nos: npt.NDArray[np.int64], rule: OutcomeRule) -> None:
    """Adds stored answers (columns record_no, outcome, probability) for those records that are in the window and have the copy."""
    order = np.argsort(record_nos)
    wanted = stored["record_no"].to_numpy()
    places = np.searchsorted(record_nos, wanted, sorter=order)
    positions = order[np.minimum(places, len(order) - 1)]
    inside = (record_nos[positions] == wanted) & copies.needed[positions, target]
    copies.add(target, positions[inside], outcome_codes(stored["outcome"], rule)[inside])
    if copies.keeps(target):
        rows = stored.filter(pa.array(inside))
        copies.answers.append(TargetAnswers(target, positions[inside], rows["outcome"], rows["probability"]))


def as_texts(answers: Sequence[Prediction]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Outcomes and probabilities of the model's answers as stored ones are read: JSON texts, of probabilities null where there is none."""
    outcomes = [json_text_of(answer.outcome_value) for answer in answers]
    probabilities = [None if answer.probability is None else msgspec.json.encode(answer.probability).decode() for answer in answers]
    return pa.chunked_array([pa.array(outcomes, pa.string())]), pa.chunked_array([pa.array(probabilities, pa.string())])


def target_key(target: CopyTarget, *, model_revision: str, schema_version: int) -> TargetKey:
    """Under what the answers to these copies are stored. Another revision or schema has its own."""
    return TargetKey(model_revision, schema_version, target.column.name, target.text, target.draws, target.seed)
