"""Payload and perturbed data as OpenScale measures them: every original record and every counterfactual is a row.

Rates are resampled by record. Groups with several values on the other side, or several draws, hold more counterfactuals of some records;
balanced figures do not.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from .estimates import DRAWS, Resampled, Words, resample
from .evidence import Estimate, TableEvidence
from .groups import IntArray, of_role
from .measure import measure_all
from .tables import BalancedCells
from .values import Measured, Undefined
from .worst import NO_LIMITS, AllLimits

UNSEEN = 1.0
"""Weight of a kind not seen in a group in a second resampling, which may only widen the first: the rule of three.

Without it a window without flips would give no width; with it alone, small windows would lean towards unseen kinds.
"""

UNEQUALLY_SAMPLED = "the records were sampled at different rates, for which this figure cannot allow"
"""Reason for figures without weights."""

FAVOURABLE = Words(
    noun="favourable",
    empty="no record{of} was classified",
    zero_reference="perfect equality is zero: none of {n} reference records, original and synthesised, was favourable",
)
PERFECT_EQUALITY = Words(noun="favourable", empty="no record of the reference group was classified")


def measure_perturbed(
    table: BalancedCells,
    *,
    seed: int,
    metrics: Collection[str] | None = None,
    limits: AllLimits = NO_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Favourable rates, perfect equality and OpenScale's fairness over original and synthesised records of one attribute.

    The same table and `seed` (not negative) give the same intervals. A group without an original record has no rate, though its
    counterfactuals count in the pooled ones.
    """
    count, total = _sum_kinds(table)
    wider = _add_unseen(table)
    with_unseen = np.where(wider.count > 0, wider.count, UNSEEN)
    drawn_count, drawn_total = resample((wider.count, with_unseen), *_sum_kinds(wider), draws=draws, seed=seed)
    favourable = Resampled(
        words=FAVOURABLE,
        weights=table.count,
        count=count,
        total=total,
        original=np.bincount(table.group, table.count, minlength=len(table.groups)).astype(np.int64),
        drawn_count=drawn_count,
        drawn_total=drawn_total,
    )
    estimates: dict[str, Estimate] = {
        "favourable": favourable,
        "perfect_equality": favourable.only(PERFECT_EQUALITY, of_role(table.groups, "reference")),
    }
    found = measure_all(
        "payload_perturbed",
        TableEvidence(groups=table.groups, estimates=estimates, unclassified=table.unclassified, limits=limits),
        metrics,
    )
    if not table.has_unequal_weights:
        return found
    # OpenScale's figures count rows, and know no weights.
    return [replace(one, number=Undefined(UNEQUALLY_SAMPLED, one.number.n), worst_of=one.worst_of and 0, for_choice=None) for one in found]


def _sum_kinds(table: BalancedCells) -> tuple[IntArray, IntArray]:
    """Records that one of each kind adds to each group [K, groups]; only counterfactuals that cross count."""
    own = np.equal.outer(table.group, np.arange(len(table.groups))).astype(np.int64)
    crossing = table.crossing()
    return own * table.outcome[:, None] + crossing * table.copies_favourable, own + crossing * table.copies_classified


def _add_unseen(table: BalancedCells) -> BalancedCells:
    """Kinds that a group could have had but did not, at a count of zero."""
    unseen = [kind for group in range(len(table.groups)) for kind in _unseen_kinds(table, group)]
    if not unseen:
        return table
    groups, outcomes, favourable, classified = (np.array(column) for column in zip(*unseen, strict=True))
    return replace(
        table,
        group=np.concatenate([table.group, groups]),
        outcome=np.concatenate([table.outcome, outcomes]),
        copies_favourable=np.concatenate([table.copies_favourable, favourable]),
        copies_classified=np.concatenate([table.copies_classified, classified]),
        count=np.concatenate([table.count, np.zeros(len(unseen), np.int64)]),
        weight=None,
    )


def _unseen_kinds(table: BalancedCells, group: int) -> Iterator[tuple[int, int, IntArray, IntArray]]:
    """Yields, for each outcome of a group with records, a kind that keeps it if no record had it, else one that flips or keeps it."""
    mine = (table.group == group) & (table.count > 0)
    if not mine.any():
        return
    copies = table.copies_classified[mine].max(axis=0)
    same = table.copies_favourable == table.copies_classified * table.outcome[:, None]
    kept = same.all(axis=1)
    for outcome in (0, 1):
        having = mine & (table.outcome == outcome)
        if not (having & kept).any():
            yield group, outcome, copies * outcome, copies
        elif copies.any() and not (having & ~kept).any():
            yield group, outcome, copies * (1 - outcome), copies
