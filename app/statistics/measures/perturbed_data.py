"""Measures records with their copies, and records before and after mitigation.

As OpenScale measures them, every record and every counterfactual is a row, and rates are resampled by record;
counterfactual figures count every record once on each side.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..group_labels import BoolArray, FloatArray, IntArray, find_positions
from ..intervals.draws import PRIOR, Estimate, TableEvidence, build_cells, build_counted_rate
from ..intervals.rate_estimates import DRAWS, CountedRate, RatePhrases, ResampledRate, resample
from ..intervals.verdicts import Measured, Undefined
from ..tables.count_table import MitigatedLabelledCells
from ..tables.record_kinds import CounterfactualCells, MitigatedCells
from ..tables.strata_counts import Weighting
from .measure import CORRECT_PHRASES, FAVOURABLE_PHRASES, Keys, measure_all
from .paired_rates import PairedRate
from .worst_group import CATALOGUE_LIMITS, AllLimits

UNSEEN_WEIGHT = 1.0
"""Weight of a kind not seen in a group in a second resampling: the rule of three."""

UNEQUALLY_SAMPLED = "the records were sampled at different rates, for which this figure cannot allow"

EVERY_COPY_PHRASES = replace(
    FAVOURABLE_PHRASES,
    zero_reference="perfect equality is zero: "
    "none of {n} reference records, original and synthesised, was favourable",
)
PERFECT_EQUALITY_PHRASES = RatePhrases(
    noun="favourable", empty="no record of the reference group was classified"
)

NO_COUNTERFACTUAL = "no counterfactual of a record{of} was classified"
COUNTERFACTUAL_PHRASES = replace(
    FAVOURABLE_PHRASES,
    zero_reference="the counterfactual reference rate is zero: "
    "none of {n} records is favourable with a reference value",
    no_counterfactual=NO_COUNTERFACTUAL,
)

PRIOR_OF_CHANGES = np.array([[PRIOR, UNSEEN_WEIGHT], [UNSEEN_WEIGHT, PRIOR]])
"""Pseudo-records by outcome before and after; of those that change, the rule of three."""

PRIOR_WITHOUT_CHANGES = np.diag([PRIOR, PRIOR])


def measure_openscale(
    table: CounterfactualCells,
    *,
    seed: int,
    metrics: Keys = None,
    limits: AllLimits = CATALOGUE_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Measures favourable rates, perfect equality and OpenScale's fairness over original and synthesised
    records.

    A group without an original record has no rate, though its counterfactuals count in the pooled ones.
    """
    count, total = _sum_kinds(table)
    with_unseen = _add_unseen(table)
    unseen_world = np.where(with_unseen.count > 0, with_unseen.count, UNSEEN_WEIGHT)
    drawn_count, drawn_total = resample(
        (with_unseen.count, unseen_world), *_sum_kinds(with_unseen), draws=draws, seed=seed
    )
    favourable = ResampledRate(
        phrases=EVERY_COPY_PHRASES,
        weights=table.count,
        count=count,
        total=total,
        original=np.bincount(table.group, table.count, minlength=len(table.groups)).astype(int),
        drawn_count=drawn_count,
        drawn_total=drawn_total,
    )
    # The same resamples, as if the reference alone had been counted.
    is_reference = np.isin(np.arange(len(table.groups)), find_positions(table.groups, "reference"))
    counted = ("count", "total", "original", "drawn_count", "drawn_total")
    reference_sums = {name: getattr(favourable, name) * is_reference for name in counted}
    results = measure_all(
        "openscale",
        TableEvidence(
            groups=table.groups,
            estimates={
                "favourable": favourable,
                "perfect_equality": replace(favourable, phrases=PERFECT_EQUALITY_PHRASES, **reference_sums),
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
            interval_of_choice=None,
        )
        for result in results
    ]


def _sum_kinds(table: CounterfactualCells) -> tuple[IntArray, IntArray]:
    """Records that one of each kind adds to each group [K, groups]; only counterfactuals that cross count."""
    members = np.equal.outer(table.group, np.arange(len(table.groups))).astype(int)
    crossing = table.tabulate_crossing()
    favourable = members * table.outcome[:, None] + crossing * table.copies_favourable
    return favourable, members + crossing * table.copies_classified


def _add_unseen(table: CounterfactualCells) -> CounterfactualCells:
    """Kinds that a group could have had but did not, at a count of zero."""
    unseen = [kind for group in range(len(table.groups)) for kind in _list_unseen_kinds(table, group)]
    if not unseen:
        return table
    names = ("group", "outcome", "copies_favourable", "copies_classified", "count")
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(table, name), added])
        for name, added in zip(names, zip(*unseen, strict=True), strict=True)
    }
    return replace(table, weight=None, **columns)


def _list_unseen_kinds(
    table: CounterfactualCells, group: int
) -> Iterator[tuple[int, int, IntArray, IntArray, int]]:
    """Yields per outcome of a group a kind that keeps it, if no record had one, else one that flips it.

    Each is a group, an outcome, the numbers of favourable and of classified copies, and a count of 0.
    """
    is_of_group = (table.group == group) & (table.count > 0)
    if not is_of_group.any():
        return
    copies = table.copies_classified[is_of_group].max(0)
    keeps_all = (table.copies_favourable == table.copies_classified * table.outcome[:, None]).all(1)
    for outcome in (0, 1):
        with_outcome = is_of_group & (table.outcome == outcome)
        if not (with_outcome & keeps_all).any():
            yield group, outcome, copies * outcome, copies, 0
        elif copies.any() and not (with_outcome & ~keeps_all).any():
            yield group, outcome, copies * (1 - outcome), copies, 0


def measure_counterfactual(
    table: CounterfactualCells, *, metrics: Keys = None, limits: AllLimits = CATALOGUE_LIMITS
) -> list[Measured]:
    """Measures counterfactual favourable rates of one attribute, their comparisons, and flip rates.

    A group without an original record has no counterfactual rate.
    """
    crossing = table.tabulate_crossing()
    to_favourable = (crossing * table.copies_favourable).sum(1) > 0
    to_unfavourable = (crossing * (table.copies_classified - table.copies_favourable)).sum(1) > 0
    gained = to_favourable & (table.outcome == 0)
    lost = to_unfavourable & (table.outcome == 1)
    compared = to_favourable | to_unfavourable
    estimates = {"favourable": estimate_counterfactual_rate(table)}
    for name, kinds in (("flipped", gained | lost), ("gained", gained), ("lost", lost)):
        estimates[name] = _count_share(RatePhrases(name, NO_COUNTERFACTUAL), table, kinds, compared)
    return measure_all(
        "counterfactual", TableEvidence(groups=table.groups, estimates=estimates, limits=limits), metrics
    )


def estimate_counterfactual_rate(table: CounterfactualCells) -> Estimate:
    """Estimates the counterfactual rate, or the one as logged if no record has a counterfactual."""
    if table.copies_classified.any():
        return PairedRate(COUNTERFACTUAL_PHRASES, table)
    return _count_share(FAVOURABLE_PHRASES, table, table.outcome == 1, np.ones(len(table.count), bool))


def _count_share(
    phrases: RatePhrases, table: CounterfactualCells, kinds: BoolArray, of_kinds: BoolArray
) -> CountedRate:
    """Share of the records of `kinds` [K] in those of `of_kinds` [K], which include them."""
    key = (table.group * 2 + kinds)[of_kinds]

    def sum_each(powers: FloatArray | IntArray) -> FloatArray:
        return np.bincount(key, powers[of_kinds], 2 * len(table.groups)).astype(float).reshape(-1, 2)

    weighting = None
    if table.weight is not None:
        weighting = Weighting(sum_each(table.count * table.weight), sum_each(table.count * table.weight**2))
    return build_counted_rate(phrases, sum_each(table.count).astype(int), weighting)


def measure_mitigated(
    table: MitigatedCells,
    *,
    seed: int,
    metrics: Keys = None,
    limits: AllLimits = CATALOGUE_LIMITS,
    draws: int = DRAWS,
) -> list[Measured]:
    """Measures selection rates and disparate impact, as logged and counterfactual, before and after
    mitigation.

    Keys and limits are as in `measure_as_logged`.
    """
    outcomes = table.outcomes
    reference = list(find_positions(table.groups, "reference"))
    total = outcomes.sum((1, 2))
    lifted = outcomes[:, 0, 1]
    lowered = outcomes[:, 1, 0]
    unchanged = outcomes[:, 1, 1]
    estimates = {
        "favourable_before": CountedRate(FAVOURABLE_PHRASES, lowered + unchanged, total),
        "favourable_after": CountedRate(FAVOURABLE_PHRASES, lifted + unchanged, total),
        "counterfactual_before": estimate_counterfactual_rate(table.counterfactual_before),
        "counterfactual_after": estimate_counterfactual_rate(table.counterfactual_after),
    }
    for name, count in (("changed", lifted + lowered), ("lifted", lifted), ("lowered", lowered)):
        estimates[name] = CountedRate(RatePhrases(name, FAVOURABLE_PHRASES.empty), count, total)

    prior = np.tile(PRIOR_OF_CHANGES, (len(table.groups), 1, 1))
    if not outcomes[reference][:, [0, 1], [1, 0]].any():
        prior[reference] = PRIOR_WITHOUT_CHANGES
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
    """Measures accuracy and balanced accuracy before and after mitigation, overall and per group."""
    righted = table.corrections
    labels = table.label_changes
    total = righted.sum((1, 2))
    build = partial(build_cells, weighting=None, seed=seed, draws=draws)
    evidence = TableEvidence(
        groups=table.groups,
        estimates={
            "correct_before": CountedRate(CORRECT_PHRASES, righted[:, 1].sum(-1), total),
            "correct_after": CountedRate(CORRECT_PHRASES, righted[..., 1].sum(-1), total),
        },
        cells={
            "confusion": build(labels.sum(3), tag=0),
            "confusion_after": build(labels.sum(2), tag=4),
            "corrections": build(righted, tag=5, prior=np.broadcast_to(PRIOR_OF_CHANGES, righted.shape)),
            "label_changes": build(labels, tag=6, prior=np.broadcast_to(PRIOR_OF_CHANGES, labels.shape)),
        },
        limits=limits,
    )
    return measure_all("mitigated_labelled", evidence, metrics)
