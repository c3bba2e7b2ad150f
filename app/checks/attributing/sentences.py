"""Sentences about what carries a gap, and why one changed."""

from collections.abc import Iterator, Sequence

from ...domain.attributions import AttributedGap, AttributionResult, CellsOfFeature, ChangedGap, HybridShares, PartOfGap, SideCounts
from ...metrics.rounding import round_gap, write_minus

MAX_NAMED = 3
"""Max players of a sentence; the table has all."""

NO_GAP = "No monitored group and its reference both have records with an outcome in this window, so there is no gap to attribute."
NOT_ANSWERED = "For no pair did the model answer every row with an outcome of either list, so nothing is attributed."
NOT_ADDED = "Each feature divides the whole gap: do not add the parts of different features."
EXAGGERATED = "The records after the onset were selected by the alarm, so the change looks larger than it is."
NOTHING_BEFORE = (
    "may be as old as the first hour that was counted with this monitor and model revision, so there is nothing before it to compare with."
)
NOT_GROWN = "The gap did not grow. The records after the onset were selected by the alarm, so the gap after it looks larger than it is."


def say_result(result: AttributionResult) -> list[str]:
    if result.change is not None:
        return [say_change(result.change)]
    return [sentence for gap in result.gaps for sentence in say_gap(gap)] or [NO_GAP]


def say_gap(gap: AttributedGap) -> Iterator[str]:
    yield _say_sides(gap.monitored, gap.reference)
    if gap.hybrids is not None:
        yield from _say_shares(gap.hybrids)
    elif gap.cells:
        yield from _say_cells(gap.cells)
    else:
        yield NOT_ANSWERED


def sum_up_gap(gap: AttributedGap) -> str:
    if gap.hybrids is not None:
        return next(_say_shares(gap.hybrids))
    return next(_say_cells(gap.cells)) if gap.cells else NOT_ANSWERED


def say_change(change: ChangedGap) -> str:
    at, before, after = f"{change.at:%Y-%m-%d %H:%M} UTC", change.before.gap, change.after.gap
    boundary = change.boundary
    revision = (
        f" The model revision changed from {boundary.before} to {boundary.after} at {boundary.at:%Y-%m-%d %H:%M} UTC." if boundary else ""
    )
    of_group = f"{change.group} ({change.attribute})"
    if before is None and change.reaches_first_hour:
        return f"The alert on {of_group} {NOTHING_BEFORE}"
    if before is None or after is None:
        when = f"before {at}" if before is None else f"from {at} on"
        nothing = f"{change.group} or the reference has no record {when} to compare with"
        return f"Why the gap of {of_group} changed is not known: {nothing}.{revision}"
    went = f"The favourable rate of {of_group} less that of the reference went from {say_points(before)} before {at} to {say_points(after)}"
    selected = say_selection(before, after)
    if not change.features:
        return f"{went} after it. No feature has few enough values to divide the records by.{revision} {selected}"
    # Other features leave more of "who asked" under "how the model answers".
    most = max(change.features, key=lambda one: abs(one.who_asked))
    parts = (
        f"{say_points(most.who_asked)} of the change come from who asked (another mix of {most.feature}) and"
        f" {say_points(most.how_answered)} from other answers to people of the same {most.feature}"
    )
    alone = (
        f", {say_points(most.no_counterpart)} from people whose {most.feature} occurs only before or only after"
        if _shows(most.no_counterpart)
        else ""
    )
    return f"{went} after it. Divided by {most.feature}, {parts}{alone}.{revision} {selected}"


def say_selection(before: float, after: float) -> str:
    # The alarm is about the side on which the gap after the onset lies.
    return EXAGGERATED if (after - before) * after > 0 and _shows(after - before) else NOT_GROWN


def say_points(value: float, digits: int = 1) -> str:
    """Difference of rates in percentage points, with its sign."""
    points = round(100 * value, digits)
    # -0.04 would read as -0.0.
    return f"{0:.{digits}f} points" if points == 0 else write_minus(f"{points:+.{digits}f} points")


def say_interval(part: PartOfGap) -> str | None:
    """95 % interval in words; None with too few records."""
    if part.low is None or part.high is None:
        return None
    return f"{say_points(part.low).removesuffix(' points')} to {say_points(part.high).removesuffix(' points')}"


def _say_shares(found: HybridShares) -> Iterator[str]:
    carrying = [one for one in found.shares if _shows(one.share.value)]
    shown = carrying if len(carrying) == MAX_NAMED + 1 else carrying[:MAX_NAMED]
    named = [
        f"{say_points(one.share.value)}{_in_brackets(one.share)} {'by' if number else 'are carried by'} {' with '.join(one.features)}"
        for number, one in enumerate(shown)
    ]
    pairs = "1 sampled pair" if found.pairs == 1 else f"{found.pairs:,} sampled pairs"
    if named:
        listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
        rest = found.shares[len(shown) :] if len(carrying) > len(shown) else ()
        noun = "features" if all(len(one.features) == 1 for one in found.shares) else "parts"
        others = (
            f"; the other {len(rest)} of {len(found.shares)} {noun} add up to {say_points(sum(one.share.value for one in rest))}"
            if rest
            else ""
        )
        yield f"The gap of {pairs} is {say_points(found.gap_of_pairs)}: {listed}{others}."
    else:
        yield f"The gap of {pairs} is {say_points(found.gap_of_pairs)}; no feature carries any of it."
    if _shows(found.sampling):
        yield f"The gap of all records differs from that of the pairs by {say_points(found.sampling)}, from the choice of pairs (sampling)."
    if found.pairs_left_out:
        left_out = "1 pair was" if found.pairs_left_out == 1 else f"{found.pairs_left_out:,} pairs were"
        yield f"{left_out} left out, because the model refused a row or gave an answer that is in neither outcome list."
    if found.differing:
        yield (
            f"The model now answers {found.differing:,} of {found.compared:,} logged records differently. If it is another model than the"
            " logged one, the shares describe neither of them."
        )


def _say_cells(cells: Sequence[CellsOfFeature]) -> Iterator[str]:
    most = max(cells, key=lambda one: abs(one.who_applies.value))
    alone = f", {say_points(most.no_counterpart.value)} by records without a counterpart" if _shows(most.no_counterpart.value) else ""
    yield (
        f"Divided by {most.feature}, {say_points(most.who_applies.value)}{_in_brackets(most.who_applies)} are carried by who applies and"
        f" {say_points(most.how_treated.value)}{_in_brackets(most.how_treated)} by how they are treated{alone}."
    )
    if len(cells) > 1:
        yield NOT_ADDED


def _say_sides(monitored: SideCounts, reference: SideCounts) -> str:
    found = round_gap(100 * (monitored.rate or 0.0), 100 * (reference.rate or 0.0))
    label, other = ("all other values" if side.label is None else side.label for side in (monitored, reference))
    rate, other_rate = (f"{number:.{found.digits}f}" for number in (found.first, found.second))
    return (
        f"Of every 100 records of {label}, {rate} have a favourable outcome; of every 100 of {other}, {other_rate}:"
        f" a gap of {say_points(found.gap / 100, found.digits)}."
    )


def _in_brackets(part: PartOfGap) -> str:
    interval = say_interval(part)
    return "" if interval is None else f" (95 %: {interval})"


def _shows(value: float) -> bool:
    return round(100 * value, 1) != 0
