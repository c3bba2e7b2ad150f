"""Measures one attribute on one data set: every row of the catalogue, in every scope it has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.metrics.catalogue import Data, Metric, metrics_on
from app.metrics.comparisons import Comparison, Share
from app.metrics.estimates import Estimate
from app.metrics.groups import Groups, of_role
from app.metrics.intervals import Interval
from app.metrics.values import Measured, Scope, Undefined, Value
from app.metrics.worst import RatioLimits, worst_group

NAMED = 3
"""How many values a pooled group is named by before the rest become `…`."""


def measure_all(data: Data, groups: Groups, estimates: Mapping[str, Estimate], limits: RatioLimits) -> list[Measured]:
    """Every metric of the data set, in catalogue order. `estimates` holds the rates by the name the rows give them."""
    results: list[Measured] = []
    for metric in metrics_on(data):
        estimate = estimates[metric.rate]
        if metric.comparison is None:
            results += [_rate(metric, estimate, *entry) for entry in _whose(metric.scopes, groups)]
            continue
        compared = _pairs(metric, metric.comparison, estimate, groups)
        chosen = _headline(metric.worst_by, results) or _worst_label(compared, limits, metric.comparison)
        results += [*compared, *_worst(compared, chosen)]
    return results


def _whose(scopes: Sequence[Scope], groups: Groups) -> list[tuple[Scope, str | None, tuple[int, ...], str]]:
    """Each scope with its group's label, its columns, and its name in a sentence."""
    everyone = tuple(range(len(groups)))
    several: dict[Scope, list[tuple[str | None, tuple[int, ...], str]]] = {
        "group": [(group.label, (position,), f" of {group.label}") for position, group in enumerate(groups)],
        "pooled": [(None, of_role(groups, "monitored"), f" of {_named(groups, 'monitored')}")],
        "reference": [(None, of_role(groups, "reference"), f" of {_named(groups, 'reference')}")],
        "attribute": [(None, everyone, "")],
        "overall": [(None, (*everyone, len(groups)), "")],
    }
    # A table without groups is about everybody only.
    return [(scope, *entry) for scope in scopes if groups or scope in ("attribute", "overall") for entry in several[scope]]


def _rate(metric: Metric, estimate: Estimate, scope: Scope, label: str | None, of: tuple[int, ...], name: str) -> Measured:
    share = estimate.share(of)
    number: Value | Undefined
    if share.original == 0:
        number = Undefined(estimate.words.empty.format(of=name), 0)
    else:
        number = _value(share.rate, estimate.rate_interval(of), estimate.records(of))
    details = {"formula": metric.formula, **estimate.counts(share)}
    return Measured(metric=metric.key, scope=scope, group=label, number=number, smallest_group=share.original, details=details)


def _pairs(metric: Metric, comparison: Comparison, estimate: Estimate, groups: Groups) -> list[Measured]:
    """The comparison of each monitored value, and of all pooled, with the reference."""
    against = of_role(groups, "reference")
    # Once, not for each group: it goes through all of them.
    other, other_name = estimate.share(against), f" of {_named(groups, 'reference')}"
    monitored = set(of_role(groups, "monitored"))
    results = []
    for scope, label, of, name in (entry for entry in _whose(("group", "pooled"), groups) if monitored.issuperset(entry[2])):
        share = estimate.share(of)
        reason = _missing(comparison, estimate, (share, name), (other, other_name))
        number = Undefined(reason, estimate.records(of, against)) if reason else _compared(comparison, estimate, of, against)
        results.append(
            Measured(
                metric=metric.key,
                scope=scope,
                group=label,
                number=number,
                smallest_group=min(share.original, other.original),
                details={"formula": metric.formula, **_both(estimate, share, other)},
            )
        )
    return results


def _missing(comparison: Comparison, estimate: Estimate, monitored: tuple[Share, str], reference: tuple[Share, str]) -> str | None:
    """Why the two cannot be compared, or None."""
    for share, name in (monitored, reference):
        if share.original == 0:
            return estimate.words.empty.format(of=name)
    other = reference[0]
    return estimate.words.zero_reference.format(n=other.total) if comparison.divides and other.count == 0 else None


def _compared(comparison: Comparison, estimate: Estimate, of: Sequence[int], against: Sequence[int]) -> Value:
    point = comparison.point(estimate.share(of), estimate.share(against))
    return _value(point, estimate.pair_interval(comparison, of, against), estimate.records(of, against))


def _value(point: float, interval: Interval, records: int) -> Value:
    return Value(point, interval.lower, interval.upper, interval.method, records)


def _both(estimate: Estimate, monitored: Share, reference: Share) -> dict[str, int]:
    sides = (("monitored", monitored), ("reference", reference))
    return {f"{side}_{name}": count for side, share in sides for name, count in estimate.counts(share).items()}


def _named(groups: Groups, role: str) -> str:
    labels = [group.label for group in groups if group.role == role]
    shown = ", ".join(labels[:NAMED]) + (", …" if len(labels) > NAMED else "")
    return f"the {role} group ({shown})" if labels else f"the {role} group"


def _headline(key: str | None, results: Sequence[Measured]) -> str | None:
    """The worst value another metric has chosen already."""
    chosen = next((result for result in results if result.metric == key and result.scope == "worst"), None)
    return None if chosen is None else str(chosen.details["worst_group"]) if "worst_group" in chosen.details else None


def _worst_label(compared: Sequence[Measured], limits: RatioLimits, comparison: Comparison) -> str | None:
    each = [result for result in compared if result.scope == "group"]
    if comparison.divides:
        return worst_group(each, limits)
    numbers = [(result.number.value, result.group) for result in each if isinstance(result.number, Value)]
    return min(numbers, default=(0.0, None), key=lambda entry: entry[0])[1]


def _worst(compared: Sequence[Measured], chosen: str | None) -> list[Measured]:
    """The chosen value's result again as the attribute's headline; where none has a number, the first one's reason."""
    each = [result for result in compared if result.scope == "group"]
    for result in each:
        if result.group == chosen:
            return [replace(result, scope="worst", group=None, details={**result.details, "worst_group": chosen})]
    return [replace(result, scope="worst", group=None) for result in each[:1]]
