"""Outcomes of the perturbed copies of one attribute: stored, just scored, missing, or refused by the model.

Records are also asked again unchanged, because some models answer the same record differently. Source: spec
of the fairness check, section 4.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from scipy.special import comb

from ...base.errors import InvalidInput
from ...base.values import Range, Scalar, canonical, frozen, frozen_arrays
from ...calls.scoring.scoring_client import Refusal
from ...deployments.training.unseen_groups import GroupDonors, require_donors
from ...domain.check import DataSet, Measurement
from ...domain.deployment import Column, FieldType
from ...domain.groups import MAX_REFERENCE_VALUES, EverybodyElse, Group
from ...domain.monitor import Monitor, Outcome, OutcomeRule
from ...domain.record import Prediction
from ...sources.arrays.favourable_scores import classify_answers, format_value
from ...sources.arrays.read_records import Grouping, convert_to_type
from ...sources.stored.copy_answers import TargetKey
from ...statistics.group_labels import NEITHER, IntArray
from ...statistics.intervals.intervals import newcombe
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Undefined, Value
from ..subject import EQUAL_CHECKS, Subject
from ..window.window import BoolArray


@frozen
class CopyTarget:
    """Copies of records, with the column set to a group's value or to `draws` values drawn from its range.

    With donors it is a meta field: its correlated features are set to a donor's values. A column without name
    changes nothing.
    """

    column: Column
    value: Scalar | Range
    draws: int
    seed: int
    donors: GroupDonors | None = None

    @property
    def text(self) -> str:
        """Key of stored answers: a value's canonical text, or `[lo, hi]`; JSON with features where donors set
        them.
        """
        if self.donors is None:
            return self._group
        return json.dumps(
            {"target": self._group, "features": self.donors.features, "donors": self.donors.digest},
            ensure_ascii=False,
        )

    @property
    def _group(self) -> str:
        return json.dumps(self.value) if isinstance(self.value, Range) else canonical(self.value)

    def draw_changes(self, record_id: str, draw: int) -> Mapping[str, Scalar | None]:
        name = self.column.name
        value = self.value
        if not name:
            return {}
        if self.donors:
            return self.donors.choose(
                draw_uniform(json.dumps([self.seed, record_id, name, self._group, draw]))
            )
        if not isinstance(value, Range):
            return {name: convert_to_type(value, self.column.type)}

        share = draw_uniform(json.dumps([self.seed, record_id, name, *value, draw]))
        if self.column.type is FieldType.INTEGER:
            lo = math.ceil(value.lo)
            hi = math.floor(value.hi)
            return {name: lo + int(share * (hi - lo + 1))}
        if math.isinf(value.hi - value.lo):
            # The width overflows. This form does not, but loses digits.
            return {name: (1 - share) * value.lo + share * value.hi}
        return {name: value.lo + share * (value.hi - value.lo)}


def build_copy_target(
    group: Group, column: Column, *, draws: int, seed: int, donors: GroupDonors | None = None
) -> CopyTarget:
    """Copies that move a record into `group`. Only ranges and donors depend on draws and seed.

    With donors there is one copy, whatever the draws: with two, the answers to the unchanged features
    would count twice in the other group, and look like an effect of the group.
    """
    if donors:
        return CopyTarget(column, group.value, 1, seed, donors)
    if isinstance(group.value, Range):
        return CopyTarget(column, group.value, draws, seed)
    return CopyTarget(column, group.value, 1, 0)


def mark_needed_copies(grouping: Grouping, outcomes: IntArray) -> BoolArray:
    """Whether each record is copied into each group [records, groups].

    Monitored records once per reference value, reference records once per monitored value; others take no
    part in any rate.
    """
    monitored = grouping.mark_monitored()
    takes_part = (grouping.codes >= 0) & (outcomes != Outcome.UNCLASSIFIED)
    if not len(monitored):
        return np.zeros((len(outcomes), 0), dtype=np.bool_)
    is_monitored = monitored[np.maximum(grouping.codes, 0)]
    needed: BoolArray = takes_part[:, None] & (is_monitored[:, None] != monitored[None, :])
    return needed


def draw_uniform(key: str) -> float:
    """Number in [0, 1) that depends on `key` alone."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    # 53 bits are the precision of a float; one more could round up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53


@frozen_arrays
class TargetAnswers:
    """Answers to the copies of one target: positions of the records, outcomes and probabilities as JSON
    texts.

    `are_new`: the model gave them in this check.
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
    `favourable` those of that kind; `refused` marks records that the model did not take. The answers
    themselves are kept of copies into reference groups, which mitigation reads.
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

    def add(self, target: int, records: IntArray, outcomes: IntArray) -> None:
        # A record with several copies comes several times: a plain `+=` would count it once.
        np.add.at(self.answered[:, target], records, 1)
        np.add.at(self.classified[:, target], records, outcomes != Outcome.UNCLASSIFIED)
        np.add.at(self.favourable[:, target], records, outcomes == Outcome.FAVOURABLE)

    def keeps(self, target: int) -> bool:
        return self.grouping.groups[target].role == "reference"

    @property
    def not_scored(self) -> BoolArray:
        return np.asarray(self.refused.any(axis=1), dtype=np.bool_)

    @property
    def codes(self) -> IntArray:
        """NEITHER where the model did not take a copy.

        Such a record is in no counterfactual figure: its other copies would count on one side only.
        """
        return np.where(self.not_scored, NEITHER, self.grouping.codes)

    def leave_out_refused(self) -> None:
        """Call it once all answers are there."""
        self.classified[self.not_scored] = 0
        self.favourable[self.not_scored] = 0

    def missing(self) -> list[tuple[int, IntArray]]:
        """Lists each target with the positions of records whose copies have no outcome."""
        unscored = [
            (position, np.flatnonzero(self.needed[:, position] & (self.answered[:, position] < target.draws)))
            for position, target in enumerate(self.targets)
        ]
        return [(position, records) for position, records in unscored if len(records)]

    @property
    def times(self) -> IntArray:
        """Copies of each record [records]."""
        return self.needed.astype(np.int64) @ np.array(
            [target.draws for target in self.targets], dtype=np.int64
        )

    @property
    def to_score(self) -> int:
        return int(sum(len(records) * self.targets[target].draws for target, records in self.missing()))


def plan_copies(
    grouping: Grouping,
    outcomes: IntArray,
    monitor: Monitor,
    *,
    seen_by_model: bool,
    donors: Sequence[GroupDonors] | None = None,
) -> CopyOutcomes:
    """Decides which records are copied into which groups; no copy has an outcome yet.

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
    for number, (group, group_donors) in enumerate(zip(grouping.groups, donors_by_group, strict=True)):
        if group_donors and needed[:, number].any():
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
    order = np.argsort(record_nos)
    stored_nos = stored["record_no"].to_numpy()
    ranks = np.searchsorted(record_nos, stored_nos, sorter=order)
    # A number above all of the window would point past the end; it then differs from the last one.
    positions = order[np.minimum(ranks, len(order) - 1)]
    inside = (record_nos[positions] == stored_nos) & copies.needed[positions, target]
    # If one of several draws is missing all are asked for again: the others would count twice.
    inside &= (
        np.bincount(positions[inside], minlength=len(record_nos))[positions] == copies.targets[target].draws
    )
    copies.add(target, positions[inside], classify_answers(stored["outcome"], rule)[inside])
    if copies.keeps(target):
        rows = stored.filter(pa.array(inside))
        copies.answers.append(TargetAnswers(target, positions[inside], rows["outcome"], rows["probability"]))


def encode_answers(answers: Sequence[Prediction]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    outcomes = [format_value(answer.outcome_value) for answer in answers]
    probabilities = [encode_probability(answer) for answer in answers]
    return pa.chunked_array([outcomes], pa.string()), pa.chunked_array([probabilities], pa.string())


def encode_probability(answer: Prediction) -> str | None:
    return None if answer.probability is None else msgspec.json.encode(answer.probability).decode()


def make_target_key(target: CopyTarget, *, model_revision: str, schema_version: int) -> TargetKey:
    return TargetKey(
        model_revision, schema_version, target.column.name, target.text, target.draws, target.seed
    )


REPEATS = "repeats"

REPEATS_DIFFER = "The model gives other answers to the same record: {differ:,.0f} of {asked:,.0f} differ"

MAX_REPEATED_RECORDS = 200
"""Records of one check that the model is asked again."""

CALLS_PER_REPEAT = 20
"""A check asks one record again for so many copies that it asks about."""

ENOUGH_EQUAL_CHECKS = 3
MAX_REPEATS = 20
"""Of one record; of a check, too, after `ENOUGH_EQUAL_CHECKS` in a row without a difference."""

Repeats = Mapping[str, Sequence[float]]
"""Three numbers by group label: records asked again, and those that noise alone is expected to gain and to
lose; then the same three of all records, as if they had as many copies as the group's. The label "" is that
of all groups together.
"""

NO_REPEATS = (0,) * 6


def plan_repeats(grouping: Grouping, copies: Sequence[CopyOutcomes]) -> CopyOutcomes:
    """Plans unchanged copies of each copied record, as many as a record has of one attribute at most: a flip
    is any copy with another outcome, so more copies flip more often.
    """
    times = np.max([0 * grouping.codes, *(outcomes.times for outcomes in copies)], axis=0)
    target = CopyTarget(replace(grouping.column, name=""), "", min(int(times.max(initial=1)), MAX_REPEATS), 0)
    return CopyOutcomes(grouping, (target,), times[:, None] > 0)


def draw_repeats(repeats: CopyOutcomes, copies: Sequence[CopyOutcomes], subject: Subject) -> None:
    limit = sum(outcomes.to_score for outcomes in copies) // CALLS_PER_REPEAT
    limit = min(limit, MAX_REPEATS) if subject.equal_checks >= ENOUGH_EQUAL_CHECKS else limit
    draw = np.random.default_rng((subject.monitor.seed % 2**64, int(subject.at.timestamp())))
    order = draw.permutation(np.flatnonzero(repeats.needed & (repeats.answered == 0)))[:MAX_REPEATED_RECORDS]
    repeats.needed = repeats.answered > 0
    repeats.needed[order[: limit // repeats.targets[0].draws]] = True


def describe_repeats(repeats: CopyOutcomes, outcomes: IntArray, equal_checks: int) -> dict[str, object]:
    answers = repeats.classified[:, 0]
    repeated = int((answers > 0).sum())
    differ = int((repeats.favourable[:, 0] != answers * outcomes).sum())
    return {
        REPEATS: {"asked": repeated, "differ": differ},
        EQUAL_CHECKS: 0 if differ else equal_checks + bool(repeated),
    }


def count_repeats(
    repeats: CopyOutcomes, copies: CopyOutcomes, outcomes: IntArray, members: BoolArray
) -> Repeats:
    """Counts expected flips by noise: any of as many repeats as a record has copies of the attribute may
    differ.
    """
    draws = repeats.targets[0].draws
    repeats_by_group = {}
    unchanged = draws - np.abs(repeats.favourable[:, 0] - draws * outcomes)
    is_asked = members & (repeats.classified[:, 0] == draws)
    for code, group in enumerate(copies.grouping.groups):
        is_own = copies.codes == code
        times = min(int(copies.times[is_own].max(initial=0)), draws)
        share = 1 - comb(unchanged, times) / comb(draws, times)
        counted = is_asked * np.stack([np.ones_like(share), share * (outcomes == 0), share * (outcomes == 1)])
        repeats_by_group[group.label] = [
            *(counted * is_own).sum(axis=1).tolist(),
            *counted.sum(axis=1).tolist(),
        ]
    together = np.sum(list(repeats_by_group.values()), axis=0)[:3].tolist()
    return repeats_by_group | {"": [*together, *together]}


def subtract_repeats(result: Measured, data: DataSet, repeats: Repeats) -> Measured:
    """Subtracts the flips that repeats alone would show, or adds a caution to a mitigated figure.

    A group with few repeats is compared with those of all. If the model repeats its answers, the figure
    stays.
    """
    of_all = repeats.get("", NO_REPEATS)
    group_counts = repeats.get(result.group or "", of_all)
    differ = of_all[1] + of_all[2]
    is_flips = result.metric == "flip_rate"
    number = result.number
    is_mitigated = data in (DataSet.MITIGATED, DataSet.MITIGATED_LABELLED) and not result.metric.endswith(
        "_before"
    )
    if isinstance(number, Undefined) or not differ or not (is_flips or is_mitigated):
        return result
    repeated, gained, lost = group_counts[:3] if group_counts[0] >= MINIMUM_GROUP_SIZE else group_counts[3:]
    if is_flips:
        interval = newcombe(number.value * number.n, number.n, gained + lost, repeated)
        number = Value(number.value - (gained + lost) / repeated, *interval, number.n)
    differs = (
        f"{REPEATS_DIFFER.format(differ=differ, asked=of_all[0])}; repeats alone would lift {gained:,.0f} of "
        f"{repeated:,.0f}"
    )
    counts = {**result.details.counts, "repeats": repeated, "repeats_gained": gained, "repeats_lost": lost}
    details = result.details.changed(
        counts=counts, caution=f"{'goes beyond' if is_flips else 'holds'} noise. {differs}"
    )
    return replace(result, number=number, details=details)


MAX_REASONS = 10

RECORDS_NOT_SCORED = "records_not_scored"
LABELS_NOT_SCORED = "labels_not_scored"
NOT_SCORED_BECAUSE = "not_scored_because"

_COPIED_DATA = frozenset({DataSet.COUNTERFACTUAL, DataSet.OPENSCALE, DataSet.MITIGATED})


@frozen
class RefusedRecord:
    record: int | str
    refusal: Refusal


def list_reasons(refused: Iterable[RefusedRecord], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Lists why the model took no copy, most frequent reason first; a record counts once for each reason.

    A reason has its columns (none: the answer names none), half a sentence, and the number of records.
    """
    records: dict[tuple[str, ...], set[int | str]] = {}
    examples: dict[tuple[str, ...], Refusal] = {}
    columns_of_refusal: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    for record in refused:
        kind = (id(record.refusal.error), record.refusal.nulls)
        if kind not in columns_of_refusal:
            columns_of_refusal[kind] = _find_columns(record.refusal, columns)
        names = columns_of_refusal[kind]
        records.setdefault(names, set()).add(record.record)
        examples.setdefault(names, record.refusal)
    types = {column.name: column.type for column in columns}
    reasons: list[dict[str, Any]] = []
    for names, ids in records.items():
        reason = str(examples[names].error)
        if examples[names].nulls:
            reason = "null in " + " and ".join(f"the {types[name].value} column '{name}'" for name in names)
        reasons.append({"columns": list(names), "reason": reason, "records": len(ids)})
    return sorted(reasons, key=lambda reason: (-reason["records"], reason["columns"]))[:MAX_REASONS]


def explain_not_scored(
    measurements: Iterable[Measurement], window: Mapping[str, Any]
) -> Iterator[Measurement]:
    """Adds to figures the number of refused records that they lack, and to the reason of a null why."""
    because = "; ".join(str(reason["reason"]) for reason in window.get(NOT_SCORED_BECAUSE, ()))
    for measurement in measurements:
        # A record may be refused as a copy of one attribute and taken as that of another.
        records = 0
        if measurement.data is DataSet.LABELLED:
            records = int(window.get(LABELS_NOT_SCORED, 0))
        elif measurement.data in _COPIED_DATA:
            records = int(window.get(RECORDS_NOT_SCORED, {}).get(measurement.attribute, 0))
        if records:
            details = replace(measurement.details, records_not_scored=records)
            count = (
                f"{records:,} {'record was' if records == 1 else 'records were'} not scored, because "
                "the model gave no usable answer to"
            )
            reason = (
                None
                if measurement.reason is None
                else f"{measurement.reason}; {count} {'it' if records == 1 else 'them'}: {because}"
            )
            yield replace(measurement, details=details, reason=reason)
        else:
            yield measurement


def _find_columns(refusal: Refusal, columns: Sequence[Column]) -> tuple[str, ...]:
    """Finds the columns that a refusal is about: of the nulls those that the answer names, else those in
    integer columns, else all.
    """
    named = [
        column.name
        for column in columns
        if re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", refusal.error.answer)
    ]
    if len(named) == len(columns):  # MLflow quotes the whole schema
        named = []
    if not refusal.nulls:
        return tuple(named)
    integers = [column.name for column in columns if column.type is FieldType.INTEGER]
    causes = (tuple(name for name in refusal.nulls if name in suspects) for suspects in (named, integers))
    return next(filter(None, causes), refusal.nulls)
