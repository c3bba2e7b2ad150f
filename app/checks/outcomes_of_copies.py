"""The outcomes of the perturbed copies of one attribute: those stored already, those just scored, and those still missing."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.classifying import outcome_codes
from app.checks.grouping import Grouping
from app.checks.perturbation import CopyTarget, copies_needed, copy_target
from app.domain.monitors import Monitor
from app.domain.outcomes import Outcome, OutcomeRule
from app.store.counterfactuals import TargetKey

Matrix = npt.NDArray[np.int64]


@dataclass(slots=True)
class CopyOutcomes:
    """Per record of the window and target group [records, groups], what is known of its copies.

    `needed` says where there are copies; `known`, `classified` and `favourable` count those whose outcome is known, and
    grow as answers are added.
    """

    grouping: Grouping
    targets: tuple[CopyTarget, ...]
    needed: npt.NDArray[np.bool_]
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

    def missing(self) -> list[tuple[int, npt.NDArray[np.int64]]]:
        """Per target with any, the positions of the records whose copies must still be scored."""
        found = [(no, np.flatnonzero(self.needed[:, no] & (self.known[:, no] < target.draws))) for no, target in enumerate(self.targets)]
        return [(no, records) for no, records in found if len(records)]

    @property
    def copies(self) -> int:
        """How many copies the window's records have in all."""
        return int(sum(self.needed[:, no].sum() * target.draws for no, target in enumerate(self.targets)))


def plan_copies(grouping: Grouping, outcomes: npt.NDArray[np.int64], monitor: Monitor, *, seen_by_model: bool) -> CopyOutcomes:
    """The copies an attribute asks for, none of them known yet.

    A column that the model never sees has none: changing it changes no answer, so its balanced data is its payload.
    """
    targets = tuple(copy_target(group, grouping.column, draws=monitor.draws, seed=monitor.seed) for group in grouping.groups)
    needed = copies_needed(grouping, outcomes)
    return CopyOutcomes(grouping, targets, needed if seen_by_model else np.zeros_like(needed))


def fill_stored(copies: CopyOutcomes, target: int, stored: pa.Table, *, record_nos: npt.NDArray[np.int64], rule: OutcomeRule) -> None:
    """Adds stored answers (columns record_no, outcome) for those records that are in the window and have the copy."""
    order = np.argsort(record_nos)
    wanted = stored["record_no"].to_numpy()
    places = np.searchsorted(record_nos, wanted, sorter=order)
    positions = order[np.minimum(places, len(order) - 1)]
    inside = (record_nos[positions] == wanted) & copies.needed[positions, target]
    copies.add(target, positions[inside], outcome_codes(stored["outcome"], rule)[inside])


def target_key(target: CopyTarget, *, model_revision: str, schema_version: int) -> TargetKey:
    """Under what the answers to these copies are stored. Another revision or schema has its own."""
    return TargetKey(model_revision, schema_version, target.column.name, target.text, target.draws, target.seed)
