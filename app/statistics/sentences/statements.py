"""Statements about a judged figure, from the stored numbers alone."""

import math
from collections.abc import Hashable, Sequence

from ...base.values import frozen_by_name
from ...domain.check import Details, Side
from ..catalogue import CATALOGUE
from ..catalogue.metric import Metric, PairFigure, RateComparison, StrataFigure
from ..intervals.intervals import Ends
from ..intervals.verdicts import (
    MINIMUM_GROUP_SIZE,
    NO_LIMITS,
    ON_FAIRNESS,
    Limits,
    Verdict,
    is_at_least,
    is_at_most,
    is_inside,
)
from ..measures.worst_group import Disadvantaged, find_disadvantaged, invert_ratio, is_ratio, mirror_limits
from .figure_sentences import (
    count_digits,
    format_figure,
    say_how_often,
    write_limit,
    write_limits,
    write_minus,
    write_sentence,
)

NO_VERDICT = "No verdict: no limit is set for this figure."
NOT_ITS_OWN = "No verdict: the model gives other answers to the same record."
FEW_RECORDS = f"No verdict: a group that is compared has fewer than {MINIMUM_GROUP_SIZE} records."
NO_NUMBER = "No verdict: the figure cannot be computed."

UNBADGED = (
    "Of two figures that compare the same two rates, the first in the catalogue judges; the other "
    "has no verdict here."
)

SIGNIFICANCE_LEVEL = 0.05
"""P-values below it say that a gap is more than chance, as 95 % intervals do."""

_POSITIONS = {metric: position for position, metric in enumerate(CATALOGUE)}
_MIN_P_VALUE = 0.0001
_MAX_P_DIGITS = 4
_MIN_DIGITS = 2
_EXACT_METHOD = "counted"

_FAVOURABLE_RATES = frozenset(
    {"favourable", "favourable_before", "favourable_after", "counterfactual_before", "counterfactual_after"}
)
"""Rates whose ratio says how many times as often a group gets the favourable outcome."""


@frozen_by_name
class JudgedFigure:
    """Stored figure with its 95 % interval (an end of None is unbounded), limits and verdict.

    `method` is None without a number. `worst_of` counts the groups among which this one is furthest out; the
    chosen ends allow for that choice.
    """

    metric: str
    scope: str
    value: float | None
    lower: float | None
    upper: float | None
    method: str | None
    limits: Limits
    verdict: str | None
    data: str = ""
    attribute: str | None = None
    worst_of: int | None = None
    chosen_lower: float | None = None
    chosen_upper: float | None = None
    details: Details

    @property
    def row(self) -> Metric:
        return CATALOGUE[self.metric]

    @property
    def mirror(self) -> Limits:
        """Mirror image of a lone limit."""
        return mirror_limits(self.row, self.limits)

    @property
    def interval_of_choice(self) -> Ends | None:
        """Ends that allow for the choice; None without a choice, and where release 0.1 stored it."""
        ends = (self.chosen_lower, self.chosen_upper)
        return None if ends == (None, None) else ends

    @property
    def excludes_equality(self) -> bool:
        lower, upper = self.interval_of_choice or (self.lower, self.upper)
        equal = self.row.ideal
        return equal is not None and (
            (lower is not None and lower > equal) or (upper is not None and upper < equal)
        )

    @property
    def disadvantaged(self) -> Disadvantaged | None:
        return find_disadvantaged(self.row, self.value, self.limits, self.verdict)

    @property
    def disadvantaged_group(self) -> str | None:
        role = self.disadvantaged
        if role in (None, Disadvantaged.NOBODY):
            return None
        return self.named("monitored" if role is Disadvantaged.MONITORED else "reference")

    def named(self, side: Side) -> str:
        return self.details.name_of(side) or f"the {side} group"


def describe_other_side(figure: JudgedFigure) -> str | None:
    """Says that the reference is at a disadvantage, of favourable rates with their ratio; else None."""
    if figure.disadvantaged is not Disadvantaged.REFERENCE:
        return None
    comparison = figure.row.measure
    if (
        is_ratio(figure.row)
        and isinstance(comparison, RateComparison)
        and comparison.rate in _FAVOURABLE_RATES
    ):
        return _describe_inverted(figure)
    chance = "" if figure.excludes_equality else ", unless it is chance"
    return f"At a disadvantage{chance}: {_name_reference(figure)}."


def describe_gap(figure: JudgedFigure) -> str | None:
    """Says whether there is a gap, by the p-value and by whether the interval holds equality.

    None without a number, with too few records, without two compared groups, and for an exact count. Where
    both disagree, both are reported and nothing is concluded.
    """
    # A figure across all groups is above zero by chance alone, and so is its interval.
    is_comparison = (
        isinstance(figure.row.measure, RateComparison | PairFigure | StrataFigure)
        and figure.row.ideal is not None
    )
    is_tested = figure.verdict != Verdict.INSUFFICIENT_DATA and figure.method not in (None, _EXACT_METHOD)
    is_chosen = (figure.worst_of or 1) > 1
    if (
        figure.value is None
        or not is_tested
        or not is_comparison
        or (is_chosen and not figure.interval_of_choice)
    ):
        return None
    pooled = " pooled" if isinstance(figure.row.measure, StrataFigure) else ""
    if figure.value == figure.row.ideal:
        return f"There is no{pooled} gap in these records."
    larger = f"The{pooled} gap is larger than chance explains"
    chance = f"The{pooled} gap may be chance"
    is_excluded = figure.excludes_equality
    p_alone = figure.details.p_value
    p_together = figure.details.chosen_p_value
    for_groups = " for all groups together" if figure.interval_of_choice else ""
    verb = "excludes" if is_excluded else "includes"
    interval_finding = f"the 95 % interval{for_groups} {verb} {write_limit(figure.row.ideal)}"
    if p_alone is None:
        return f"{larger if is_excluded else chance}: {interval_finding}."
    p_value = p_alone if p_together is None else p_together
    p_values = (
        format_p(p_value)
        if p_together is None
        else f"{format_p(p_together)}{for_groups}, {format_p(p_alone)} alone"
    )
    if is_excluded == (p_value < SIGNIFICANCE_LEVEL):
        return f"{larger if is_excluded else chance} ({p_values})."
    speaks = "leaves room for chance" if is_excluded else "speaks against it"
    return f"Whether the gap is chance is a close call: {p_values} {speaks}, but {interval_finding}."


def describe_strata(details: Details) -> str | None:
    """Says whether the odds ratios of the strata differ; None if this was not tested."""
    tested = details.homogeneity
    if tested is None:
        return None
    p_value = format_p(tested["p_value_for_choice"])
    if tested["p_value_for_choice"] >= SIGNIFICANCE_LEVEL:
        return f"There is no sign that the strata differ (Breslow–Day {p_value})."
    odds = sorted(tested["odds_ratios"].items(), key=lambda stratum_odds: float(stratum_odds[1]))
    extremes = " to ".join(f"{value:.2f} ({name})" for name, value in odds)
    return (
        f"The strata differ more than chance explains (Breslow–Day {p_value}): odds ratios from {extremes}."
    )


def describe_verdict(figure: JudgedFigure) -> str:
    match figure.verdict:
        case Verdict.NOT_COMPUTABLE:
            return NO_NUMBER
        case Verdict.INSUFFICIENT_DATA:
            return FEW_RECORDS
        case Verdict.FAIR | Verdict.UNDECIDED | Verdict.UNWATCHED if figure.value is not None:
            is_watched = is_inside(figure.value, figure.mirror)
            return _describe_inside(figure) if is_watched else _describe_unwatched(figure, figure.value)
        case Verdict.SUSPECTED | Verdict.UNFAIR if figure.value is not None:
            return _describe_beyond(figure, figure.value)
        case _:
            return NO_VERDICT if "repeats" not in figure.details.counts else NOT_ITS_OWN


def find_unbadged(figures: Sequence[JudgedFigure]) -> set[int]:
    """Positions of figures that compare the same two rates as a metric earlier in the catalogue."""
    judging = dict[Hashable, str]()
    unbadged = set()
    for index, judged in sorted(enumerate(figures), key=lambda numbered: _POSITIONS[numbered[1].metric]):
        comparison = judged.row.measure
        sides = judged.details
        if isinstance(comparison, RateComparison) and judged.verdict in ON_FAIRNESS:
            rates = (
                comparison.rate,
                judged.data,
                judged.attribute,
                judged.scope,
                sides.monitored,
                sides.reference,
            )
            if judging.setdefault(rates, judged.metric) != judged.metric:
                unbadged.add(index)
    return unbadged


def describe_choice(figure: JudgedFigure) -> str | None:
    """Says among how many groups a figure was chosen, and why it; None if it was not chosen."""
    groups = figure.worst_of
    if figure.value is None or groups is None or groups < 2:  # noqa: PLR2004 - a choice
        return None
    if figure.verdict == Verdict.INSUFFICIENT_DATA:
        return f"It is one of {groups} monitored groups, all of them with too few records."
    if figure.limits == NO_LIMITS:
        position = "furthest from equality"
    elif not is_inside(figure.value, figure.limits):
        position = "furthest beyond its limits"
    elif not is_inside(figure.value, figure.mirror):
        position = "furthest beyond the mirror image of the limit"
    else:
        position = "nearest to a limit"
    few = f"groups of fewer than {MINIMUM_GROUP_SIZE} records count only if there are no larger ones"
    lead = f"Of {groups} monitored groups it lies {position}; {few}."
    if not figure.interval_of_choice:
        return lead
    return (
        f"{lead} Allowing for the choice, its interval is "
        f"{format_figure(figure.value, *figure.interval_of_choice).interval}."
    )


def phrase_figure(figure: JudgedFigure, reason: str | None = None) -> str:
    """Says the figure and, if there is something to say, its other side and strata.

    `reason` says why there is no number.
    """
    ends = {"lower": figure.lower, "upper": figure.upper}
    statement = write_sentence(
        figure.metric, value=figure.value, **ends, reason=reason, details=figure.details
    )
    return " ".join(
        sentence
        for sentence in (statement, describe_other_side(figure), describe_strata(figure.details))
        if sentence
    )


def _describe_inside(figure: JudgedFigure) -> str:
    lower, upper = figure.limits
    name = "the limit" if None in figure.limits else "the limits"
    if figure.mirror != (None, None):
        name = "the one limit that is set"
    lead = f"It is inside {name} ({write_limits(figure.limits)})"
    if figure.verdict == Verdict.FAIR:
        return f"{lead}{_judge_whole(figure)}."
    below = lower is not None and (figure.lower is None or not is_at_least(figure.lower, lower))
    above = upper is not None and (figure.upper is None or not is_at_most(figure.upper, upper))
    ends = [_describe_end(figure, figure.lower, lower)] if below else []
    ends += [_describe_end(figure, figure.upper, upper)] if above else []
    limit = "either limit" if below and above else f"the limit of {write_limit(lower if below else upper)}"
    return f"{lead}, but its interval {' and '.join(ends)}, so a value beyond {limit} is not ruled out."


def _describe_beyond(figure: JudgedFigure, value: float) -> str:
    is_below = not is_at_least(value, figure.limits[0])
    limit = figure.limits[0 if is_below else 1]
    if figure.verdict == Verdict.SUSPECTED:
        among = ", which allows for the choice among several groups," if figure.interval_of_choice else ""
        end = (figure.interval_of_choice or (figure.lower, figure.upper))[1 if is_below else 0]
        uncertain = f"Whether it is beyond the limit of {write_limit(limit)} is not certain"
        return f"{uncertain}: its interval{among} {_describe_end(figure, end, limit)}."
    return (
        f"It is beyond the limit of {write_limit(limit)}{_show_exactly(figure, value)}{_judge_whole(figure)}."
    )


def _judge_whole(figure: JudgedFigure) -> str:
    if figure.row.is_judged_by_value:
        return ", by its value alone, as OpenScale judges"
    return "" if figure.method in (None, _EXACT_METHOD) else ", and so is its whole interval"


def _describe_unwatched(figure: JudgedFigure, value: float) -> str:
    mirror = figure.mirror
    limit, end = (mirror[0], figure.upper) if mirror[0] is not None else (mirror[1], figure.lower)
    is_whole = end is not None and not is_inside(end, mirror)
    lead = (
        f"It is inside the one limit that is set ({write_limits(figure.limits)}), "
        f"but beyond its mirror image, {write_limit(limit)}"
    )
    addition = ""
    if figure.method not in (None, _EXACT_METHOD):
        reach = _describe_end(figure, end, limit)
        addition = " Its whole interval is beyond that, too." if is_whole else f" Its interval {reach}."
    return f"{lead}{_show_exactly(figure, value)}: no limit is set on that side.{addition}"


def _describe_inverted(figure: JudgedFigure) -> str | None:
    inverted = None if figure.value is None else invert_ratio(figure.value, figure.lower, figure.upper)
    if not inverted:
        return None
    marks = [mark for limit in (*figure.limits, *figure.mirror) if limit for mark in (limit, 1 / limit)]
    ends = (inverted.lower, inverted.upper)
    digits = max(
        count_digits(number, (0.0, 1.0, *marks), _MIN_DIGITS)
        for number in (inverted.value, *ends)
        if number is not None
    )
    low, high = (None if end is None else f"{end:.{digits}f}" for end in ends)
    interval = f"95 %: {low} {'and more' if high is None else f'to {high}'}"
    often = f"{say_how_often(inverted.value)} {figure.named('monitored')}"
    ratio = f"a ratio of {inverted.value:.{digits}f} ({interval})"
    return f"{_name_reference(figure)} gets the favourable outcome {often}: {ratio}."


def _name_reference(figure: JudgedFigure) -> str:
    name = figure.named("reference")
    return name if figure.scope == "worst_pair" or "reference" in name else f"{name} (reference)"


def _describe_end(figure: JudgedFigure, end: float | None, limit: float | None) -> str:
    """Says where an end lies, with more decimals than the figure if only those show the side of the limit."""
    if end is None:
        return f"has no {'lower' if figure.lower is None else 'upper'} end"
    least = (
        _MIN_DIGITS
        if figure.value is None
        else format_figure(figure.value, figure.lower, figure.upper).decimals
    )
    return f"reaches {write_minus(f'{end:.{count_digits(end, (limit, figure.row.ideal), least)}f}')}"


def _show_exactly(figure: JudgedFigure, value: float) -> str:
    digits = count_digits(value, (*figure.limits, *figure.mirror), _MIN_DIGITS)
    return "" if digits <= _MIN_DIGITS else f" (at {write_minus(f'{value:.{digits}f}')})"


def format_p(p_value: float) -> str:
    """Writes a p-value with at most four decimals, as many as show whether it is significant."""
    if p_value < _MIN_P_VALUE:
        return f"p < {_MIN_P_VALUE:.4f}"
    counted_digits = min(_MAX_P_DIGITS, 1 - math.floor(math.log10(p_value)))
    digits = max(counted_digits, count_digits(p_value, (SIGNIFICANCE_LEVEL,), _MIN_DIGITS))
    return f"p = {p_value:.{digits}f}"
