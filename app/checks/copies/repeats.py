"""Records asked again unchanged, because some models answer the same record differently. Source: spec of
the fairness check, section 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import comb

from ...domain.check import DataSet
from ...sources.arrays.group_of_records import Grouping
from ...statistics.figure_values import Measured, Undefined, Value
from ...statistics.group_labels import IntArray
from ...statistics.intervals.intervals import newcombe
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE
from ..subject import EQUAL_CHECKS, Subject
from ..window.window import BoolArray
from .copy_outcomes import CopyOutcomes, CopyTarget

REPEATS = "repeats"
"""Member of a window: records asked again, and those that differ."""

DIFFER = "The model gives other answers to the same record: {differ:,.0f} of {asked:,.0f} differ"

MAX_RECORDS, CALLS_A_REPEAT = 200, 20
"""Max repeated records of a check; min other calls of it for each repeat."""

ENOUGH_EQUAL_CHECKS, MAX_AFTER = 3, 20
"""Checks in a row without a difference, and max repeats of a check after them; also of one record."""

Repeats: TypeAlias = Mapping[str, Sequence[float]]
"""Numbers by group label: of records asked again, and of those among them that noise alone is expected to
gain and to lose; then the same of all records, as if they had as many copies as the group's. Of all groups
together with the label "".
"""

NO_REPEATS = (0,) * 6


def plan_repeats(grouping: Grouping, copies: Sequence[CopyOutcomes]) -> CopyOutcomes:
    """Unchanged copies of each record that has others, as many as a record has of one attribute at most: a
    flip is any of them.
    """
    times = np.max([0 * grouping.codes, *(outcomes.times for outcomes in copies)], axis=0)
    target = CopyTarget(replace(grouping.column, name=""), "", min(int(times.max(initial=1)), MAX_AFTER), 0)
    return CopyOutcomes(grouping, (target,), times[:, None] > 0)


def draw_repeats(repeats: CopyOutcomes, copies: Sequence[CopyOutcomes], subject: Subject) -> None:
    """Leaves the repeats that were answered, and draws others."""
    limit = sum(outcomes.to_score for outcomes in copies) // CALLS_A_REPEAT
    limit = min(limit, MAX_AFTER) if subject.equal_checks >= ENOUGH_EQUAL_CHECKS else limit
    draw = np.random.default_rng((subject.monitor.seed % 2**64, int(subject.at.timestamp())))
    order = draw.permutation(np.flatnonzero(repeats.needed & (repeats.known == 0)))[:MAX_RECORDS]
    repeats.needed = repeats.known > 0
    repeats.needed[order[: limit // repeats.targets[0].draws]] = True


def describe_repeats(repeats: CopyOutcomes, outcomes: IntArray, equal_checks: int) -> dict[str, object]:
    """Members of a window; `equal_checks` are those in a row before."""
    answers = repeats.classified[:, 0]
    repeated, differ = int((answers > 0).sum()), int((repeats.favourable[:, 0] != answers * outcomes).sum())
    return {
        REPEATS: {"asked": repeated, "differ": differ},
        EQUAL_CHECKS: 0 if differ else equal_checks + bool(repeated),
    }


def count_repeats(
    repeats: CopyOutcomes, copies: CopyOutcomes, outcomes: IntArray, members: BoolArray
) -> Repeats:
    """Counts records of a part [records]: any of as many repeats as they have copies of the attribute may
    differ.
    """
    draws, of_each = repeats.targets[0].draws, {}
    unchanged = draws - np.abs(repeats.favourable[:, 0] - draws * outcomes)
    is_asked = members & (repeats.classified[:, 0] == draws)
    for code, group in enumerate(copies.grouping.groups):
        is_own = copies.codes == code
        times = min(int(copies.times[is_own].max(initial=0)), draws)
        share = 1 - comb(unchanged, times) / comb(draws, times)
        counted = is_asked * np.stack([np.ones_like(share), share * (outcomes == 0), share * (outcomes == 1)])
        of_each[group.label] = [*(counted * is_own).sum(axis=1).tolist(), *counted.sum(axis=1).tolist()]
    together = np.sum(list(of_each.values()), axis=0)[:3].tolist()
    return of_each | {"": [*together, *together]}


def subtract_repeats(result: Measured, data: DataSet, repeats: Repeats) -> Measured:
    """Flips beyond those of repeats, or a mitigated figure with a caution; as it is if the model keeps its
    answers.

    A group with few repeats is compared with those of all.
    """
    of_all = repeats.get("", NO_REPEATS)
    group_counts, differ = repeats.get(result.group or "", of_all), of_all[1] + of_all[2]
    is_flips, number = result.metric == "flip_rate", result.number
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
        f"{DIFFER.format(differ=differ, asked=of_all[0])}; repeats alone would lift {gained:,.0f} of "
        f"{repeated:,.0f}"
    )
    counts = {**result.details.counts, "repeats": repeated, "repeats_gained": gained, "repeats_lost": lost}
    details = result.details.changed(
        counts=counts, caution=f"{'goes beyond' if is_flips else 'holds'} noise. {differs}"
    )
    return replace(result, number=number, details=details)
