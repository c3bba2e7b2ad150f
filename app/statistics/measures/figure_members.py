"""Subjects of figures: the set of columns that each scope covers, and its name."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...domain.figure_details import SIDES, Details
from ..figure_values import Measured, Scope, Undefined, Value
from ..group_labels import Groups, of_role

NAMED = 3
"""Max values that name a pooled group; the rest become `…`."""

KEPT = 512
"""Max sets of scopes and groups whose members are remembered."""


class Member(NamedTuple):
    """A set of columns. `label` is set in the scope `group`; `of` continues a sentence (" of Female"); `name` is short."""

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
    several: dict[Scope, list[Member]] = {
        "group": [Member("group", group.label, (position,), f" of {group.label}", group.label) for position, group in enumerate(groups)],
        "pooled": [_pool("pooled", groups)],
        "reference": [_pool("reference", groups)],
        "attribute": [Member("attribute", None, everyone, "", "")],
        "overall": [Member("overall", None, (*everyone, len(groups)), "", "")],
    }
    return tuple(member for scope in scopes if groups or scope in {"attribute", "overall"} for member in several.get(scope, ()))


@lru_cache(KEPT)
def monitored(groups: Groups) -> tuple[Member, ...]:
    """Each monitored value, and all pooled."""
    positions = set(of_role(groups, "monitored"))
    return tuple(member for member in members(("group", "pooled"), groups) if positions.issuperset(member.columns))


@lru_cache(KEPT)
def reference(groups: Groups) -> Member:
    return _pool("reference", groups)


def omit_repeats(results: Sequence[Measured], groups: Groups) -> list[Measured]:
    """Results without those whose counts are a group's: a role of one group, and a pair with its only reference.

    Everything is measured first: all results of a metric share random numbers.
    """
    single = {role: groups[positions[0]].label for role in SIDES if len(positions := of_role(groups, role)) == 1}
    repeated = {"pooled": single.get("monitored"), "reference": single.get("reference")}
    labels = {result.group for result in results if result.scope == "group"}

    def is_repeated(result: Measured) -> bool:
        if result.scope == "worst_pair":
            return single.get("reference") in (result.details.monitored, result.details.reference)
        return result.group is None and repeated.get(result.scope) in labels

    return [result for result in results if not is_repeated(result)]


def build_result(metric: str, member: Member, number: Value | Undefined, smallest_group: int, details: Details) -> Measured:
    return Measured(metric=metric, scope=member.scope, group=member.label, number=number, smallest_group=smallest_group, details=details)


def _pool(scope: Scope, groups: Groups) -> Member:
    role = "reference" if scope == "reference" else "monitored"
    labels = [group.label for group in groups if group.role == role]
    listed = ", ".join(labels[:NAMED]) + (", …" if len(labels) > NAMED else "")
    of = f" of the {role} group ({listed})" if labels else f" of the {role} group"
    return Member(scope, None, of_role(groups, "reference" if scope == "reference" else "monitored"), of, listed or f"the {role} group")
