"""Measures rates, counts and comparisons of two rates, which have intervals in closed form or resampled by record."""

import math
from collections.abc import Sequence
from itertools import chain

from app.metrics.catalogue.metric import Compared, CountOf, Metric, RateOf
from app.metrics.cautions import caution
from app.metrics.comparisons import Comparison, Share
from app.metrics.confusion import PARTS
from app.metrics.estimates import Counted, Estimate
from app.metrics.evidence import Evidence
from app.metrics.groups import Groups
from app.metrics.intervals import Interval, wilson
from app.metrics.members import Member, members, monitored, reference
from app.metrics.significance import significance
from app.metrics.values import Measured, Undefined, Value
from app.metrics.verdicts import MINIMUM_GROUP_SIZE


def measure_closed(metric: Metric, how: RateOf | CountOf | Compared, evidence: Evidence) -> list[Measured]:
    """A rate or a count of each set of records the metric's scopes mean, or the comparison of each pair of groups."""
    match how:
        case RateOf(name):
            return [_rate(metric, evidence.estimates[name], member) for member in members(metric.scopes, evidence.groups)]
        case CountOf(part):
            # The interval of a count is that of its share of all labelled records.
            estimate = evidence.estimates[f"part:{part}"]
            everybody = estimate.share(range(len(evidence.groups) + 1))
            squares = PARTS[part].of(evidence.cells["confusion"].squares)
            return [
                _count(metric, estimate, member, (everybody, float(squares[list(member.columns)].sum())))
                for member in members(metric.scopes, evidence.groups)
            ]
        case Compared(name, by):
            estimate, other = evidence.estimates[name], reference(evidence.groups)
            # Once, not for each group: it goes through all of them.
            share = estimate.share(other.columns)
            pairs = [_pair(metric, by, estimate, member, (other, share)) for member in monitored(evidence.groups)]
            return [*pairs, *_worst_pair(metric, by, estimate, evidence.groups)]


def _rate(metric: Metric, estimate: Estimate, member: Member) -> Measured:
    share = estimate.share(member.columns)
    number: Value | Undefined
    if share.is_empty:
        number = Undefined(estimate.words.empty.format(of=member.of), share.original)
    else:
        number = _value(share.rate, estimate.rate_interval(member.columns), estimate.records(member.columns))
    details = {"formula": metric.formula, **member.named(), **estimate.counts(share)}
    details |= _caution(number, share.original, share)
    return Measured(
        metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=share.original, details=details
    )


def _count(metric: Metric, estimate: Estimate, member: Member, among: tuple[Share, float]) -> Measured:
    share, (everybody, squares) = estimate.share(member.columns), among
    details = {"formula": metric.formula, **member.named(), **estimate.counts(share), "n": everybody.total}
    number: Value | Undefined
    if everybody.is_empty:
        number = Undefined(estimate.words.empty.format(of=""), 0)
    else:
        number = _value(share.mass, _interval_of_count(share, everybody, squares), share.count)
    if isinstance(number, Value) and number.method != "counted":
        fewest = min(share.count, everybody.total - share.count)
        details |= caution(everybody.total, fewest)
    # A count is no less sure for being small: its interval is of everybody's records.
    return Measured(
        metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=everybody.total, details=details
    )


def _interval_of_count(share: Share, everybody: Share, squares: float) -> Interval:
    """Of the weight of some of the records, among as many records; `squares` is the sum of their squared weights.

    In units of their mean weight, weighted by itself, they are so many equal records that their variance is that of the weight.
    """
    unit = squares / share.mass if share.mass > 0 else everybody.mass_total / everybody.total
    effective, total = share.mass / unit, everybody.total
    if share.count == total and math.isclose(effective, total):
        return Interval(share.mass, share.mass, "counted")
    part = wilson(min(effective, total), total)
    upper = 1.0 if part.upper is None else part.upper
    return Interval(min(share.mass, part.lower * total * unit), max(share.mass, upper * total * unit), part.method)


def _pair(metric: Metric, by: Comparison, estimate: Estimate, member: Member, against: tuple[Member, Share]) -> Measured:
    other, other_share = against
    share = estimate.share(member.columns)
    reason = _missing(by, estimate, (share, member.of), (other_share, other.of))
    number: Value | Undefined
    if reason:
        number = Undefined(reason, estimate.records(member.columns, other.columns))
    else:
        number = _compared(by, estimate, member.columns, other.columns)
    details: dict[str, object] = {"formula": metric.formula, "monitored": member.name, "reference": other.name}
    details |= _both(estimate, share, other_share) | _significance(metric, estimate, share, other_share)
    smallest = min(share.original, other_share.original)
    details |= _caution(number, smallest, share, other_share)
    return Measured(metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=smallest, details=details)


def _worst_pair(metric: Metric, by: Comparison, estimate: Estimate, groups: Groups) -> list[Measured]:
    """The group with the lowest rate, in the place of the monitored, set against the one with the highest, whatever their roles.

    Groups of fewer than `MINIMUM_GROUP_SIZE` records stand back while there are two others.
    """
    if "worst_pair" not in metric.scopes or not groups:
        return []
    shares = [(member, estimate.share(member.columns)) for member in members(("group",), groups)]
    known = [(member, share) for member, share in shares if not share.is_empty]
    large = [(member, share) for member, share in known if share.original >= MINIMUM_GROUP_SIZE]
    candidates = large if len(large) > 1 else known
    if len(candidates) < 2:  # noqa: PLR2004 - a pair
        reason = f"fewer than two groups can be compared: {estimate.words.empty.format(of=' of the others')}"
        number: Value | Undefined = Undefined(reason, sum(share.original for _, share in known))
        return [_of_worst_pair(metric, number, 0, {"formula": metric.formula})]
    low, high = min(candidates, key=lambda entry: entry[1].rate), max(candidates, key=lambda entry: entry[1].rate)
    if low[0] is high[0]:
        low, high = candidates[0], candidates[1]
    missing = _missing(by, estimate, (low[1], low[0].of), (high[1], high[0].of))
    n = estimate.records(low[0].columns, high[0].columns)
    number = Undefined(missing, n) if missing else _compared(by, estimate, low[0].columns, high[0].columns)
    details: dict[str, object] = {"formula": metric.formula, "monitored": low[0].name, "reference": high[0].name}
    details |= _both(estimate, low[1], high[1]) | _significance(metric, estimate, low[1], high[1])
    smallest = min(low[1].original, high[1].original)
    return [_of_worst_pair(metric, number, smallest, details | _caution(number, smallest, low[1], high[1]))]


def _of_worst_pair(metric: Metric, number: Value | Undefined, smallest: int, details: dict[str, object]) -> Measured:
    return Measured(metric=metric.key, scope="worst_pair", group=None, number=number, smallest_group=smallest, details=details)


def _missing(comparison: Comparison, estimate: Estimate, share: tuple[Share, str], other: tuple[Share, str]) -> str | None:
    """Why the two cannot be compared, or None."""
    for each, of in (share, other):
        if each.is_empty:
            return estimate.words.empty.format(of=of)
    return estimate.words.zero_reference.format(n=other[0].total) if comparison.divides and other[0].mass == 0 else None


def _compared(comparison: Comparison, estimate: Estimate, of: Sequence[int], against: Sequence[int]) -> Value:
    point = comparison.point(estimate.share(of), estimate.share(against))
    return _value(point, estimate.pair_interval(comparison, of, against), estimate.records(of, against))


def _significance(metric: Metric, estimate: Estimate, share: Share, other: Share) -> dict[str, object]:
    """Of selection rates whose records are independent: not of records together with their copies."""
    selects = isinstance(metric.measure, Compared) and metric.measure.rate == "favourable" and isinstance(estimate, Counted)
    return {**significance(share, other)} if selects and not share.is_empty and not other.is_empty else {}


def _caution(number: Value | Undefined, smallest: int, *shares: Share) -> dict[str, object]:
    return caution(smallest, min(share.fewest for share in shares)) if isinstance(number, Value) else {}


def _value(point: float, interval: Interval, records: int) -> Value:
    return Value(point, interval.lower, interval.upper, interval.method, records)


def _both(estimate: Estimate, share: Share, other: Share) -> dict[str, object]:
    sides = (("monitored", share), ("reference", other))
    return dict(chain.from_iterable(((f"{side}_{name}", count) for name, count in estimate.counts(each).items()) for side, each in sides))
