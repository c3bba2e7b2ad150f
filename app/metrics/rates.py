"""Measures rates, counts and comparisons of two rates, which have intervals in closed form or resampled by record."""

import math
from itertools import chain

from scipy.special import ndtri

from app.metrics.catalogue.metric import Compared, CountOf, Metric, RateOf
from app.metrics.comparisons import Share
from app.metrics.confusion import PARTS, RATES
from app.metrics.estimates import Counted, Estimate
from app.metrics.evidence import Evidence
from app.metrics.groups import Groups
from app.metrics.intervals import Interval, proportion
from app.metrics.members import Member, members, monitored, reference
from app.metrics.significance import significance
from app.metrics.values import Measured, Undefined, Value
from app.metrics.verdicts import MINIMUM_GROUP_SIZE

FEW_GROUPS = "fewer than two groups have records to compare"
FEW_WEIGHING = "fewer than two groups have records to compare that weigh anything"
_SELECTION_RATES = frozenset({"favourable", "favourable_before", "favourable_after"})


def measure_closed(metric: Metric, how: RateOf | CountOf | Compared, evidence: Evidence) -> list[Measured]:
    """A rate or a count of each set of records the metric's scopes mean, or the comparison of each pair of groups."""
    match how:
        case RateOf(name):
            return [_rate(metric, name, evidence, member) for member in members(metric.scopes, evidence.groups)]
        case CountOf(part) as how:
            # The interval of a count is that of its share of all labelled records.
            estimate = evidence.estimates[f"part:{part}"]
            everybody = estimate.share(range(len(evidence.groups) + 1))
            squares = PARTS[part].of(evidence.cells["confusion"].squares)
            return [
                _count(metric, how, estimate, member, (everybody, float(squares[list(member.columns)].sum())))
                for member in members(metric.scopes, evidence.groups)
            ]
        case Compared(name) as how:
            estimate, other = evidence.estimates[name], reference(evidence.groups)
            pairs = [_pair(metric, how, evidence, member, other) for member in monitored(evidence.groups)]
            return [*pairs, *_worst_pair(metric, how, estimate, evidence.groups)]


def _rate(metric: Metric, rate: str, evidence: Evidence, member: Member) -> Measured:
    estimate = evidence.estimates[rate]
    share = estimate.share(member.columns)
    number: Value | Undefined
    if share.is_empty:
        number = Undefined(_empty(evidence, estimate, share, member), share.original)
    else:
        number = _value(share.rate, estimate.rate_interval(member.columns), estimate.records(member.columns))
    details = {"formula": metric.formula, **member.named(), **estimate.counts(share)}
    return Measured(metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=share.certain, details=details)


def _count(metric: Metric, how: CountOf, estimate: Estimate, member: Member, among: tuple[Share, float]) -> Measured:
    share, (everybody, squares) = estimate.share(member.columns), among
    details = {"formula": metric.formula, **member.named(), **estimate.counts(share), "n": everybody.total}
    number: Value | Undefined
    if everybody.is_empty:
        reason = "the records weigh nothing" if everybody.original else estimate.words.empty.format(of="")
        number = Undefined(reason, everybody.original)
    else:
        interval = _interval_of_count(share, everybody, squares, is_everybody=_is_everybody(how, member, share))
        number = _value(share.mass, interval, everybody.total)
    # A count is no less sure for being small: its interval is of everybody's records.
    return Measured(
        metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=everybody.total, details=details
    )


def _is_everybody(how: CountOf, member: Member, share: Share) -> bool:
    """Whether it is the number of all records, which is as it is; different weights would add up to another one another time."""
    alike = share.effective is None or math.isclose(share.effective, share.total)
    return how.part == "records" and member.scope == "overall" and alike


def _interval_of_count(share: Share, everybody: Share, squares: float, *, is_everybody: bool) -> Interval:
    """Of the weight of some of the records, among as many records; `squares` is the sum of their squared weights.

    In units of their mean weight, weighted by itself, they are so many equal records that their variance is that of the weight.
    """
    unit = squares / share.mass if share.mass > 0 else everybody.mass_total / everybody.total
    effective, total = share.mass / unit, everybody.total
    if is_everybody:
        return Interval(share.mass, share.mass, "counted")
    part = proportion(min(effective, total), total)
    upper = 1.0 if part.upper is None else part.upper
    return Interval(min(share.mass, part.lower * total * unit), max(share.mass, upper * total * unit), part.method)


def _pair(metric: Metric, how: Compared, evidence: Evidence, member: Member, other: Member) -> Measured:
    estimate = evidence.estimates[how.rate]
    share, other_share = estimate.pair(member.columns, other.columns)
    reason = _missing(how, evidence, (share, member), (other_share, other))
    number: Value | Undefined
    if reason:
        number = Undefined(reason, estimate.records(member.columns, other.columns))
    else:
        point = how.by.point(share, other_share)
        interval = estimate.pair_interval(how.by, member.columns, other.columns)
        number = _value(point, interval, estimate.records(member.columns, other.columns))
    details: dict[str, object] = {"formula": metric.formula, "monitored": member.name, "reference": other.name}
    details |= _both(estimate, share, other_share) | _significance(metric, estimate, (share, other_share), 1)
    smallest = min(share.certain, other_share.certain)
    return Measured(metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=smallest, details=details)


def _worst_pair(metric: Metric, how: Compared, estimate: Estimate, groups: Groups) -> list[Measured]:
    """The two groups furthest apart, whatever their roles: of errors the higher rate stands in the place of the monitored, else the lower.

    Groups of fewer than `MINIMUM_GROUP_SIZE` records stand back while there are two others. Of many pairs one always lies far
    apart, so the interval and the p-value are those of all pairs together (Bonferroni).
    """
    if "worst_pair" not in metric.scopes or not groups:
        return []
    shares = [(member, estimate.share(member.columns)) for member in members(("group",), groups)]
    known = [(member, share) for member, share in shares if not share.is_empty]
    large = [(member, share) for member, share in known if share.certain >= MINIMUM_GROUP_SIZE]
    candidates = sorted(large if len(large) > 1 else known, key=lambda entry: entry[1].rate)
    if len(candidates) < 2:  # noqa: PLR2004 - a pair
        there = sum(share.original > 0 for _, share in shares)
        reason = FEW_GROUPS if there < 2 else FEW_WEIGHING  # noqa: PLR2004 - the same two
        number: Value | Undefined = Undefined(reason, sum(share.original for _, share in known))
        return [_of_worst_pair(metric, number, 0, {"formula": metric.formula})]
    is_error = how.rate in RATES and RATES[how.rate].is_error
    (worst, share), (best, other) = (candidates[-1], candidates[0]) if is_error else (candidates[0], candidates[-1])
    pairs = math.comb(len(candidates), 2)
    if how.by.divides and other.mass == 0:
        number = Undefined(f"the rate{best.of} is zero, so nothing can be divided by it", share.total + other.total)
    else:
        interval = how.by.interval(*share.size, *other.size, float(ndtri(1 - 0.025 / pairs)))
        number = _value(how.by.point(share, other), interval, share.total + other.total)
    details: dict[str, object] = {"formula": metric.formula, "monitored": worst.name, "reference": best.name}
    details |= {"chosen_from": len(candidates), **_both(estimate, share, other)}
    details |= _significance(metric, estimate, (share, other), pairs)
    smallest = min(share.certain, other.certain)
    return [_of_worst_pair(metric, number, smallest, details)]


def _of_worst_pair(metric: Metric, number: Value | Undefined, smallest: int, details: dict[str, object]) -> Measured:
    return Measured(metric=metric.key, scope="worst_pair", group=None, number=number, smallest_group=smallest, details=details)


def _missing(how: Compared, evidence: Evidence, side: tuple[Share, Member], other: tuple[Share, Member]) -> str | None:
    """Why the two cannot be compared, or None."""
    estimate = evidence.estimates[how.rate]
    for share, member in (side, other):
        if share.is_empty:
            return _empty(evidence, estimate, share, member)
    return estimate.words.zero_reference.format(n=other[0].total) if how.by.divides and other[0].mass == 0 else None


def _empty(evidence: Evidence, estimate: Estimate, share: Share, member: Member) -> str:
    """Why there is no rate."""
    if not share.original:
        if share.left_out:
            return estimate.words.no_counterfactual.format(of=member.of)
        known = evidence.unclassified
        is_nobody = known is not None and not known[list(member.columns)].any()
        return f"there is no record{member.of}" if is_nobody else estimate.words.empty.format(of=member.of)
    # Rates of some of the labelled records pass over others; every other rate is of all.
    whole = evidence.estimates.get("part:records")
    is_some = whole is not None and not whole.share(member.columns).is_empty
    return f"the records{member.of} that it rests on weigh nothing" if is_some else f"the records{member.of} weigh nothing"


def _significance(metric: Metric, estimate: Estimate, shares: tuple[Share, Share], pairs: int) -> dict[str, object]:
    """Of selection rates whose records are independent: not of records together with their copies. Of the worst of many pairs."""
    selects = isinstance(metric.measure, Compared) and metric.measure.rate in _SELECTION_RATES and isinstance(estimate, Counted)
    return {**significance(*shares, pairs=pairs)} if selects and not any(share.is_empty for share in shares) else {}


def _value(point: float, interval: Interval, records: int) -> Value:
    # Of weighted records the interval rests on effective sizes, the point on the weights: they differ in the last digit.
    lower = min(interval.lower, point)
    upper = None if interval.upper is None else max(interval.upper, point)
    return Value(point, lower, upper, interval.method, records)


def _both(estimate: Estimate, share: Share, other: Share) -> dict[str, object]:
    sides = (("monitored", share), ("reference", other))
    return dict(chain.from_iterable(((f"{side}_{name}", count) for name, count in estimate.counts(each).items()) for side, each in sides))
