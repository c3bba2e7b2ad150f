"""Repeats: unchanged copies of some records, because some models answer the same record differently.

Source: spec of the fairness check, section 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import comb

from ...domain.check import DataSet
from ...sources.arrays.read_records import Grouping
from ...statistics.group_labels import IntArray
from ...statistics.intervals.intervals import build_newcombe_interval
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Undefined, Value
from ..subject import EQUAL_CHECKS, Subject
from ..window.window import BoolArray
from .copy_outcomes import CopyOutcomes, CopyTarget

REPEATS = "repeats"
"""Member of a window: numbers of records asked again, and of those that got another answer."""

REPEATS_DIFFER = "The model gives other answers to the same record: {differ:,.0f} of {asked:,.0f} differ"

MAX_REPEATED_RECORDS = 200
"""Records of one check that the model is asked again."""

COPIES_PER_REPEAT = 20
"""A check repeats one record for so many copies that it asks about."""

MAX_REPEATS = 20
"""Max repeats of one record; of a check, too, after `ENOUGH_EQUAL_CHECKS`."""

ENOUGH_EQUAL_CHECKS = 3
"""Checks in a row without a difference after which a model counts as repeating its answers."""

Repeats = Mapping[str, Sequence[float]]
"""Six numbers by group label. The first three count records asked again, and those that noise alone is
expected to gain and to lose; the last three are the same of all records, as if they had as many copies as
the group's. The label "" is that of all groups together.
"""

_NO_REPEATS = (0,) * 6


def plan_repeats(grouping: Grouping, copies: Sequence[CopyOutcomes]) -> CopyOutcomes:
    """Plans unchanged copies of each record, as many as of any attribute: more copies flip more often."""
    most_copies = np.max([0 * grouping.codes, *(outcomes.copy_counts for outcomes in copies)], axis=0)
    draws = min(int(most_copies.max(initial=1)), MAX_REPEATS)
    target = CopyTarget(replace(grouping.column, name=""), "", draws, 0)
    return CopyOutcomes(grouping, (target,), most_copies[:, None] > 0)


def draw_repeats(repeats: CopyOutcomes, copies: Sequence[CopyOutcomes], subject: Subject) -> None:
    """Limits the repeats to answered ones, and to those of records drawn at random."""
    limit = sum(outcomes.missing_count for outcomes in copies) // COPIES_PER_REPEAT
    if subject.equal_checks >= ENOUGH_EQUAL_CHECKS:
        limit = min(limit, MAX_REPEATS)
    generator = np.random.default_rng((subject.monitor.seed % 2**64, int(subject.at.timestamp())))
    unanswered = np.flatnonzero(repeats.needed & (repeats.answered == 0))
    positions = generator.permutation(unanswered)[:MAX_REPEATED_RECORDS]
    repeats.needed = repeats.answered > 0
    repeats.needed[positions[: limit // repeats.targets[0].draws]] = True


def describe_repeats(repeats: CopyOutcomes, outcomes: IntArray, equal_checks: int) -> dict[str, object]:
    """Describes the repeats as members of a window; `equal_checks` is the number before this check."""
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
    """Counts the flips of `members` (mask [records]) that noise alone is expected to make.

    A record flips if any of as many repeats as it has copies of the attribute difference.
    """
    draws = repeats.targets[0].draws
    repeats_by_group = {}
    unchanged = draws - np.abs(repeats.favourable[:, 0] - draws * outcomes)
    is_asked = members & (repeats.classified[:, 0] == draws)
    for code, group in enumerate(copies.grouping.groups):
        is_in_group = copies.codes == code
        copy_count = min(int(copies.copy_counts[is_in_group].max(initial=0)), draws)
        flip_share = 1 - comb(unchanged, copy_count) / comb(draws, copy_count)
        gained = flip_share * (outcomes == 0)
        lost = flip_share * (outcomes == 1)
        counts = is_asked * np.stack([np.ones_like(flip_share), gained, lost])
        repeats_by_group[group.label] = [
            *(counts * is_in_group).sum(axis=1).tolist(),
            *counts.sum(axis=1).tolist(),
        ]
    totals = np.sum(list(repeats_by_group.values()), axis=0)[:3].tolist()
    return repeats_by_group | {"": [*totals, *totals]}


def subtract_repeats(result: Measured, data: DataSet, repeats: Repeats) -> Measured:
    """Subtracts the flips that repeats alone would show, or adds a caution to a mitigated figure.

    A group with few repeats is compared with the repeats of all records. If the model repeats its answers,
    the figure stays.
    """
    total_counts = repeats.get("", _NO_REPEATS)
    group_counts = repeats.get(result.group or "", total_counts)
    differ = total_counts[1] + total_counts[2]
    is_flip_rate = result.metric == "flip_rate"
    number = result.number
    is_mitigated = data in (DataSet.MITIGATED, DataSet.MITIGATED_LABELLED) and not result.metric.endswith(
        "_before"
    )
    if isinstance(number, Undefined) or not differ or not (is_flip_rate or is_mitigated):
        return result
    repeated, gained, lost = group_counts[:3] if group_counts[0] >= MINIMUM_GROUP_SIZE else group_counts[3:]
    if is_flip_rate:
        interval = build_newcombe_interval(number.value * number.n, number.n, gained + lost, repeated)
        number = Value(number.value - (gained + lost) / repeated, *interval, number.n)
    difference = (
        f"{REPEATS_DIFFER.format(differ=differ, asked=total_counts[0])}; repeats alone would lift "
        f"{gained:,.0f} of {repeated:,.0f}"
    )
    counts = {**result.details.counts, "repeats": repeated, "repeats_gained": gained, "repeats_lost": lost}
    details = result.details.changed(
        counts=counts, caution=f"{'goes beyond' if is_flip_rate else 'holds'} noise. {difference}"
    )
    return replace(result, number=number, details=details)
