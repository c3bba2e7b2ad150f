"""Measures rates, counts and comparisons of two rates, of the columns that each scope covers."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from scipy.special import ndtri

from ...base.values import frozen
from ...domain.check import SIDES, Details
from ..catalogue.metric import ComparedRate, CountOf, Metric, RateOf
from ..group_labels import Groups, Role, of_role
from ..intervals.draws import Estimate, TableEvidence
from ..intervals.intervals import Interval, proportion
from ..intervals.rate_estimates import PARTS, RATES, CountedRate, Share
from ..intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Scope, Undefined, Value, caution

MAX_NAMED_VALUES = 3
"""Values that name a pooled group; the others become `…`."""

CACHED_GROUPINGS = 512
"""Lists of groups whose members one process remembers."""


class Member(NamedTuple):
    """Columns of a table that one figure is about. Only the scope `group` has a `label`.

    `of` continues a sentence (" of Female").
    """

    scope: Scope
    label: str | None
    columns: tuple[int, ...]
    of: str
    name: str

    @property
    def subject(self) -> str | None:
        return self.name or None


@lru_cache(CACHED_GROUPINGS)
def members(scopes: tuple[Scope, ...], groups: Groups) -> tuple[Member, ...]:
    """Members of the scopes, in their order; without groups only those of all records."""
    everyone = tuple(range(len(groups)))
    members_of_scope = {
        "group": [
            Member("group", group.label, (position,), f" of {group.label}", group.label)
            for position, group in enumerate(groups)
        ],
        "pooled": [_pool("pooled", groups)],
        "reference": [_pool("reference", groups)],
        "attribute": [Member("attribute", None, everyone, "", "")],
        "overall": [Member("overall", None, (*everyone, len(groups)), "", "")],
    }
    return tuple(
        member
        for scope in scopes
        if groups or scope in {"attribute", "overall"}
        for member in members_of_scope.get(scope, ())
    )


@lru_cache(CACHED_GROUPINGS)
def monitored(groups: Groups) -> tuple[Member, ...]:
    positions = set(of_role(groups, "monitored"))
    return tuple(
        member for member in members(("group", "pooled"), groups) if positions.issuperset(member.columns)
    )


@lru_cache(CACHED_GROUPINGS)
def reference(groups: Groups) -> Member:
    return _pool("reference", groups)


def omit_repeats(results: Sequence[Measured], groups: Groups) -> list[Measured]:
    """Leaves out results with a group's own counts: a role of one group, a pair with its only reference.

    Everything is measured first: all results of a metric share random numbers.
    """
    single = {
        role: groups[positions[0]].label for role in SIDES if len(positions := of_role(groups, role)) == 1
    }
    repeated = {"pooled": single.get("monitored"), "reference": single.get("reference")}
    labels = {result.group for result in results if result.scope == "group"}

    def is_repeated(result: Measured) -> bool:
        if result.scope == "worst_pair":
            return single.get("reference") in (result.details.monitored, result.details.reference)
        return result.group is None and repeated.get(result.scope) in labels

    return [result for result in results if not is_repeated(result)]


def build_result(
    metric: str, member: Member, number: Value | Undefined, smallest_group: int, details: Details
) -> Measured:
    return Measured(
        metric=metric,
        scope=member.scope,
        group=member.label,
        number=number,
        smallest_group=smallest_group,
        details=details,
    )


def build_value(point: float, interval: Interval, n: int) -> Value:
    """Number whose interval holds it whatever the rounding; an infinite end becomes None."""
    ends = min(point, interval.lower), max(interval.upper, point)
    # Also without a lower limit, as of vanishing weights.
    lower, upper = (end if math.isfinite(end) else None for end in ends)
    return Value(point, lower, upper, interval.method, n)


def explain_weightless(member: Member, *, has_weight: bool) -> str:
    """`has_weight`: the group has records of some weight, which the figure skips."""
    return f"the records{member.of}{' that it rests on' if has_weight else ''} weigh nothing"


def with_caution(result: Measured) -> Measured:
    """Adds a caution if few records are in the smallest denominator, unless the figure has another."""
    if not isinstance(result.number, Value) or result.details.caution is not None:
        return result
    warning = caution(result.smallest_group if result.cautious_of is None else result.cautious_of)
    return result if warning is None else replace(result, details=result.details.changed(caution=warning))


def _pool(scope: Literal["pooled", "reference"], groups: Groups) -> Member:
    role: Role = "reference" if scope == "reference" else "monitored"
    positions = of_role(groups, role)
    listed = ", ".join(groups[position].label for position in positions[:MAX_NAMED_VALUES])
    listed += ", …" if len(positions) > MAX_NAMED_VALUES else ""
    of = f" of the {role} group ({listed})" if positions else f" of the {role} group"
    return Member(scope, None, positions, of, listed or f"the {role} group")


MIN_EXPECTED_RECORDS = 5
"""Records expected in a cell for the normal approximation (Cochran 1954)."""

_SELECTION_RATES = frozenset({"favourable", "favourable_before", "favourable_after"})


def measure_rate(metric: Metric, rate: RateOf, evidence: TableEvidence) -> list[Measured]:
    estimate = evidence.estimates[rate.rate]
    results = []
    for member in members(metric.scopes, evidence.groups):
        share = estimate.share(member.columns)
        counts = estimate.counts(share)
        for part in (evidence.estimates[name] for name in rate.parts):
            counts |= part.counts(part.share(member.columns))
        results.append(
            build_result(
                metric.key,
                member,
                Undefined(_explain_empty(evidence, estimate, _Side(member, share)), share.original)
                if share.is_empty
                else build_value(
                    share.rate, estimate.rate_interval(member.columns), estimate.records(member.columns)
                ),
                share.certain,
                Details(formula=metric.formula, subject=member.subject, counts=counts),
            )
        )
    return results


def measure_counts(metric: Metric, counted: CountOf, evidence: TableEvidence) -> list[Measured]:
    estimate = evidence.estimates[f"part:{counted.part}"]
    everybody = estimate.share(range(len(evidence.groups) + 1))
    squares = PARTS[counted.part].of(evidence.cells["confusion"].squares)
    results = []
    for member in members(metric.scopes, evidence.groups):
        share = estimate.share(member.columns)
        number: Value | Undefined
        if everybody.is_empty:
            reason = "the records weigh nothing" if everybody.original else estimate.words.empty.format(of="")
            number = Undefined(reason, everybody.original)
        else:
            # Without weights the number of all records is exact.
            is_unweighted = share.effective is None or math.isclose(share.effective, share.total)
            if counted.part == "records" and member.scope == "overall" and is_unweighted:
                interval = Interval(share.mass, share.mass, "counted")
            else:
                # Interval of the weight of some records; `squares` is the sum of their squared
                # weights. In units of their mean weight, weighted by itself, they are a number of
                # equal records with the weight's variance.
                unit = (
                    float(squares[list(member.columns)].sum()) / share.mass
                    if share.mass > 0
                    else everybody.mass_total / everybody.total
                )
                effective = share.mass / unit
                total = everybody.total
                lower, upper, method = proportion(min(effective, total), total)
                interval = Interval(lower * total * unit, upper * total * unit, method)
            number = build_value(share.mass, interval, everybody.total)
        details = Details(
            formula=metric.formula,
            subject=member.subject,
            counts={**estimate.counts(share), "n": everybody.total},
        )
        # A count is not more certain for being small: its interval rests on all records.
        results.append(build_result(metric.key, member, number, everybody.total, details))
    return results


@frozen
class _Side:
    member: Member
    share: Share


def measure_comparison(metric: Metric, comparison: ComparedRate, evidence: TableEvidence) -> list[Measured]:
    reference_member = reference(evidence.groups)
    estimate = evidence.estimates[comparison.rate]
    results = []
    for member in monitored(evidence.groups):
        if member.scope not in metric.scopes:
            continue
        columns = member.columns, reference_member.columns
        share, other_share = estimate.pair(*columns)
        sides = _Side(member, share), _Side(reference_member, other_share)
        empty = next((side for side in sides if side.share.is_empty), None)
        n = estimate.records(*columns)
        number: Value | Undefined
        details = _trace_pair(metric, comparison, estimate, *sides)
        if empty:
            number = Undefined(_explain_empty(evidence, estimate, empty), n)
        elif comparison.by.divides and other_share.mass == 0:
            number = Undefined(estimate.words.zero_reference.format(n=other_share.total), n)
        else:
            compared = estimate.compare(comparison.by, *columns)
            number = build_value(comparison.by.point(share, other_share), compared.interval, n)
            details = details.changed(counts=compared.pairs.to_counts()) if compared.pairs else details
        smallest = min(share.certain, other_share.certain)
        results.append(build_result(metric.key, member, number, smallest, details))
    return results + _measure_worst_pair(metric, comparison, evidence)


def _measure_worst_pair(metric: Metric, comparison: ComparedRate, evidence: TableEvidence) -> list[Measured]:
    """Compares the two groups furthest apart, whatever their roles; the worse one counts as monitored.

    Empty without two groups of records; those below `MINIMUM_GROUP_SIZE` are left out while there are two
    others. Interval and p-value are those of all pairs together (Bonferroni).
    """
    estimate = evidence.estimates[comparison.rate]
    groups = evidence.groups
    if "worst_pair" not in metric.scopes or not groups:
        return []
    sides = [_Side(member, estimate.share(member.columns)) for member in members(("group",), groups)]
    filled = [side for side in sides if not side.share.is_empty]
    large = [side for side in filled if side.share.certain >= MINIMUM_GROUP_SIZE]
    candidates = sorted(large if len(large) > 1 else filled, key=lambda side: side.share.rate)
    if len(candidates) < 2:  # noqa: PLR2004 - a pair
        return []
    is_error = comparison.rate in RATES and RATES[comparison.rate].is_error
    worst, best = (candidates[-1], candidates[0]) if is_error else (candidates[0], candidates[-1])
    pairs = math.comb(len(candidates), 2)
    n = worst.share.total + best.share.total
    number: Value | Undefined
    if comparison.by.divides and best.share.mass == 0:
        number = Undefined(f"the rate{best.member.of} is zero, so nothing can be divided by it", n)
    else:
        # 5 % for all pairs together, half of each pair's part at either end.
        interval = comparison.by.interval(
            *worst.share.size, *best.share.size, float(ndtri(1 - 0.025 / pairs))
        )
        number = build_value(comparison.by.point(worst.share, best.share), interval, n)
    details = _trace_pair(metric, comparison, estimate, worst, best, pairs=pairs).changed(
        chosen_from=len(candidates)
    )
    smallest = min(worst.share.certain, best.share.certain)
    return [build_result(metric.key, Member("worst_pair", None, (), "", ""), number, smallest, details)]


def _trace_pair(
    metric: Metric,
    comparison: ComparedRate,
    estimate: Estimate,
    side: _Side,
    reference_side: _Side,
    *,
    pairs: int = 1,
) -> Details:
    """Details of a comparison; those of selection rates hold a p-value, corrected for the number of pairs."""
    # The tests are of independent records, not of those with their counterfactuals.
    is_tested = comparison.rate in _SELECTION_RATES and isinstance(estimate, CountedRate)
    of_test: dict[str, Any] = {}
    if is_tested and not side.share.is_empty and not reference_side.share.is_empty:
        tested = significance(side.share, reference_side.share, pairs=pairs)
        of_test = {
            "p_value": tested.p_value,
            "p_value_method": tested.method,
            "shortfall": tested.shortfall,
        }
    return Details(
        formula=metric.formula,
        monitored=side.member.name,
        reference=reference_side.member.name,
        monitored_counts=estimate.counts(side.share),
        reference_counts=estimate.counts(reference_side.share),
        **of_test,
    )


def _explain_empty(evidence: TableEvidence, estimate: Estimate, side: _Side) -> str:
    share = side.share
    member = side.member
    if not share.original:
        if share.left_out:
            return estimate.words.no_counterfactual.format(of=member.of)
        unclassified = evidence.unclassified
        is_empty = unclassified is not None and not unclassified[list(member.columns)].any()
        return f"there is no record{member.of}" if is_empty else estimate.words.empty.format(of=member.of)
    records = evidence.estimates.get("part:records")
    return explain_weightless(
        member, has_weight=records is not None and not records.share(member.columns).is_empty
    )


@frozen
class Significance:
    p_value: float
    method: str
    shortfall: float


def significance(monitored: Share, reference: Share, *, pairs: int) -> Significance:
    """Tests whether two rates differ: Fisher's exact test if an expected count is below 5, else the z test.

    The z test takes the pooled rate; Bonferroni's correction allows for the worst of `pairs`. The shortfall
    is how many further monitored records would be favourable at the reference rate, negative if there are
    more; in records, whatever their weight. Neither share may be empty.
    """
    shortfall = (reference.rate - monitored.rate) * monitored.total
    (count, total), (other_count, other_total) = monitored.size, reference.size
    pooled = (count + other_count) / (total + other_total)
    smallest = min(total, other_total) * min(pooled, 1 - pooled)
    if smallest < MIN_EXPECTED_RECORDS:
        from scipy.stats import fisher_exact  # noqa: PLC0415 - scipy.stats takes a second to import, and few groups are so small

        # The exact test takes whole records; effective numbers are fractions.
        table = [
            [round(count), round(total) - round(count)],
            [round(other_count), round(other_total) - round(other_count)],
        ]
        return Significance(min(1.0, pairs * float(fisher_exact(table).pvalue)), "fisher", shortfall)
    error = math.sqrt(pooled * (1 - pooled) * (1 / total + 1 / other_total))
    z = (count / total - other_count / other_total) / error
    return Significance(min(1.0, pairs * math.erfc(abs(z) / math.sqrt(2))), "two_proportion_z", shortfall)
