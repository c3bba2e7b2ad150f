"""Subjects of figures: the set of columns that each scope covers, and its name."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

from ...domain.check import SIDES, Details
from ..figure_values import Measured, Scope, Undefined, Value
from ..group_labels import Groups, Role, of_role
from ..intervals.cautions import caution
from ..intervals.intervals import Interval

NAMED = 3
"""Max values that name a pooled group; the rest become `…`."""

KEPT = 512
"""Max sets of scopes and groups whose members are remembered."""


class Member(NamedTuple):
    """A set of columns. `label` is set in the scope `group`; `of` continues a sentence (" of Female");
    `name` is short.
    """

    scope: Scope
    label: str | None
    columns: tuple[int, ...]
    of: str
    name: str

    @property
    def subject(self) -> str | None:
        """Subject of a sentence; None for overall figures."""
        return self.name or None


@lru_cache(KEPT)
def members(scopes: tuple[Scope, ...], groups: Groups) -> tuple[Member, ...]:
    """Each scope that is a set of columns, in order; without groups overall figures only."""
    everyone = tuple(range(len(groups)))
    several = {
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
        for member in several.get(scope, ())
    )


@lru_cache(KEPT)
def monitored(groups: Groups) -> tuple[Member, ...]:
    """Each monitored value, and all pooled."""
    positions = set(of_role(groups, "monitored"))
    return tuple(
        member for member in members(("group", "pooled"), groups) if positions.issuperset(member.columns)
    )


@lru_cache(KEPT)
def reference(groups: Groups) -> Member:
    return _pool("reference", groups)


def omit_repeats(results: Sequence[Measured], groups: Groups) -> list[Measured]:
    """Results without those whose counts are a group's: a role of one group, and a pair with its only
    reference.

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
    """Rounding must not push the limits past the value; an infinite one is none."""
    lower = min(point, interval.lower)  # also without a lower limit, as of vanishing weights
    upper = None if interval.upper is None else max(point, interval.upper)
    return Value(point, lower if math.isfinite(lower) else None, upper, interval.method, n)


def explain_weightless(member: Member, *, has_weight: bool) -> str:
    """`has_weight`: the group has records of some weight, which the figure skips."""
    return f"the records{member.of}{' that it rests on' if has_weight else ''} weigh nothing"


def with_caution(result: Measured) -> Measured:
    """Result with a caution where few records are in its smallest denominator, unless it has another."""
    if not isinstance(result.number, Value) or result.details.caution is not None:
        return result
    warning = caution(result.smallest_group if result.cautious_of is None else result.cautious_of)
    return result if warning is None else replace(result, details=result.details.changed(caution=warning))


def _pool(scope: Literal["pooled", "reference"], groups: Groups) -> Member:
    role: Role = "reference" if scope == "reference" else "monitored"
    positions = of_role(groups, role)
    listed = ", ".join(groups[position].label for position in positions[:NAMED]) + (
        ", …" if len(positions) > NAMED else ""
    )
    of = f" of the {role} group ({listed})" if positions else f" of the {role} group"
    return Member(scope, None, positions, of, listed or f"the {role} group")
