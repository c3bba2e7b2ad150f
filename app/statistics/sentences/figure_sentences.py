"""A plain sentence for each measurement, and numbers in sentences."""

import math
from collections.abc import Iterable, Sequence

from ...base.values import frozen, frozen_by_name
from ...domain.check import SIDES, Counts, Details, Side
from ..catalogue import CATALOGUE, Metric
from ..catalogue.metric import CountFigure, RateComparison, RateFigure
from ..intervals.intervals import MAX_LOGARITHM, Ends
from ..intervals.rate_estimates import PARTS, RATES, REVERSED_DIFFERENCE
from ..intervals.verdicts import MINIMUM_GROUP_SIZE, TOLERANCE, Limits
from ..measures.label_states import describe_labels

MINUS = "\u2212"

MAX_DIGITS = 6
"""Digits after the point of a number that must show its side of a limit."""

MAX_GAP_DIGITS = 2
"""Digits after the point of two percentages and their gap."""

MIN_WRITTEN_SIZE = 1e-9
"""Smaller numbers are written as less than this."""

MIN_SHARE = 0.0005
"""Smaller shares are written as fewer than 0.1 of a hundred."""

MAX_DECIMAL_SHARE = 0.1
"""Shares below get a decimal: of every 100 records 0.4, not 0."""

_MAX_DECIMALS = 9

_MAX_ADDED_DECIMALS = 3
"""Further decimals than the figure's, so that no end is rounded onto an exact number."""

_EXACT_NUMBERS = (-1.0, 0.0, 1.0)

_PHRASES = {
    **{name: (PARTS[rate.of_part].among, rate.are) for name, rate in RATES.items()},
    "favourable": ("records{of}", "were predicted favourable"),
    "correct": ("labelled records{of}", "were predicted right"),
    "perfect_equality": ("reference records, original and synthesised", "were predicted favourable"),
    "flipped": ("records{of}", "change their outcome when the attribute alone is changed"),
    "gained": ("records{of}", "would turn favourable if the attribute alone were changed"),
    "lost": ("records{of}", "would turn unfavourable if the attribute alone were changed"),
    "favourable_before": ("records{of}", "were predicted favourable before mitigation"),
    "favourable_after": ("records{of}", "are favourable after mitigation"),
    "counterfactual_before": ("records{of}", "were predicted favourable before mitigation"),
    "counterfactual_after": ("records{of}", "are favourable after mitigation"),
    "changed": ("records{of}", "have another outcome after mitigation"),
    "lifted": ("records{of}", "turn favourable by mitigation"),
    "lowered": ("records{of}", "turn unfavourable by mitigation"),
    "correct_before": ("labelled records{of}", "were predicted right before mitigation"),
    "correct_after": ("labelled records{of}", "are right after mitigation"),
}
"""Records of which each rate counts so many in a hundred, and the verb phrase of the counted."""

_COUNT_NAMES = {
    **{name: rate.counted for name, rate in RATES.items()},
    **dict.fromkeys(
        ("favourable_before", "favourable_after", "counterfactual_before", "counterfactual_after"),
        "favourable",
    ),
}


@frozen
class RoundedGap:
    """Two numbers and their difference, which agree in so many digits."""

    first: float
    second: float
    gap: float
    digits: int


def round_gap(first: float, second: float) -> RoundedGap:
    """Rounds two percentages and their gap to the fewest digits, at least one, at which they agree: 35.94 and
    80.56 are -44.62 apart, but -44.6 is not 35.9 less 80.6.

    With `MAX_GAP_DIGITS` digits the gap is that of the rounded numbers.
    """
    for digits in range(1, MAX_GAP_DIGITS):
        rounded_first, rounded_second, gap = (
            round(number, digits) for number in (first, second, first - second)
        )
        if round(rounded_first - rounded_second, digits) == gap:
            return RoundedGap(rounded_first, rounded_second, gap, digits)
    rounded_first = round(first, MAX_GAP_DIGITS)
    rounded_second = round(second, MAX_GAP_DIGITS)
    return RoundedGap(
        rounded_first, rounded_second, round(rounded_first - rounded_second, MAX_GAP_DIGITS), MAX_GAP_DIGITS
    )


def write_minus(text: str) -> str:
    """Replaces Python's hyphen, at which lines break."""
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text


def say_how_often(ratio: float) -> str:
    """Writes `53 % less often than`, for a ratio of rates."""
    percent = round(100 * abs(1 - ratio))
    if not percent:
        return "as often as" if ratio == 1 else "about as often as"
    return f"{percent:,} % {'less' if ratio < 1 else 'more'} often than"


def say_of_100(rate: float, reference_rate: float) -> str:
    """Writes `(40 against 84 of 100)`."""
    return f"({say_percent(rate)} against {say_percent(reference_rate)} of 100)"


def say_percent(rate: float) -> str:
    """Writes a rate in per cent without the sign, below 10 with a decimal."""
    percent = 100 * rate
    return f"{percent:.0f}" if percent >= 10 or not percent else f"{percent:.1f}"  # noqa: PLR2004 - as above


def choose_joint(lower: float) -> str:
    """Joint of a range: a dash, or " to " before a minus sign."""
    return " to " if lower < 0 else "–"


def count_digits(number: float, marks: Iterable[float | None], least: int) -> int:
    """Digits after the point, from `least` to `MAX_DIGITS`, that show the side of each mark."""
    other_marks = [
        mark
        for mark in marks
        if mark is not None and not math.isclose(number, mark, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    ]
    for digits in range(least, MAX_DIGITS):
        rounded = round(number, digits)
        if all((rounded < mark, rounded > mark) == (number < mark, number > mark) for mark in other_marks):
            return digits
    return MAX_DIGITS


@frozen_by_name
class FigureText:
    """Figure and the ends of its interval in equally many decimals; an unbounded end is `open`."""

    value: str
    lower: str
    upper: str
    decimals: int

    @property
    def interval(self) -> str:
        """As `0.047 to 0.203`, or `0.990 to open`."""
        return f"{self.lower} to {self.upper}"


def format_figure(value: float, lower: float | None, upper: float | None) -> FigureText:
    """Writes three significant digits of the figure, and the same decimals at both ends.

    Nothing is rounded onto 0 or 1: there are more decimals, or `less than` or `more than`.
    """
    decimals = _count_decimals(value, [end for end in (lower, upper) if end is not None])
    low, high = ("open" if end is None else format_to(end, decimals) for end in (lower, upper))
    return FigureText(value=format_to(value, decimals), lower=low, upper=high, decimals=decimals)


def format_to(value: float, decimals: int) -> str:
    """Writes so many decimals; `less than` or `more than` where a number would wrongly appear as 0 or 1."""
    rounded = round(value, decimals)
    if rounded == 0 and value != 0:
        return f"{MINUS if value < 0 else ''}less than {10**-decimals:.{decimals}f}"
    if abs(rounded) == 1 and value != rounded:
        return f"{'less' if value < rounded else 'more'} than {write_minus(f'{rounded:.{decimals}f}')}"
    # Python writes -0.0 with its sign.
    return write_minus(f"{value or 0.0:,.{decimals}f}")


def format_number(value: float) -> str:
    """Writes three significant digits, without exponents; never rounded to 0, nor from below to 1."""
    if 0 < abs(value) < MIN_WRITTEN_SIZE:
        return f"{MINUS if value < 0 else ''}less than {MIN_WRITTEN_SIZE:.9f}"
    decimals = 0 if float(value).is_integer() else _count_least_decimals(abs(value))
    return write_minus(f"{value:,.{decimals}f}")


def _count_decimals(value: float, ends: Sequence[float]) -> int:
    """Fewest decimals that round neither the value nor an end onto -1, 0 or 1; none for whole numbers."""
    if all(float(number).is_integer() for number in (value, *ends)):
        return 0
    least = _count_least_decimals(abs(value))
    greatest = min(_MAX_DECIMALS, least + _MAX_ADDED_DECIMALS)
    for decimals in range(least, greatest):
        if all(
            number in _EXACT_NUMBERS or round(number, decimals) not in _EXACT_NUMBERS
            for number in (value, *ends)
        ):
            return decimals
    return greatest


def _count_least_decimals(size: float) -> int:
    """Decimals of three significant digits, below 1 as many as show the distance from 0 and 1."""
    if size >= 1:
        return 1 if size >= 100 else 2  # noqa: PLR2004 - three digits
    if not size:
        return 3
    nearest = min(size, 1 - size)
    return _MAX_DECIMALS if nearest < MIN_WRITTEN_SIZE else 2 - math.floor(math.log10(nearest))


def write_sentence(
    metric: str,
    *,
    value: float | None,
    lower: float | None = None,
    upper: float | None = None,
    reason: str | None = None,
    details: Details | None = None,
) -> str:
    """Writes one sentence on a figure. `reason` says why there is no value; `details` are the measurement's.

    Raises:
        KeyError: no metric of that key.
    """
    definition = CATALOGUE[metric]
    details = details or Details()
    if value is None:
        return f"{definition.title} cannot be computed: {reason or 'no reason is known'}."
    sentence = _describe_value(definition, value, (lower, upper), details)
    if details.labels is not None:
        mark, label_caution = describe_labels(details.labels)
        sentence = f"{sentence.removesuffix('.')}{mark}.{label_caution}"
    if details.caution is not None:
        sentence += f" Caution: it {details.caution}."
    large_groups_value = details.value_without_small_groups
    if large_groups_value is not None:
        small = "the one group" if details.small_groups == 1 else f"the {details.small_groups} groups"
        records = f"{details.records_of_small_groups} in all"
        sentence += (
            f" Without {small} of fewer than {MINIMUM_GROUP_SIZE} records ({records}) "
            f"its value is {format_number(large_groups_value)}."
        )
    return sentence


def _describe_value(metric: Metric, value: float, ends: Ends, details: Details) -> str:
    of_subject = _format_subject(details.subject)
    match metric.measure:
        case RateFigure(rate):
            among, are = _find_phrases(rate, details)
            hundred, *limits = _format_hundreds(value, *ends)
            if "own_n" in details.counts:
                return (
                    f"Of every 100 compared records, {hundred} {are} as {details.subject} (95 %: "
                    f"{' to '.join(limits)})."
                )
            return (
                f"Of every 100 {among.format(of=of_subject)}, {hundred} {are} (95 %: {' to '.join(limits)})."
            )
        case CountFigure(counted_part):
            counted = PARTS[counted_part].among.format(of=of_subject)
            count, low, high = _format_count(value, *ends)
            return f"{count} {counted} (95 %: {low} to {high})."
        case RateComparison() as comparison:
            return _describe_comparison(comparison, value, ends, details)
        case _:
            figure = format_figure(value, *ends)
            lead = _fill_template(metric, value, figure, details).removesuffix(".")
            if value == 0 and metric.disadvantage is not None:
                lead = (
                    f"By this figure {_name_side('monitored', details)} and "
                    f"{_name_side('reference', details)} are equal"
                )
            return f"{lead} (value {figure.value}, 95 %: {figure.interval})."


def _describe_comparison(comparison: RateComparison, value: float, ends: Ends, details: Details) -> str:
    among, are = _find_phrases(comparison.rate, details)
    shares = [
        share for side in SIDES if (share := find_share(comparison.rate, details.counts_of(side))) is not None
    ]
    # Whatever the sign convention, the sentence is about the monitored group.
    sign = -1 if comparison.by is REVERSED_DIFFERENCE else 1
    gap = None if comparison.by.divides else _round_gap(sign * value, shares)
    counts = [_format_hundred(share, gap.digits) for share in shares] if gap else _format_hundreds(*shares)
    names = [_name_side(side, details) for side in SIDES]
    lead = ""
    if len(counts) > 1 and "own_n" in details.monitored_counts:
        lead = (
            f"Of every 100 records of {names[0]} and {names[1]}, {counts[0]} {are} as {names[0]}, "
            f"{counts[1]} as {names[1]}: "
        )
    elif len(counts) > 1:
        lead = (
            f"Of every 100 {among.format(of=_format_subject(names[0]))}, {counts[0]} {are}; of every 100 "
            f"of {names[1]}, {counts[1]}: "
        )
    if comparison.by.divides:
        figure = format_figure(value, *ends)
        return f"{lead}a ratio of {figure.value} (95 %: {figure.interval})."
    low, high = (None if end is None else sign * end for end in ends[::sign])
    shown_gap = gap.gap / 100 if gap and gap.digits >= MAX_GAP_DIGITS else sign * value
    digits = gap.digits if gap else 1
    points, lowest, highest = (_format_points(difference, digits) for difference in (shown_gap, low, high))
    return f"{lead}{points} (95 %: {lowest} to {highest})."


def _find_phrases(rate: str, details: Details) -> tuple[str, str]:
    among, are = _PHRASES[rate]
    if rate == "favourable" and "original_n" in {*details.counts, *details.monitored_counts}:
        return "records{of}, original and synthesised", are
    return among, are


def _round_gap(gap: float, shares: Sequence[float]) -> RoundedGap | None:
    if len(shares) != len(SIDES) or not math.isclose(shares[0] - shares[1], gap, abs_tol=TOLERANCE):
        return None
    return round_gap(100 * shares[0], 100 * shares[1])


def _format_points(difference: float | None, digits: int) -> str:
    if difference is None:
        return "open"
    if difference == 0:
        return "no difference"
    points = f"{100 * abs(difference):.{digits}f}" if abs(difference) >= MIN_SHARE else "fewer than 0.1"
    return f"{points} percentage points {'less' if difference < 0 else 'more'}"


def find_share(rate: str, counts: Counts) -> float | None:
    """Share that a rate has by counts, by weight if they have weights; None without records."""
    for noun in (_COUNT_NAMES.get(rate, rate), rate):
        for counted, total_name in ((f"{noun}_weight", "weight"), (noun, "n")):
            count = counts.get(counted)
            total = counts.get(total_name)
            if count is not None and total is not None and total > 0:
                return count / total
    return None


def _name_side(side: Side, details: Details) -> str:
    name = details.name_of(side)
    return f"the {side} group" if name is None else name


def _fill_template(metric: Metric, value: float, figure: FigureText, details: Details) -> str:
    size = abs(value)
    moved_points = "almost 0" if size else "0"
    if size >= MIN_SHARE:
        moved_points = write_minus(f"{100 * value:+.1f}")
    across = None if details.groups is None else f"{details.groups} groups with labelled records"
    return metric.says.format(
        shown=figure.value,
        distance=format_to(size, figure.decimals),
        percent=f"{_format_hundreds(value)[0]} %",
        points=f"{100 * size:.1f}" if size >= MIN_SHARE or size == 0 else "fewer than 0.1",
        factor=format_number(math.exp(min(size, MAX_LOGARITHM))),
        balance=format_number(round(100 * (1 - value) / (1 + value))) if value > -1 else "no end of records",
        moved=f"{'+' if value > 0 else ''}{figure.value}",
        moved_points=moved_points,
        less="less" if value < 0 else "more",
        more="more" if value > 0 else "fewer",
        higher="higher" if value > 0 else "lower",
        high="high" if value > 0 else "low",
        widens="widens" if value > 0 else "narrows",
        monitored=_name_side("monitored", details),
        reference=_name_side("reference", details),
        all_groups=f"all {across}" if across else "all groups",
        any_two=f"any two of the {across}" if across else "any two groups",
        Subject=f"For {details.subject}" if details.subject else "Overall",
    )


def _format_subject(name: str | None) -> str:
    return f" of {name}" if name else ""


def _format_hundreds(*shares: float | None) -> list[str]:
    """Writes a share and the ends of its interval, of a hundred; all with a decimal if one needs it.

    Only exact shares become none or all of a hundred. An end of None is open: all of them.
    """
    first, *ends = shares or (None,)
    inner = [share for share in (first, *(end for end in ends if end not in {0, 1})) if share is not None]
    decimals = 1 if any(min(share, 1 - share) < MAX_DECIMAL_SHARE for share in inner) else 0
    return [_format_hundred(share, decimals) for share in shares]


def _format_hundred(share: float | None, decimals: int) -> str:
    if share is None:
        return f"{100:.{decimals}f}"
    if share not in {0, 1} and share < MIN_SHARE:
        return "fewer than 0.1"
    if share not in {0, 1} and share > 1 - MIN_SHARE:
        return "more than 99.9"
    return f"{100 * share:.{decimals}f}"


def _format_count(count: float, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """Writes a count and its interval in whole records, the ends rounded outward; weights with a decimal."""
    if not float(count).is_integer():
        low, high = ("open" if end is None else f"{end:,.1f}" for end in (lower, upper))
        return f"{count:,.1f}", low, high
    low = "open" if lower is None else f"{math.floor(lower):,}"
    return f"{count:,.0f}", low, "open" if upper is None else f"{math.ceil(upper):,}"


def write_limits(limits: Limits) -> str:
    """Writes `0.8 to 1.25`, `0.8 and more` or `up to 0.1`."""
    lower, upper = limits
    if lower is None or upper is None:
        return f"{write_limit(lower)} and more" if upper is None else f"up to {write_limit(upper)}"
    return f"{write_limit(lower)} to {write_limit(upper)}"


def write_limit(number: float | None) -> str:
    """Writes a limit, or another round number, with at most six digits; "" for None."""
    return "" if number is None else write_minus(f"{number:.6g}")
