"""Outcomes of the perturbed copies of one attribute: stored, just scored, missing, or refused by the model.

Source: spec of the fairness check, section 4.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa

from ...base.errors import InvalidInput
from ...base.values import Range, Scalar, canonical, frozen, frozen_arrays
from ...deployments.training.unseen_groups import GroupDonors, require_donors
from ...domain.deployment import Column, FieldType
from ...domain.groups import MAX_REFERENCE_VALUES, EverybodyElse, Group
from ...domain.monitor import Monitor, Outcome, OutcomeRule
from ...domain.record import Prediction
from ...sources.arrays.favourable_scores import classify_answers, format_value
from ...sources.arrays.read_records import Grouping, convert_to_type
from ...sources.stored.copy_answers import TargetKey
from ...statistics.group_labels import NEITHER, IntArray
from ..window.window import BoolArray


@frozen
class CopyTarget:
    """Copies of records, with the column set to a group's value or to `draws` values drawn from its range.

    With donors, the column is a meta field, and its correlated features are set to a donor's values. A column
    without name changes nothing.
    """

    column: Column
    value: Scalar | Range
    draws: int
    seed: int
    donors: GroupDonors | None = None

    @property
    def key_text(self) -> str:
        """Text of the value in keys of stored answers; with donors JSON, with the features that they set."""
        if self.donors is None:
            return self._value_text
        return json.dumps(
            {"target": self._value_text, "features": self.donors.features, "donors": self.donors.digest},
            ensure_ascii=False,
        )

    @property
    def _value_text(self) -> str:
        return json.dumps(self.value) if isinstance(self.value, Range) else canonical(self.value)

    def draw_changes(self, record_id: str, draw: int) -> Mapping[str, Scalar | None]:
        """Draws the new values of a copy by column, the same ones for the same arguments."""
        name = self.column.name
        value = self.value
        if not name:
            return {}
        if self.donors:
            return self.donors.choose(
                draw_uniform(json.dumps([self.seed, record_id, name, self._value_text, draw]))
            )
        if not isinstance(value, Range):
            return {name: convert_to_type(value, self.column.type)}

        share = draw_uniform(json.dumps([self.seed, record_id, name, *value, draw]))
        if self.column.type is FieldType.INTEGER:
            lo = math.ceil(value.lo)
            return {name: lo + int(share * (math.floor(value.hi) - lo + 1))}
        if math.isinf(value.hi - value.lo):
            # The width overflows. This form does not, but loses digits.
            return {name: (1 - share) * value.lo + share * value.hi}
        return {name: value.lo + share * (value.hi - value.lo)}


def build_copy_target(
    group: Group, column: Column, *, draws: int, seed: int, donors: GroupDonors | None = None
) -> CopyTarget:
    """Builds the target that moves records into `group`. Only ranges and donors depend on draws and seed.

    With donors there is one copy, whatever the draws: with two, the answers to the unchanged features
    would count twice in the other group, and look like an effect of the group.
    """
    if donors:
        return CopyTarget(column, group.value, 1, seed, donors)
    if isinstance(group.value, Range):
        return CopyTarget(column, group.value, draws, seed)
    return CopyTarget(column, group.value, 1, 0)


def mark_needed_copies(grouping: Grouping, outcomes: IntArray) -> BoolArray:
    """Marks [records, groups] the groups that each record is copied into.

    A monitored record is copied into each reference group, a reference record into each monitored one; others
    take no part in any rate.
    """
    monitored = grouping.mark_monitored()
    takes_part = (grouping.codes >= 0) & (outcomes != Outcome.UNCLASSIFIED)
    if not len(monitored):
        return np.zeros((len(outcomes), 0), dtype=np.bool_)
    is_monitored = monitored[np.maximum(grouping.codes, 0)]
    needed: BoolArray = takes_part[:, None] & (is_monitored[:, None] != monitored[None, :])
    return needed


def draw_uniform(key: str) -> float:
    """Draws a number in [0, 1) that depends on `key` alone."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    # 53 bits are the precision of a float; one more could round up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53


@frozen_arrays
class TargetAnswers:
    """Answers to copies into the target of that position, as JSON texts; `records` are positions.

    `are_new`: the model gave the answers in this check.
    """

    target: int
    records: IntArray
    outcomes: pa.ChunkedArray
    probabilities: pa.ChunkedArray
    are_new: bool = False


@dataclass(slots=True)
class CopyOutcomes:
    """Outcomes of the copies, in arrays [records, target groups].

    `needed` marks records that are copied; `answered` counts copies with an outcome, `classified` and
    `favourable` those of that kind; `refused` marks records that the model did not take. `answers` are kept
    for copies into reference groups only: mitigation reads them.
    """

    grouping: Grouping
    targets: tuple[CopyTarget, ...]
    needed: BoolArray
    answers: list[TargetAnswers] = field(init=False, default_factory=list)
    answered: IntArray = field(init=False)
    classified: IntArray = field(init=False)
    favourable: IntArray = field(init=False)
    refused: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.refused = np.zeros(self.needed.shape, dtype=np.bool_)
        self.answered, self.classified, self.favourable = (
            np.zeros(self.needed.shape, dtype=np.int64) for _ in range(3)
        )

    @property
    def not_scored(self) -> BoolArray:
        return np.asarray(self.refused.any(axis=1), dtype=np.bool_)

    @property
    def codes(self) -> IntArray:
        """Group of each record; NEITHER for a record `not_scored`.

        It is in no counterfactual figure: its other copies would count on one side only.
        """
        return np.where(self.not_scored, NEITHER, self.grouping.codes)

    @property
    def copy_counts(self) -> IntArray:
        return self.needed.astype(np.int64) @ np.array(
            [target.draws for target in self.targets], dtype=np.int64
        )

    @property
    def missing_count(self) -> int:
        return sum(len(records) * self.targets[target].draws for target, records in self.list_missing())

    def add(self, target: int, records: IntArray, outcomes: IntArray) -> None:
        # A record with several copies comes several times: a plain `+=` would count it once.
        np.add.at(self.answered[:, target], records, 1)
        np.add.at(self.classified[:, target], records, outcomes != Outcome.UNCLASSIFIED)
        np.add.at(self.favourable[:, target], records, outcomes == Outcome.FAVOURABLE)

    def keeps_answers(self, target: int) -> bool:
        return self.grouping.groups[target].role == "reference"

    def leave_out_refused(self) -> None:
        """Takes records that are `not_scored` out of the counts, once all answers are there."""
        self.classified[self.not_scored] = 0
        self.favourable[self.not_scored] = 0

    def list_missing(self) -> list[tuple[int, IntArray]]:
        """Lists the targets that lack answers, by position, with the positions of the records."""
        unscored = [
            (position, np.flatnonzero(self.needed[:, position] & (self.answered[:, position] < target.draws)))
            for position, target in enumerate(self.targets)
        ]
        return [(position, records) for position, records in unscored if len(records)]


def plan_copies(
    grouping: Grouping,
    outcomes: IntArray,
    monitor: Monitor,
    *,
    seen_by_model: bool,
    donors: Sequence[GroupDonors] | None = None,
) -> CopyOutcomes:
    """Decides which records are copied into which groups.

    A column that the model never sees has no copies (its counterfactual data are the logged ones), unless it
    has `donors`, one entry a group.

    Raises:
        InvalidInput: records would be copied into everybody else, or into a group without a donor.
    """
    is_copied = seen_by_model or donors is not None
    if is_copied and any(isinstance(group.value, EverybodyElse) for group in grouping.groups):
        raise InvalidInput(
            f"attributes.{grouping.column.name}.reference",
            f"was left out, and more than {MAX_REFERENCE_VALUES} other values are too many to copy each "
            "record into; list some of them",
        )
    needed = mark_needed_copies(grouping, outcomes)
    donors_by_group = [None] * len(grouping.groups) if donors is None else donors
    targets = []
    for position, (group, group_donors) in enumerate(zip(grouping.groups, donors_by_group, strict=True)):
        if group_donors and needed[:, position].any():
            require_donors(group_donors, group, grouping.column)
        targets.append(
            build_copy_target(
                group, grouping.column, draws=monitor.draws, seed=monitor.seed, donors=group_donors
            )
        )
    return CopyOutcomes(grouping, tuple(targets), needed if is_copied else np.zeros_like(needed))


def fill_stored(
    copies: CopyOutcomes, target: int, stored: pa.Table, *, record_nos: IntArray, rule: OutcomeRule
) -> None:
    """Adds stored answers to the copies; `record_nos` are the numbers of the window's records."""
    order = np.argsort(record_nos)
    stored_nos = stored["record_no"].to_numpy()
    ranks = np.searchsorted(record_nos, stored_nos, sorter=order)
    # A number above all of the window would point past the end; it then differs from the last one.
    positions = order[np.minimum(ranks, len(order) - 1)]
    is_usable = (record_nos[positions] == stored_nos) & copies.needed[positions, target]
    # If one of several draws is missing all are asked for again: the others would count twice.
    stored_draws = np.bincount(positions[is_usable], minlength=len(record_nos))
    is_usable &= stored_draws[positions] == copies.targets[target].draws
    copies.add(target, positions[is_usable], classify_answers(stored["outcome"], rule)[is_usable])
    if copies.keeps_answers(target):
        rows = stored.filter(pa.array(is_usable))
        copies.answers.append(
            TargetAnswers(target, positions[is_usable], rows["outcome"], rows["probability"])
        )


def encode_answers(answers: Sequence[Prediction]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    outcomes = [format_value(answer.outcome_value) for answer in answers]
    probabilities = [encode_probability(answer) for answer in answers]
    return pa.chunked_array([outcomes], pa.string()), pa.chunked_array([probabilities], pa.string())


def encode_probability(answer: Prediction) -> str | None:
    return None if answer.probability is None else msgspec.json.encode(answer.probability).decode()


def make_target_key(target: CopyTarget, *, model_revision: str, schema_version: int) -> TargetKey:
    return TargetKey(
        model_revision, schema_version, target.column.name, target.key_text, target.draws, target.seed
    )
