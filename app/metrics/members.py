"""Whom figures are about: the sets of a table's columns that each scope means, and how a sentence names them."""

from collections.abc import Sequence
from typing import NamedTuple

from app.metrics.groups import Groups, of_role
from app.metrics.values import Scope

NAMED = 3
"""How many values a pooled group is named by before the rest become `…`."""


class Member(NamedTuple):
    """A set of columns. `label` is a group's in the scope `group`; `of` continues a sentence (" of Female"); `name` is short."""

    scope: Scope
    label: str | None
    columns: tuple[int, ...]
    of: str
    name: str

    def named(self) -> dict[str, str]:
        """Whom a sentence is about, as a detail; nothing where it is everybody."""
        return {"whom": self.name} if self.name else {}


def members(scopes: Sequence[Scope], groups: Groups) -> list[Member]:
    """Each scope that is a set of columns, in the order of the scopes; a table without groups is about everybody only."""
    everyone = tuple(range(len(groups)))
    several: dict[Scope, list[Member]] = {
        "group": [Member("group", group.label, (position,), f" of {group.label}", group.label) for position, group in enumerate(groups)],
        "pooled": [_pooled("pooled", groups)],
        "reference": [_pooled("reference", groups)],
        "attribute": [Member("attribute", None, everyone, "", "")],
        "overall": [Member("overall", None, (*everyone, len(groups)), "", "")],
    }
    return [member for scope in scopes if groups or scope in {"attribute", "overall"} for member in several.get(scope, ())]


def monitored(groups: Groups) -> list[Member]:
    """Each monitored value, and all of them pooled."""
    positions = set(of_role(groups, "monitored"))
    return [member for member in members(("group", "pooled"), groups) if positions.issuperset(member.columns)]


def reference(groups: Groups) -> Member:
    """The reference values pooled."""
    return _pooled("reference", groups)


def _pooled(scope: Scope, groups: Groups) -> Member:
    role = "reference" if scope == "reference" else "monitored"
    labels = [group.label for group in groups if group.role == role]
    listed = ", ".join(labels[:NAMED]) + (", …" if len(labels) > NAMED else "")
    of = f" of the {role} group ({listed})" if labels else f" of the {role} group"
    return Member(scope, None, of_role(groups, "reference" if scope == "reference" else "monitored"), of, listed or f"the {role} group")
