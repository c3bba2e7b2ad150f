"""Explanation of one stored figure: formula, counts, interval and limits in words."""

from collections.abc import Iterator
from dataclasses import replace

from ...base.values import frozen, frozen_by_name
from ...database.binary_rows import read_row
from ...domain.check import SIDES, DataSet, Details, Measurement, Scope
from ...statistics.catalogue import CATALOGUE
from ...statistics.intervals.rate_estimates import RESAMPLING_METHOD
from ...statistics.measures.worst_group import mirror_limits
from ...statistics.sentences.figure_sentences import write_limit
from ...statistics.sentences.statements import (
    JudgedFigure,
    describe_choice,
    describe_gap,
    describe_verdict,
    phrase_figure,
)

DATA_WORDS = {
    DataSet.AS_LOGGED: "logged records",
    DataSet.OPENSCALE: "logged records and their perturbed copies, each copy counted as a record",
    DataSet.COUNTERFACTUAL: "logged records, each once on either side: as it is, and as its perturbed "
    "copies are",
    DataSet.LABELLED: "labelled records",
    DataSet.TRAINING: "training data",
    DataSet.MITIGATED: "logged records before and after mitigation",
    DataSet.MITIGATED_LABELLED: "labelled records before and after mitigation",
}

INTERVAL_WORDS = {
    "wilson": "Wilson's score interval of a proportion",
    "newcombe": "Newcombe's hybrid score interval of a difference of two rates",
    "wilson_poisson": "Wilson's interval of a proportion, with a Poisson limit where fewer than 5 records "
    "are on a side",
    "log_ratio": "the log interval of a ratio of two proportions (Katz)",
    "log_ratio_wilson": "Wilson's limits of both proportions, combined on the scale of logarithms (MOVER), "
    "as a count is below 10",
    "log_ratio_adjusted": "the log interval of a ratio (Katz), with half a record added to each count, as "
    "all records of a group are alike",
    RESAMPLING_METHOD: "2,000 resamples of the records, each with all its copies",
    "posterior_moments": "variance and skewness of the shares in each stratum (delta method, Cornish-Fisher)",
    "posterior_draws": "2,000 draws of the chances that the counts come from (multinomial, Jeffreys' prior)",
    "noncentral_chi_square": "limits of the noncentrality of a sum of squares over the groups",
    "posterior_limits": "limits of each group's rate, combined for each two groups (MOVER)",
    "wilson_effective": "Wilson's interval for as many whole records as have the variance of the scores",
    "log_student": "Student's t on the scale of logarithms",
    "delong_wilson": "the variance of the placements (DeLong), with limits as Wilson's",
    "wilson_delta": "Wilson's interval for as many whole records as have the variance of the figure (delta "
    "method)",
    "robins_breslow_greenland": "the variance of Robins, Breslow and Greenland, on the scale of logarithms",
    "wald_logit": "Wald's interval, on the scale of logarithms",
    "newcombe_effective": "Newcombe's interval for as many whole records as have the variance of the scores",
    "newcombe_correlated": "limits of two correlated means, combined (MOVER)",
    "folded_normal": "by search: the error that would give so large a figure by chance",
    "counted": "none: it is what was counted",
    "adjusted_wald_with_neighbours": "an adjusted Wald interval over records and their neighbours",
    "wilson_of_effective_size": "Wilson's interval for as many independent records as the neighbours leave",
    "wald_with_drawn_null": "a Wald interval, next to the one that chance alone would give",
    "paired_ratio": "limits of the ratio of two rates of the same records (Bonett and Price)",
    "paired_difference": "limits of the difference of two rates of the same records (Newcombe)",
}

_COUNT_WORDS = {
    "n": "records",
    "original_n": "records without copies",
    "own_n": "records that have the value themselves",
    "weight": "weight of the records",
    "pairs_both": "pairs of outcomes that are both favourable",
    "pairs_monitored": "pairs favourable on the monitored side only",
    "pairs_reference": "pairs favourable on the reference side only",
    "pairs_neither": "pairs of outcomes that are both unfavourable",
    "p_value": "p-value",
    "chosen_p_value": "p-value for all groups together",
    "p_value_method": "how the p-value was computed",
    "shortfall": "favourable outcomes short of the reference rate",
    "chosen_from": "groups it was chosen from",
}
# Members of details that are no counts.
_NOT_COUNTS = {"formula", "whom", "monitored", "reference", "caution", "homogeneity"}


@frozen
class FigureCount:
    label: str
    value: str | int | float


@frozen_by_name
class Explanation:
    """Words that explain a figure: `convention` says what sign or size mean, `caution` why it may mislead."""

    title: str
    formula: str
    convention: str
    sentence: str
    data: str
    subject: str
    counts: tuple[FigureCount, ...]
    interval: str | None
    limits: str
    statements: tuple[str, ...]
    caution: str | None
    measurement: Measurement


def explain(measurement: Measurement) -> Explanation:
    """Explains a figure. Raises KeyError if the catalogue has no metric of that key."""
    metric = CATALOGUE[measurement.metric]
    details = measurement.details
    group = details.subject or details.monitored or str(measurement.group)
    if (measurement.worst_of or 0) > 1:
        group += ", the monitored group furthest out"
    subject = {
        Scope.GROUP: group,
        Scope.POOLED: "all monitored values together",
        Scope.REFERENCE: "all reference values together",
        Scope.WORST_PAIR: "the two groups furthest apart",
        Scope.ATTRIBUTE: "all groups",
        Scope.OVERALL: "all records",
    }[measurement.scope]
    return Explanation(
        title=metric.title,
        formula=metric.formula if details.formula is None else details.formula,
        convention=metric.convention,
        sentence=describe_measurement(measurement),
        data=DATA_WORDS[measurement.data],
        subject=f"{subject} ({measurement.attribute})" if measurement.attribute else subject,
        counts=tuple(_list_counts(details)),
        interval=None
        if measurement.value is None
        else INTERVAL_WORDS[measurement.interval_method or "counted"],
        limits=describe_limits(measurement),
        statements=list_statements(measurement),
        caution=None if details.caution is None else f"It {details.caution}.",
        measurement=measurement,
    )


def describe_limits(measurement: Measurement) -> str:
    limits = (measurement.lower_limit, measurement.upper_limit)
    if limits == (None, None):
        return "No limit is set."
    lower, upper = limits
    is_one_sided = mirror_limits(CATALOGUE[measurement.metric], limits) != (None, None)
    if upper is None:
        reach = f"from {write_limit(lower)} up"
    elif lower is None:
        reach = f"up to {write_limit(upper)}"
    else:
        reach = f"from {write_limit(lower)} to {write_limit(upper)}"
    return f"Watched {reach} only." if is_one_sided else f"Fair {reach}."


def build_judged_figure(measurement: Measurement) -> JudgedFigure:
    details = measurement.details
    group = measurement.group
    # The details of older measurements do not name their groups.
    details = replace(
        details,
        subject=group if details.subject is None else details.subject,
        monitored=group if details.monitored is None else details.monitored,
    )
    return read_row(
        JudgedFigure,
        measurement,
        scope=measurement.scope.value,
        method=measurement.interval_method,
        limits=(measurement.lower_limit, measurement.upper_limit),
        details=details,
    )


def describe_measurement(measurement: Measurement) -> str:
    """Says the figure in a sentence, also from the side of the reference if that is at a disadvantage."""
    return phrase_figure(build_judged_figure(measurement), measurement.reason)


def list_statements(measurement: Measurement) -> tuple[str, ...]:
    """Lists sentences on whether there is a gap, on its verdict, and on the choice of the group."""
    figure = build_judged_figure(measurement)
    return tuple(filter(None, (describe_gap(figure), describe_verdict(figure), describe_choice(figure))))


def _list_counts(details: Details) -> Iterator[FigureCount]:
    """Lists the counts under their groups: `monitored_favourable` of women is `female: favourable`."""
    for name, value in details.to_json().items():
        if name in _NOT_COUNTS:
            continue
        side = next((side for side in SIDES if name.startswith(f"{side}_")), None)
        noun = name.removeprefix(f"{side}_") if side else name
        fallback = f"weight of {noun.removesuffix('_weight')}" if noun.endswith("_weight") else noun
        label = _COUNT_WORDS.get(noun, fallback).replace("_", " ")
        if side:
            label = f"{details.name_of(side) or f'the {side} group'}: {label}"
        count = ", ".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(count, str | int | float):
            count = str(count)
        yield FigureCount(label, count)
