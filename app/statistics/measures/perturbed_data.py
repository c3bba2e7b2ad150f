"""Records with their copies, before and after mitigation.

As OpenScale measures them, every record and every counterfactual is a row, and rates are resampled by record;
counterfactual figures count every record once on each side. Figures before and after mitigation are of the
same records, so a change is drawn from those that changed and those that did not.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..group_labels import BoolArray, FloatArray, IntArray, of_role
from ..intervals.draws import PRIOR, Estimate, TableEvidence, build_cells, build_counted
from ..intervals.rate_estimates import DRAWS, Counted, Resampled, Words, resample
from ..intervals.verdicts import Measured, Undefined
from ..tables.count_table import MitigatedLabelledCells
from ..tables.record_kinds import CounterfactualCells, MitigatedCells
from ..tables.strata_counts import Weighting
from .measure import CORRECT, FAVOURABLE, Keys, measure_all
from .paired_rates import Paired
from .worst_group import CATALOGUE_LIMITS, AllLimits

UNSEEN = 1.0
"""Weight of a kind not seen in a group in a second resampling: the rule of three.

It may only widen the first: without it a window without flips would give no width; alone, small windows would
lean towards unseen kinds.
"""

UNEQUALLY_SAMPLED = "the records were sampled at different rates, for which this figure cannot allow"

EVERY_COPY = replace(
    FAVOURABLE,
    zero_reference="perfect equality is zero: none of {n} reference records, original and synthesised, was "
    "favourable",
)
PERFECT_EQUALITY = Words(noun="favourable", empty="no record of the reference group was classified")

COUNTERFACTUAL = replace(
    FAVOURABLE,
    zero_reference="the counterfactual reference rate is zero: none of {n} records is favourable with a reference "
    "value",
    no_counterfactual="no counterfactual of a record{of} was classified",
)
UNCOPIED = "no counterfactual of a record{of} was classified"

PAIRED = np.array([[PRIOR, UNSEEN], [UNSEEN, PRIOR]])
"""Pseudo-records by outcome before and after: without a change, the rule of three.

The difference of two numbers drawn with one such record each is within three of zero in 95 of 100 draws.
"""

UNCHANGED = np.diag([PRIOR, PRIOR])


def measure_openscale(
    table: CounterfactualCells,
    *,
    seed: int,
    metrics: Keys = None,
    limits: AllLimits = CATALOGUE_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Favourable rates, perfect equality and OpenScale's fairness over original and synthesised records of
    one attribute.

    The same table and `seed` (not negative) give the same intervals. A group without an original record
    has no rate, though its counterfactuals count in the pooled ones.
    """
    count, total = _sum_kinds(table)
    wider = _add_unseen(table)
    with_unseen = np.where(wider.count > 0, wider.count, UNSEEN)
    drawn_count, drawn_total = resample(
        (wider.count, with_unseen), *_sum_kinds(wider), draws=draws, seed=seed
    )
    favourable = Resampled(
        words=EVERY_COPY,
        weights=table.count,
        count=count,
        total=total,
        original=np.bincount(table.group, table.count, minlength=len(table.groups)).astype(int),
        drawn_count=drawn_count,
        drawn_total=drawn_total,
    )
    # The same resamples, as if the reference alone had been counted.
    is_reference = np.isin(np.arange(len(table.groups)), of_role(table.groups, "reference"))
    counted = ("count", "total", "original", "drawn_count", "drawn_total")
    of_reference = {name: getattr(favourable, name) * is_reference for name in counted}
    results = measure_all(
        "openscale",
        TableEvidence(
            groups=table.groups,
            estimates={
                "favourable": favourable,
                "perfect_equality": replace(favourable, words=PERFECT_EQUALITY, **of_reference),
            },
            unclassified=table.unclassified,
            limits=limits,
        ),
        metrics,
    )
    if not table.has_unequal_weights:
        return results
    # OpenScale's figures count rows, and know no weights.
    return [
        replace(
            result,
            number=Undefined(UNEQUALLY_SAMPLED, result.number.n),
            worst_of=result.worst_of and 0,
            for_choice=None,
        )
        for result in results
    ]


def _sum_kinds(table: CounterfactualCells) -> tuple[IntArray, IntArray]:
    """Records that one of each kind adds to each group [K, groups]; only counterfactuals that cross count."""
    members = np.equal.outer(table.group, np.arange(len(table.groups))).astype(int)
    crossing = table.crossing()
    return members * table.outcome[
        :, None
    ] + crossing * table.copies_favourable, members + crossing * table.copies_classified


def _add_unseen(table: CounterfactualCells) -> CounterfactualCells:
    """Kinds that a group could have had but did not, at a count of zero."""
    unseen = [kind for group in range(len(table.groups)) for kind in _unseen_kinds(table, group)]
    if not unseen:
        return table
    names = ("group", "outcome", "copies_favourable", "copies_classified", "count")
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(table, name), added])
        for name, added in zip(names, zip(*unseen, strict=True), strict=True)
    }
    return replace(table, weight=None, **columns)


def _unseen_kinds(
    table: CounterfactualCells, group: int
) -> Iterator[tuple[int, int, IntArray, IntArray, int]]:
    """Per outcome of a group, a kind that keeps it if no record had it, else one that flips or keeps it."""
    mine = (table.group == group) & (table.count > 0)
    if not mine.any():
        return
    copies = table.copies_classified[mine].max(0)
    keeps = table.copies_favourable == table.copies_classified * table.outcome[:, None]
    keeps_all = keeps.all(1)
    for outcome in (0, 1):
        having = mine & (table.outcome == outcome)
        if not (having & keeps_all).any():
            yield group, outcome, copies * outcome, copies, 0
        elif copies.any() and not (having & ~keeps_all).any():
            yield group, outcome, copies * (1 - outcome), copies, 0


def measure_counterfactual(
    table: CounterfactualCells, *, metrics: Keys = None, limits: AllLimits = CATALOGUE_LIMITS
) -> list[Measured]:
    """Counterfactual favourable rates of one attribute, their comparisons, and flip rates.

    The worst value is chosen by `limits` (default: the catalogue's). A group without an original record
    has no counterfactual rate.
    """
    crossing = table.crossing()
    to_favourable = (crossing * table.copies_favourable).sum(1) > 0
    to_unfavourable = (crossing * (table.copies_classified - table.copies_favourable)).sum(1) > 0
    gained = to_favourable & (table.outcome == 0)
    lost = to_unfavourable & (table.outcome == 1)
    compared = to_favourable | to_unfavourable
    estimates = {"favourable": counterfactual_rate(table)}
    for name, kinds in (("flipped", gained | lost), ("gained", gained), ("lost", lost)):
        estimates[name] = _count_share(Words(name, UNCOPIED), table, kinds, compared)
    return measure_all(
        "counterfactual", TableEvidence(groups=table.groups, estimates=estimates, limits=limits), metrics
    )


def counterfactual_rate(table: CounterfactualCells) -> Estimate:
    """Counterfactual favourable rate; that as logged where no record has a counterfactual."""
    if table.copies_classified.any():
        return Paired(COUNTERFACTUAL, table)
    return _count_share(FAVOURABLE, table, table.outcome == 1, np.ones(len(table.count), bool))


def _count_share(
    phrases: Words, table: CounterfactualCells, kinds: BoolArray, of_kinds: BoolArray
) -> Counted:
    """Share of `kinds` [K], some of `of_kinds`, in these."""
    key = (table.group * 2 + kinds)[of_kinds]

    def sum_each(powers: FloatArray | IntArray) -> FloatArray:
        return np.bincount(key, powers[of_kinds], 2 * len(table.groups)).astype(float).reshape(-1, 2)

    weighting = None
    if table.weight is not None:
        weighting = Weighting(sum_each(table.count * table.weight), sum_each(table.count * table.weight**2))
    return build_counted(phrases, sum_each(table.count).astype(int), weighting)


def measure_mitigated(
    table: MitigatedCells,
    *,
    seed: int,
    metrics: Keys = None,
    limits: AllLimits = CATALOGUE_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Selection rates and disparate impact before and after, as logged and counterfactual, and the changes.

    Keys and limits are as in `measure_as_logged`. The same table and `seed` (not negative) give the same
    intervals; those before mitigation equal the logged and counterfactual ones.
    """
    outcomes = table.outcomes
    reference = list(of_role(table.groups, "reference"))
    total = outcomes.sum((1, 2))
    lifted = outcomes[:, 0, 1]
    lowered = outcomes[:, 1, 0]
    unchanged = outcomes[:, 1, 1]
    estimates = {
        "favourable_before": Counted(FAVOURABLE, lowered + unchanged, total),
        "favourable_after": Counted(FAVOURABLE, lifted + unchanged, total),
        "counterfactual_before": counterfactual_rate(table.counterfactual_before),
        "counterfactual_after": counterfactual_rate(table.counterfactual_after),
    }
    for name, count in (("changed", lifted + lowered), ("lifted", lifted), ("lowered", lowered)):
        estimates[name] = Counted(Words(name, FAVOURABLE.empty), count, total)

    prior = np.tile(PAIRED, (len(table.groups), 1, 1))
    if not outcomes[reference][:, [0, 1], [1, 0]].any():
        prior[reference] = UNCHANGED
    evidence = TableEvidence(
        groups=table.groups,
        estimates=estimates,
        cells={"changes": build_cells(outcomes, None, seed=seed, draws=draws, tag=3, prior=prior)},
        limits=limits,
    )
    return measure_all("mitigated", evidence, metrics)


def measure_mitigated_labelled(
    table: MitigatedLabelledCells,
    *,
    seed: int,
    metrics: Keys = None,
    limits: AllLimits = CATALOGUE_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Accuracy and balanced accuracy before and after, overall and per group.

    `metrics` picks by key (None: all). The same table and `seed` (not negative) give the same intervals.
    """
    corrections = table.corrections
    labels = table.label_changes
    total = corrections.sum((1, 2))
    build = partial(build_cells, weighting=None, seed=seed, draws=draws)
    evidence = TableEvidence(
        groups=table.groups,
        estimates={
            "correct_before": Counted(CORRECT, corrections[:, 1].sum(-1), total),
            "correct_after": Counted(CORRECT, corrections[..., 1].sum(-1), total),
        },
        cells={
            "confusion": build(labels.sum(3), tag=0),
            "confusion_after": build(labels.sum(2), tag=4),
            "corrections": build(corrections, tag=5, prior=np.broadcast_to(PAIRED, corrections.shape)),
            "label_changes": build(labels, tag=6, prior=np.broadcast_to(PAIRED, labels.shape)),
        },
        limits=limits,
    )
    return measure_all("mitigated_labelled", evidence, metrics)
