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
from ...statistics.intervals.intervals import newcombe
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Undefined, Value
from ..subject import EQUAL_CHECKS, Subject
from ..window.window import BoolArray
from .copy_outcomes import CopyOutcomes, CopyTarget

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
