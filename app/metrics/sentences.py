"""A plain sentence for each measurement: what the number means for these groups, without a formula."""

import math
from collections.abc import Mapping

from app.metrics.catalogue import CATALOGUE, Metric
from app.metrics.catalogue.metric import Compared, CountOf, RateOf
from app.metrics.comparisons import REVERSED_DIFFERENCE
from app.metrics.confusion import PARTS, RATES
from app.metrics.verdicts import MINIMUM_GROUP_SIZE

_PHRASES: Mapping[str, tuple[str, str]] = {
    **{name: (PARTS[rate.of_part].among, rate.are) for name, rate in RATES.items()},
    "favourable": ("records{of}", "were predicted favourable"),
    "correct": ("labelled records{of}", "were predicted right"),
    "perfect_equality": ("reference records, original and synthesised", "were predicted favourable"),
    "flipped": ("records{of}", "change their outcome when the attribute alone is changed"),
    "gained": ("records{of}", "would turn favourable if the attribute alone were changed"),
    "lost": ("records{of}", "would turn unfavourable if the attribute alone were changed"),
    "favourable_before": ("records{of}", "were predicted favourable before mitigation"),
    "favourable_after": ("records{of}", "are favourable after mitigation"),
    "balanced_before": ("records{of}", "were predicted favourable before mitigation"),
    "balanced_after": ("records{of}", "are favourable after mitigation"),
    "changed": ("records{of}", "have another outcome after mitigation"),
    "lifted": ("records{of}", "turn favourable by mitigation"),
    "lowered": ("records{of}", "turn unfavourable by mitigation"),
    "correct_before": ("labelled records{of}", "were predicted right before mitigation"),
    "correct_after": ("labelled records{of}", "are right after mitigation"),
}
"""Per rate, what is counted out of a hundred, and what the counted are."""

_COUNTED_AS: Mapping[str, str] = {
    **{name: rate.counted for name, rate in RATES.items()},
    **dict.fromkeys(("favourable_before", "favourable_after", "balanced_before", "balanced_after"), "favourable"),
}
"""Per rate, what the counted are called among the details, where they are not called as the rate is."""

MOST = 700.0
"""A logarithm above this is told as if it were this: its exponential would be no number any more."""

SMALLEST = 1e-9

LEAST = 0.0005
"""Shares below this would be rounded to none of a hundred."""

FEW = 0.1
"""Shares below this are told with a decimal: of 100 records 0.4, not 0."""


def sentence(
    metric: str,
    *,
    value: float | None,
    lower: float | None = None,
    upper: float | None = None,
    reason: str | None = None,
    details: Mapping[str, object] | None = None,
) -> str:
    """What a measurement says, in one sentence for people. `details` are those of the measurement.

    Raises:
        KeyError: no metric of that key.
    """
    row, known = CATALOGUE[metric], details or {}
    if value is None:
        return f"{row.title} cannot be computed: {reason or 'no reason is known'}."
    told = _told(row, value, (lower, upper), known)
    cautioned = f"{told} Caution: it {known['caution']}." if "caution" in known else told
    return f"{cautioned}{_without_small_groups(known)}"


def _told(row: Metric, value: float, ends: tuple[float | None, float | None], known: Mapping[str, object]) -> str:
    match row.measure:
        case RateOf(rate):
            among, are = _among(rate, known)
            limits = " to ".join(_hundred(end, value) for end in ends)
            if "own_n" in known:
                return f"Of 100 compared records, {_hundred(value, value)} {are} as {known.get('whom')} (95 %: {limits})."
            return f"Of 100 {among.format(of=_of(known.get('whom')))}, {_hundred(value, value)} {are} (95 %: {limits})."
        case CountOf(part):
            counted = PARTS[part].among.format(of=_of(known.get("whom")))
            count, low, high = ("open" if end is None else f"{end:,.1f}".removesuffix(".0") for end in (value, *ends))
            return f"{count} {counted} (95 %: {low} to {high})."
        case Compared() as how:
            return _compared(how, value, ends, known)
        case _:
            lead = _of_row(row, value, known).removesuffix(".")
            return f"{lead} (value {_number(value)}, 95 %: {_number(ends[0])} to {_number(ends[1])})."


def _compared(how: Compared, value: float, ends: tuple[float | None, float | None], known: Mapping[str, object]) -> str:
    among, are = _among(how.rate, known)
    shares = [_share(how.rate, side, known) for side in ("monitored", "reference")]
    told = [_hundred(share, share) for share in shares if share is not None]
    names = [str(known.get(side, f"the {side} group")) for side in ("monitored", "reference")]
    lead = ""
    if len(told) > 1 and "monitored_own_n" in known:
        lead = f"Of 100 records of {names[0]} and {names[1]}, {told[0]} {are} as {names[0]}, {told[1]} as {names[1]}: "
    elif len(told) > 1:
        lead = f"Of 100 {among.format(of=_of(names[0]))}, {told[0]} {are}; of 100 of {names[1]}, {told[1]}: "
    if how.by.divides:
        return f"{lead}a ratio of {_number(value)} (95 %: {_number(ends[0])} to {_number(ends[1])})."
    # Whatever the sign convention, people are told of the monitored group.
    turned = -1 if how.by is REVERSED_DIFFERENCE else 1
    low, high = (None if end is None else turned * end for end in ends[::turned])
    return f"{lead}{_points(turned * value)} (95 %: {_points(low)} to {_points(high)})."


def _among(rate: str, known: Mapping[str, object]) -> tuple[str, str]:
    """What is counted out of a hundred, and what the counted are; the counts tell which data it was."""
    among, are = _PHRASES[rate]
    if rate == "favourable":
        if {"predicted_favourable", "monitored_predicted_favourable"} & known.keys():
            among = "labelled records{of}"
        if {"original_n", "monitored_original_n"} & known.keys():
            among = "records{of}, original and synthesised"
    return among, are


def _points(difference: float | None) -> str:
    if difference is None:
        return "open"
    if difference == 0:
        return "no difference"
    points = f"{100 * abs(difference):.1f}" if abs(difference) >= LEAST else "fewer than 0.1"
    return f"{points} percentage points {'less' if difference < 0 else 'more'}"


def _share(rate: str, side: str, known: Mapping[str, object]) -> float | None:
    """The side's rate from the counts, or the weights, that the comparison was made of."""
    for noun in (_COUNTED_AS.get(rate, rate), rate):
        for counted, whole in ((f"{side}_{noun}_weight", f"{side}_weight"), (f"{side}_{noun}", f"{side}_n")):
            part, total = known.get(counted), known.get(whole)
            if isinstance(part, int | float) and isinstance(total, int | float) and total > 0:
                return part / total
    return None


def _of_row(row: Metric, value: float, known: Mapping[str, object]) -> str:
    """The row's own sentence."""
    whom = str(known.get("whom") or "")
    size = abs(value)
    return row.says.format(
        shown=_number(value),
        distance=_number(size),
        percent=f"{_hundred(value, value)} %",
        points=f"{100 * size:.1f}" if size >= LEAST or size == 0 else "fewer than 0.1",
        factor=_number(math.exp(min(size, MOST))),
        balance=_number(round(100 * (1 - value) / (1 + value))) if value > -1 else "no end of records",
        moved=f"{'+' if value > 0 else ''}{_number(value)}",
        moved_points=f"{100 * value:+.1f}" if size >= LEAST else "almost 0" if size else "0",
        less="less" if value < 0 else "more",
        more="more" if value > 0 else "fewer",
        higher="higher" if value > 0 else "lower",
        high="high" if value > 0 else "low",
        widens="widens" if value > 0 else "narrows",
        monitored=known.get("monitored", "the monitored group"),
        reference=known.get("reference", "the reference group"),
        **_groups_of(known),
        Whom=f"For {whom}" if whom else "Overall",
    )


def _groups_of(known: Mapping[str, object]) -> dict[str, str]:
    """How the groups of a figure of all of them are named: how many they are, where the details say so."""
    if "groups" not in known:
        return {"all_groups": "all groups", "any_two": "any two groups"}
    counted = f"{known['groups']} groups with labelled records"
    return {"all_groups": f"all {counted}", "any_two": f"any two of the {counted}"}


def _without_small_groups(known: Mapping[str, object]) -> str:
    """A further sentence: the figure of the larger groups alone, where small ones are among those that it is of."""
    figure = known.get("value_without_small_groups")
    if not isinstance(figure, int | float):
        return ""
    groups = known.get("small_groups")
    small = "the one group" if groups == 1 else f"the {groups} groups"
    records = f"{known.get('records_of_small_groups')} in all"
    return f" Without {small} of fewer than {MINIMUM_GROUP_SIZE} records ({records}) its value is {_number(figure)}."


def _of(whom: object) -> str:
    return f" of {whom}" if whom else ""


def _hundred(share: float | None, like: float) -> str:
    """A share as so many of a hundred, with a decimal where it or its neighbours are few; never rounded onto none or all."""
    if share is None:
        return "100"
    if share in {0, 1}:
        return f"{100 * share:.0f}"
    if share < LEAST:
        return "fewer than 0.1"
    if share > 1 - LEAST:
        return "more than 99.9"
    return f"{100 * share:.1f}" if min(like, 1 - like, share, 1 - share) < FEW else f"{100 * share:.0f}"


def _number(value: float | None) -> str:
    """Three digits that are read, without exponents; never rounded onto none, nor onto 1 from below."""
    if value is None:
        return "open"
    if float(value).is_integer():
        return f"{value:,.0f}"
    size = abs(value)
    if size >= 100:  # noqa: PLR2004 - three digits
        return f"{value:,.1f}"
    if size >= 1:
        return f"{value:.2f}"
    if size < SMALLEST:
        return f"{'-' if value < 0 else ''}less than {SMALLEST:.9f}"
    # From either end of [0, 1], three digits behind the noughts or nines.
    return f"{value:.{2 - math.floor(math.log10(min(size, 1 - size)))}f}" if min(size, 1 - size) >= SMALLEST else f"{value:.9f}"
