"""Members of scopes; rates, counts and comparisons of two rates of them; and what all results share."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from scipy.special import ndtri

from ...base.values import frozen
from ...domain.check import SIDES, Details
from ..catalogue.metric import CountFigure, Metric, RateComparison, RateFigure
from ..group_labels import Groups, Role, find_positions
from ..intervals.draws import Estimate, TableEvidence
from ..intervals.intervals import TAIL, Interval, build_rate_interval
from ..intervals.rate_estimates import PARTS, RATES, CountedRate, Share
from ..intervals.verdicts import (
    MINIMUM_GROUP_SIZE,
    FigureScope,
    Measured,
    Undefined,
    Value,
    warn_of_few_records,
)

MAX_NAMED_VALUES = 3
"""Values that name a pooled group; the others become `…`."""

CACHED_GROUPINGS = 512

MIN_EXPECTED_RECORDS = 5
"""Records expected in a cell for the normal approximation (Cochran 1954)."""

_SELECTION_RATES = frozenset({"favourable", "favourable_before", "favourable_after"})
"""Rates whose comparisons are tested."""


class Member(NamedTuple):
    """Columns of a table that one figure is about, named " of Female" (`of`) and "Female" (`name`) in
    sentences.

    Only the scope `group` has a `label`.
    """

    scope: FigureScope
    label: str | None
    columns: tuple[int, ...]
    of: str
    name: str

    @property
    def subject(self) -> str | None:
        return self.name or None


@lru_cache(CACHED_GROUPINGS)
def list_members(scopes: tuple[FigureScope, ...], groups: Groups) -> tuple[Member, ...]:
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
def list_monitored(groups: Groups) -> tuple[Member, ...]:
    positions = set(find_positions(groups, "monitored"))
    return tuple(
        member for member in list_members(("group", "pooled"), groups) if positions.issuperset(member.columns)
    )


@lru_cache(CACHED_GROUPINGS)
def pool_reference(groups: Groups) -> Member:
    return _pool("reference", groups)


def omit_repeats(results: Sequence[Measured], groups: Groups) -> list[Measured]:
    """Leaves out results with a group's own counts: a role of one group, a pair with its only reference.

    Everything is measured first: all results of a metric share random numbers.
    """
    positions_of = {role: find_positions(groups, role) for role in SIDES}
    single = {
        role: groups[positions[0]].label for role, positions in positions_of.items() if len(positions) == 1
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
    """Value with its interval, which holds it whatever the rounding; an infinite end becomes None."""
    ends = min(point, interval.lower), max(interval.upper, point)
    lower, upper = (end if math.isfinite(end) else None for end in ends)
    return Value(point, lower, upper, interval.method, n)


def explain_weightless(member: Member, *, has_weight: bool) -> str:
    """Reason why a figure has no weight. `has_weight`: other records of the group have some."""
    return f"the records{member.of}{' that it rests on' if has_weight else ''} weigh nothing"


def add_caution(result: Measured) -> Measured:
    """Adds a caution if few records are in the smallest denominator, unless the figure has another."""
    if not isinstance(result.number, Value) or result.details.caution is not None:
        return result
    warning = warn_of_few_records(
        result.smallest_group if result.caution_records is None else result.caution_records
    )
    return result if warning is None else replace(result, details=result.details.changed(caution=warning))


def _pool(scope: Literal["pooled", "reference"], groups: Groups) -> Member:
    role: Role = "reference" if scope == "reference" else "monitored"
    positions = find_positions(groups, role)
    listed = ", ".join(groups[position].label for position in positions[:MAX_NAMED_VALUES])
    listed += ", …" if len(positions) > MAX_NAMED_VALUES else ""
    of = f" of the {role} group ({listed})" if positions else f" of the {role} group"
    return Member(scope, None, positions, of, listed or f"the {role} group")


def measure_rate(metric: Metric, rate: RateFigure, evidence: TableEvidence) -> list[Measured]:
    estimate = evidence.estimates[rate.rate]
    results = []
    for member in list_members(metric.scopes, evidence.groups):
        share = estimate.share(member.columns)
        counts = estimate.counts(share)
        for name in rate.parts:
            part_estimate = evidence.estimates[name]
            counts |= part_estimate.counts(part_estimate.share(member.columns))
        number: Value | Undefined
        if share.is_empty:
            number = Undefined(_explain_empty(evidence, estimate, _Side(member, share)), share.original)
        else:
            interval = estimate.rate_interval(member.columns)
            number = build_value(share.rate, interval, estimate.records(member.columns))
        details = Details(formula=metric.formula, subject=member.subject, counts=counts)
        results.append(build_result(metric.key, member, number, share.certain, details))
    return results


def measure_counts(metric: Metric, counted: CountFigure, evidence: TableEvidence) -> list[Measured]:
    """Measures the number, or weight, of the records in a part of the confusion matrix of each member."""
    estimate = evidence.estimates[f"part:{counted.part}"]
    all_share = estimate.share(range(len(evidence.groups) + 1))
    squares = PARTS[counted.part].sum_cells(evidence.cells["confusion"].squares)
    results = []
    for member in list_members(metric.scopes, evidence.groups):
        share = estimate.share(member.columns)
        number: Value | Undefined
        if all_share.is_empty:
            reason = (
                "the records weigh nothing" if all_share.original else estimate.phrases.empty.format(of="")
            )
            number = Undefined(reason, all_share.original)
        else:
            # Without weights the number of all records is exact.
            is_unweighted = share.effective is None or math.isclose(share.effective, share.total)
            if counted.part == "records" and member.scope == "overall" and is_unweighted:
                interval = Interval(share.mass, share.mass, "counted")
            else:
                interval = _build_weight_interval(
                    share.mass, float(squares[list(member.columns)].sum()), all_share
                )
            number = build_value(share.mass, interval, all_share.total)
        details = Details(
            formula=metric.formula,
            subject=member.subject,
            counts={**estimate.counts(share), "n": all_share.total},
        )
        # A count is not more certain for being small: its interval rests on all records.
        results.append(build_result(metric.key, member, number, all_share.total, details))
    return results


def _build_weight_interval(weight: float, squares: float, whole: Share) -> Interval:
    """Interval of the weight of some records of a whole; `squares` is the sum of their squared weights.

    In units of their mean weight, weighted by itself, they are a number of equal records with the weight's
    variance.
    """
    unit = squares / weight if weight > 0 else whole.mass_total / whole.total
    lower, upper, method = build_rate_interval(min(weight / unit, whole.total), whole.total)
    return Interval(lower * whole.total * unit, upper * whole.total * unit, method)


@frozen
class _Side:
    member: Member
    share: Share


def measure_comparison(metric: Metric, comparison: RateComparison, evidence: TableEvidence) -> list[Measured]:
    """Compares a rate of each monitored group with the reference's, and of the two groups furthest apart."""
    reference = pool_reference(evidence.groups)
    estimate = evidence.estimates[comparison.rate]
    results = []
    for member in list_monitored(evidence.groups):
        if member.scope not in metric.scopes:
            continue
        columns = member.columns, reference.columns
        share, other_share = estimate.pair(*columns)
        sides = _Side(member, share), _Side(reference, other_share)
        empty_side = next((side for side in sides if side.share.is_empty), None)
        n = estimate.records(*columns)
        number: Value | Undefined
        details = _describe_pair(metric, comparison, estimate, *sides)
        if empty_side:
            number = Undefined(_explain_empty(evidence, estimate, empty_side), n)
        elif comparison.by.divides and other_share.mass == 0:
            number = Undefined(estimate.phrases.zero_reference.format(n=other_share.total), n)
        else:
            compared = estimate.compare(comparison.by, *columns)
            number = build_value(comparison.by.point(share, other_share), compared.interval, n)
            details = details.changed(counts=compared.pairs.to_counts()) if compared.pairs else details
        smallest = min(share.certain, other_share.certain)
        results.append(build_result(metric.key, member, number, smallest, details))
    return results + _measure_worst_pair(metric, comparison, evidence)


def _measure_worst_pair(
    metric: Metric, comparison: RateComparison, evidence: TableEvidence
) -> list[Measured]:
    """Compares the two groups furthest apart, whatever their roles; the worse one counts as monitored.

    Empty without two groups of records; those below `MINIMUM_GROUP_SIZE` are left out while there are two
    others. Interval and p-value are those of all pairs together (Bonferroni).
    """
    estimate = evidence.estimates[comparison.rate]
    groups = evidence.groups
    if "worst_pair" not in metric.scopes or not groups:
        return []
    sides = [_Side(member, estimate.share(member.columns)) for member in list_members(("group",), groups)]
    with_records = [side for side in sides if not side.share.is_empty]
    large = [side for side in with_records if side.share.certain >= MINIMUM_GROUP_SIZE]
    candidates = sorted(large if len(large) > 1 else with_records, key=lambda side: side.share.rate)
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
        interval = comparison.by.interval(*worst.share.size, *best.share.size, float(ndtri(1 - TAIL / pairs)))
        number = build_value(comparison.by.point(worst.share, best.share), interval, n)
    details = _describe_pair(metric, comparison, estimate, worst, best, pairs=pairs).changed(
        chosen_from=len(candidates)
    )
    smallest = min(worst.share.certain, best.share.certain)
    return [build_result(metric.key, Member("worst_pair", None, (), "", ""), number, smallest, details)]


def _describe_pair(
    metric: Metric,
    comparison: RateComparison,
    estimate: Estimate,
    side: _Side,
    reference_side: _Side,
    *,
    pairs: int = 1,
) -> Details:
    """Details of a comparison; those of selection rates hold a p-value, corrected for the number of pairs."""
    # The tests are of independent records, not of those with their counterfactuals.
    is_tested = comparison.rate in _SELECTION_RATES and isinstance(estimate, CountedRate)
    test_details: dict[str, Any] = {}
    if is_tested and not side.share.is_empty and not reference_side.share.is_empty:
        tested = measure_significance(side.share, reference_side.share, pairs=pairs)
        test_details = {
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
        **test_details,
    )


def _explain_empty(evidence: TableEvidence, estimate: Estimate, side: _Side) -> str:
    share = side.share
    member = side.member
    if not share.original:
        if share.left_out:
            return estimate.phrases.no_counterfactual.format(of=member.of)
        unclassified = evidence.unclassified
        is_empty = unclassified is not None and not unclassified[list(member.columns)].any()
        return f"there is no record{member.of}" if is_empty else estimate.phrases.empty.format(of=member.of)
    records = evidence.estimates.get("part:records")
    return explain_weightless(
        member, has_weight=records is not None and not records.share(member.columns).is_empty
    )


@frozen
class Significance:
    """Result of a test whether two rates differ; the `shortfall` is in records of the monitored group."""

    p_value: float
    method: str
    shortfall: float


def measure_significance(monitored: Share, reference: Share, *, pairs: int) -> Significance:
    """Tests whether two rates differ: Fisher's exact test if an expected count is below 5, else the z test
    with the pooled rate.

    Bonferroni's correction allows for the worst of `pairs`. The shortfall is how many further monitored
    records would be favourable at the reference rate, whatever their weight; negative if there are more.
    Neither share may be empty.
    """
    shortfall = (reference.rate - monitored.rate) * monitored.total
    (count, total), (other_count, other_total) = monitored.size, reference.size
    pooled = (count + other_count) / (total + other_total)
    if min(total, other_total) * min(pooled, 1 - pooled) < MIN_EXPECTED_RECORDS:
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
