"""Simulated models of known truth: a share of the records flips with the attribute, another share is tossed at every call."""

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import numpy as np
import numpy.typing as npt

from app.checks.copies.copy_outcomes import CopyOutcomes, plan_copies
from app.checks.copies.repeats import count_repeats, draw_repeats, plan_repeats, subtract_repeats
from app.checks.subject import Subject
from app.domain.check import DataSet
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.groups import Group
from app.domain.monitor import Monitor, OutcomeRule
from app.sources.arrays.read_records import Grouping
from app.statistics.group_labels import build_groups
from app.statistics.intervals.verdicts import Value
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.tables.record_kinds import CounterfactualCells

_SEX = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


@dataclass(frozen=True)
class NoisyModel:
    """Shares of the records; the others have an answer of their own, whatever the attribute. `references` are values of the attribute."""

    flips: float
    tossed: float
    references: int = 1

    def answer(
        self, rng: np.random.Generator, kinds: npt.NDArray[np.float64], *, is_reference: npt.NDArray[np.bool_] | bool
    ) -> npt.NDArray[np.int64]:
        """Outcomes of records of those kinds, numbers in [0, 1)."""
        tossed, own = rng.integers(0, 2, len(kinds)), kinds * 1000 % 1 < 0.5
        outcomes = np.where(kinds < self.flips, is_reference, np.where(kinds < self.flips + self.tossed, tossed, own))
        return outcomes.astype(np.int64)


def measure_flips(model: NoisyModel, records: int, seed: int) -> tuple[Value, Value]:
    """Flip rate of the monitored group in a window of so many records, alone and beyond repeats."""
    rng = np.random.default_rng(seed)
    references = [Group(f"m{number}", "reference", f"m{number}") for number in range(model.references)]
    grouping = Grouping(_SEX, (Group("f", "monitored", "f"), *references), rng.integers(0, model.references + 1, records))
    kinds = rng.random(records)
    outcomes = model.answer(rng, kinds, is_reference=grouping.codes > 0)
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(), seed=seed)
    copies = plan_copies(grouping, outcomes, monitor, seen_by_model=True)
    repeats = plan_repeats(grouping, [copies])
    subject = SimpleNamespace(equal_checks=0, monitor=monitor, at=datetime(2026, 3, 2, 12, tzinfo=UTC))
    draw_repeats(repeats, [copies], cast("Subject", subject))

    for asked, is_own in ((copies, False), (repeats, True)):
        _ask(model, rng, kinds, grouping, asked, is_own=is_own)
    table = CounterfactualCells.from_records(
        build_groups(grouping.named_groups),
        copies.codes,
        outcome=outcomes,
        copies_favourable=copies.favourable,
        copies_classified=copies.classified,
    )
    alone = next(result for result in measure_counterfactual(table, metrics=["flip_rate"]) if result.group == "f")
    counted = count_repeats(repeats, copies, outcomes, np.ones(records, np.bool_))
    beyond = subtract_repeats(alone, DataSet.COUNTERFACTUAL, counted)
    return cast("Value", alone.number), cast("Value", beyond.number)


def _ask(
    model: NoisyModel, rng: np.random.Generator, kinds: npt.NDArray[np.float64], grouping: Grouping, asked: CopyOutcomes, *, is_own: bool
) -> None:
    for target, records in asked.list_missing():
        is_reference = grouping.codes[records] > 0 if is_own else target > 0
        for _ in range(asked.targets[target].draws):
            asked.add(target, records, model.answer(rng, kinds[records], is_reference=is_reference))


def count_covered(model: NoisyModel, windows: int, seed: int, *, records: int = 2000) -> tuple[int, int]:
    """Windows whose interval holds the share that flips with the attribute: alone, and beyond repeats."""
    covered = np.zeros(2, np.int64)
    for number in range(windows):
        figures = measure_flips(model, records, seed + number)
        covered += [each.lower <= model.flips <= each.upper for each in figures if each.lower is not None and each.upper is not None]
    return int(covered[0]), int(covered[1])
