"""Sentences about what carries a gap, and why one changed."""

from collections.abc import Iterator, Sequence

from ...statistics.sentences.figure_sentences import round_gap, write_minus
from .attribution import (
    AttributedGap,
    AttributionResult,
    CellsOfFeature,
    ChangedGap,
    HybridShares,
    PartOfGap,
    SideCounts,
)

MAX_NAMED_DRIVERS = 4

NO_GAP = (
    "No monitored group and its reference both have records with an outcome in this window, so there "
    "is no gap to attribute."
)
NO_PAIR_ANSWERED = (
    "For no pair did the model answer every row with an outcome of either list, so nothing is attributed."
)
PARTS_NOT_ADDED = "Each feature divides the whole gap: do not add the parts of different features."
CHANGE_EXAGGERATED = (
    "The records after the onset were selected by the alarm, so the change looks larger than it is."
)
NOTHING_BEFORE = (
    "may be as old as the first hour that was counted with this monitor and model revision, so "
    "there is nothing before it to compare with."
)
GAP_NOT_GROWN = (
    "The gap did not grow. The records after the onset were selected by the alarm, so the gap after "
    "it looks larger than it is."
)


def say_result(result: AttributionResult) -> list[str]:
    if result.change is not None:
        return [say_change(result.change)]
    return [sentence for gap in result.gaps for sentence in say_gap(gap)] or [NO_GAP]


def say_gap(gap: AttributedGap) -> Iterator[str]:
    yield _say_sides(gap.monitored, gap.reference)
    yield sum_up_gap(gap)
    if gap.hybrids is not None:
        yield from say_pairs(gap.hybrids)
    elif len(gap.cells) > 1:
        yield PARTS_NOT_ADDED


def list_drivers(gap: AttributedGap) -> list[tuple[str, PartOfGap]]:
    """Drivers by name: the attribute, then the largest, then all others together, without an interval.

    Without hybrids, what different shares of a feature's cells carry; such parts must not be added.
    """
    if gap.hybrids is None:
        cells = (cells for cells in gap.cells if cells.feature not in gap.features)
        ranked = sorted(cells, key=lambda cells: -abs(cells.who_applies.value))
        return [(cells.feature, cells.who_applies) for cells in ranked[:MAX_NAMED_DRIVERS]]
    shares = sorted(gap.hybrids.shares, key=lambda share: set(share.features).isdisjoint(gap.features))
    carrying = [share for share in shares if _is_visible(share.share.value)]
    named = carrying if len(carrying) <= MAX_NAMED_DRIVERS + 1 else carrying[:MAX_NAMED_DRIVERS]
    others = [share.share.value for share in carrying[len(named) :]]
    drivers = [(" with ".join(share.features), share.share) for share in named]
    return drivers + (
        [(f"other {len(others)}", PartOfGap(value=sum(others), low=None, high=None))] if others else []
    )


def sum_up_gap(gap: AttributedGap) -> str:
    if gap.hybrids is not None:
        return _say_drivers(gap, gap.hybrids)
    return _say_cells(gap.cells) if gap.cells else NO_PAIR_ANSWERED


def say_change(change: ChangedGap) -> str:
    at = f"{change.at:%Y-%m-%d %H:%M} UTC"
    before = change.before.gap
    after = change.after.gap
    boundary = change.boundary
    revision = (
        f" The model revision changed from {boundary.before} to {boundary.after} at "
        f"{boundary.at:%Y-%m-%d %H:%M} UTC."
        if boundary
        else ""
    )
    of_group = f"{change.group} ({change.attribute})"
    if before is None and change.reaches_first_hour:
        return f"The alert on {of_group} {NOTHING_BEFORE}"
    if before is None or after is None:
        when = f"before {at}" if before is None else f"from {at} on"
        nothing = f"{change.group} or the reference has no record {when} to compare with"
        return f"Why the gap of {of_group} changed is not known: {nothing}.{revision}"
    opening = (
        f"The favourable rate of {of_group} less that of the reference went from {say_points(before)} "
        f"before {at} to {say_points(after)}"
    )
    # The alarm is about the side on which the gap after the onset lies.
    has_grown = (after - before) * after > 0 and _is_visible(after - before)
    selected = CHANGE_EXAGGERATED if has_grown else GAP_NOT_GROWN
    if not change.features:
        return (
            f"{opening} after it. No feature has few enough values to divide the records by.{revision} "
            f"{selected}"
        )
    # Other features leave more of "who asked" under "how the model answers".
    top = max(change.features, key=lambda feature: abs(feature.who_asked))
    shares = (
        f"{say_points(top.who_asked)} of the change come from who asked (another mix of {top.feature}) and"
        f" {say_points(top.how_answered)} from other answers to people of the same {top.feature}"
    )
    alone = (
        f", {say_points(top.no_counterpart)} from people whose {top.feature} occurs only before or only after"
        if _is_visible(top.no_counterpart)
        else ""
    )
    return f"{opening} after it. Divided by {top.feature}, {shares}{alone}.{revision} {selected}"


def say_points(value: float, digits: int = 1) -> str:
    points = round(100 * value, digits)
    # -0.04 would read as -0.0.
    return f"{0:.{digits}f} points" if points == 0 else write_minus(f"{points:+.{digits}f} points")


def say_interval(share: PartOfGap) -> str | None:
    if share.low is None or share.high is None:
        return None
    return (
        f"{say_points(share.low).removesuffix(' points')} to {say_points(share.high).removesuffix(' points')}"
    )


def _say_drivers(gap: AttributedGap, shares: HybridShares) -> str:
    pairs = "1 sampled pair" if shares.pairs == 1 else f"{shares.pairs:,} sampled pairs"
    lead = f"The gap of {pairs} is {say_points(shares.gap_of_pairs)}"
    drivers = [f"{say_points(part.value)}{_in_brackets(part)} by {name}" for name, part in list_drivers(gap)]
    return (
        f"{lead}, by feature: {', '.join(drivers)}." if drivers else f"{lead}; no feature carries any of it."
    )


def say_pairs(shares: HybridShares) -> Iterator[str]:
    if _is_visible(shares.sampling):
        yield (
            f"The gap of all records differs from that of the pairs by {say_points(shares.sampling)}, from "
            "the choice of pairs (sampling)."
        )
    if shares.pairs_left_out:
        left_out = "1 pair was" if shares.pairs_left_out == 1 else f"{shares.pairs_left_out:,} pairs were"
        yield f"{left_out} left out, because the model refused a row or gave an answer that is in neither outcome list."
    if shares.differing:
        yield (
            f"The model now answers {shares.differing:,} of {shares.compared:,} logged records differently. "
            "If it is another model than the logged one, the shares describe neither of them."
        )


def _say_cells(cells: Sequence[CellsOfFeature]) -> str:
    top = max(cells, key=lambda cell: abs(cell.who_applies.value))
    without_counterpart = (
        f", {say_points(top.no_counterpart.value)} by records without a counterpart"
        if _is_visible(top.no_counterpart.value)
        else ""
    )
    return (
        f"Divided by {top.feature}, {say_points(top.who_applies.value)}{_in_brackets(top.who_applies)} are "
        f"carried by who applies and {say_points(top.how_treated.value)}{_in_brackets(top.how_treated)} "
        f"by how they are treated{without_counterpart}."
    )


def _say_sides(monitored: SideCounts, reference: SideCounts) -> str:
    rounded = round_gap(100 * (monitored.rate or 0.0), 100 * (reference.rate or 0.0))
    label, other_label = (
        "all other values" if side.label is None else side.label for side in (monitored, reference)
    )
    rate, other_rate = (f"{number:.{rounded.digits}f}" for number in (rounded.first, rounded.second))
    return (
        f"Of every 100 records of {label}, {rate} have a favourable outcome; of every 100 of {other_label}, "
        f"{other_rate}: a gap of {say_points(rounded.gap / 100, rounded.digits)}."
    )


def _in_brackets(share: PartOfGap) -> str:
    interval = say_interval(share)
    return "" if interval is None else f" (95 %: {interval})"


def _is_visible(value: float) -> bool:
    return round(100 * value, 1) != 0
