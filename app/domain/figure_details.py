"""Details of a figure, which show how it was computed."""

from collections.abc import Mapping
from dataclasses import field, fields
from operator import attrgetter
from typing import Any, Literal

from ..base.frozen import frozen_by_name

Side = Literal["monitored", "reference"]
SIDES: tuple[Side, Side] = ("monitored", "reference")

Counts = Mapping[str, float | None]
"""Numbers by name, such as `favourable` and `n`; None where a sum has no number."""


@frozen_by_name
class Details:
    """Origin of one figure; a field that is None is absent.

    A figure is about one `subject` (in JSON `"whom"`), or compares `monitored` with `reference`, the two
    furthest apart of `chosen_from` groups. `chosen_p_value` allows for the choice among several groups.
    `groups` to `value_without_small_groups` describe figures across all groups; `rate` to
    `subgroup_of_groups` compare a found subgroup with all records. `homogeneity` tests that strata are
    alike. `caution` continues "It …". `labels` counts the records with a label, of a figure that needs
    them. `others` are members that this release does not know and that are not numbers.
    """

    formula: str | None = None
    subject: str | None = None
    monitored: str | None = None
    reference: str | None = None
    counts: Counts = field(default_factory=dict)
    monitored_counts: Counts = field(default_factory=dict)
    reference_counts: Counts = field(default_factory=dict)
    p_value: float | None = None
    chosen_p_value: float | None = None
    p_value_method: str | None = None
    shortfall: float | None = None
    chosen_from: int | None = None
    groups: int | None = None
    smallest_group: str | None = None
    small_groups: int | None = None
    records_of_small_groups: int | None = None
    value_without_small_groups: float | None = None
    strata: int | None = None
    homogeneity: Mapping[str, Any] | None = None
    records_without_a_stratum: int | None = None
    draws: int | None = None
    neighbours: int | None = None
    unscored: int | None = None
    rate: float | None = None
    subgroup_rate: float | None = None
    subgroup_n: int | None = None
    subgroup_of_groups: Mapping[str, int] | None = None
    records_drawn_by_lot: int | None = None
    records_without_a_feature: int | None = None
    records_not_scored: int | None = None
    caution: str | None = None
    labels: Mapping[str, object] | None = None
    others: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_json(cls, members: Mapping[str, object]) -> "Details":
        """Details that `to_json` wrote, in any release; an unknown number becomes a count."""
        stated: dict[str, Any] = {}
        counts: dict[str, dict[str, float | None]] = {"": {}, "monitored_": {}, "reference_": {}}
        other_members: dict[str, object] = {}
        for name, value in members.items():
            if name in _FIELDS and value is not None:
                stated[_FIELDS[name]] = value
            elif value is None or isinstance(value, int | float):
                prefix = next((f"{side}_" for side in SIDES if name.startswith(f"{side}_")), "")
                counts[prefix][name.removeprefix(prefix)] = value
            else:
                other_members[name] = value
        return cls(
            **stated,
            counts=counts[""],
            monitored_counts=counts["monitored_"],
            reference_counts=counts["reference_"],
            others=other_members,
        )

    def changed(self, **changes: object) -> "Details":
        """A copy, in a third of the time of `dataclasses.replace`."""
        values: dict[str, Any] = dict(zip(_NAMES, _READ_ALL(self), strict=True))
        return Details(**values | changes)

    def to_json(self) -> dict[str, Any]:
        """Stored members, in the order in which Postgres keeps them."""
        members = {
            name: value
            for name, attribute in _FIELDS.items()
            if (value := getattr(self, attribute)) is not None
        }
        members |= {**self.counts, **self.others}
        for side in SIDES:
            members |= {f"{side}_{name}": count for name, count in self.counts_of(side).items()}
        return _order_as_jsonb(members)

    def name_of(self, side: Side) -> str | None:
        return self.monitored if side == "monitored" else self.reference

    def counts_of(self, side: Side) -> Counts:
        return self.monitored_counts if side == "monitored" else self.reference_counts

    def records_of(self, side: Side) -> int | None:
        """Records with an outcome, without copies; None if that is not stored."""
        counts = self.counts_of(side)
        numbers = (counts.get(name) for name in ("own_n", "original_n", "n"))
        return next((round(number) for number in numbers if number is not None), None)


_NAMES = tuple(field.name for field in fields(Details))
_READ_ALL = attrgetter(*_NAMES)

_FIELDS = {
    "whom" if field.name == "subject" else field.name: field.name
    for field in fields(Details)
    if field.name not in {"counts", "monitored_counts", "reference_counts", "others"}
}


def _order_as_jsonb(members: Mapping[str, Any]) -> dict[str, Any]:
    # JSONB keeps shorter names first, then compares bytes.
    names = sorted(members, key=lambda name: (len(name.encode()), name.encode()))
    return {
        name: _order_as_jsonb(nested) if isinstance(nested := members[name], Mapping) else nested
        for name in names
    }
