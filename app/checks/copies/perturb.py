"""Copies of a record in which one attribute is changed. Source: spec of the fairness check, section 4.

All other features stay. Instead of a meta field, which is not sent, its correlated features take the values of another group's training
record. A record has the same copies in every check.
"""

import hashlib
import json
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...base.frozen import frozen
from ...base.values import Range, Scalar, canonical
from ...deployments.training.donor_values import GroupDonors
from ...domain.deployment import Column, FieldType
from ...domain.outcome import Outcome
from ...sources.arrays.group_of_records import Group, Grouping, typed_value


@frozen
class CopyTarget:
    """One kind of copy: the column set to a group's value, or to `draws` values drawn from its range.

    With donors it is a meta field: its correlated features are set to a donor's values. A column without name changes nothing.
    """

    column: Column
    value: Scalar | Range
    draws: int
    seed: int
    donors: GroupDonors | None = None

    @property
    def text(self) -> str:
        """Target as stored: a value's canonical text, or `[lo, hi]`, with features and donors, if any."""
        if self.donors is None:
            return self._group
        return json.dumps({"target": self._group, "features": self.donors.features, "donors": self.donors.digest}, ensure_ascii=False)

    @property
    def _group(self) -> str:
        return json.dumps(self.value) if isinstance(self.value, Range) else canonical(self.value)

    def changes(self, record_id: str, draw: int) -> Mapping[str, Scalar | None]:
        name, value = self.column.name, self.value
        if not name:
            return {}
        if self.donors is not None:
            return self.donors.at(uniform(json.dumps([self.seed, record_id, name, self._group, draw])))
        if not isinstance(value, Range):
            return {name: typed_value(value, self.column.type)}

        share = uniform(json.dumps([self.seed, record_id, name, *value, draw]))
        if self.column.type is FieldType.INTEGER:
            lo, hi = math.ceil(value.lo), math.floor(value.hi)
            return {name: lo + int(share * (hi - lo + 1))}
        if math.isinf(value.hi - value.lo):
            # The width overflows. This form does not, but loses digits.
            return {name: (1 - share) * value.lo + share * value.hi}
        return {name: value.lo + share * (value.hi - value.lo)}


def copy_target(group: Group, column: Column, *, draws: int, seed: int, donors: GroupDonors | None = None) -> CopyTarget:
    """Copies that change a record into `group`. Only ranges and donors depend on draws and seed.

    With donors there is one copy, whatever the draws: with two, the answers to the unchanged features would count twice in the other group,
    and look like an effect of the group.
    """
    if donors is not None:
        return CopyTarget(column, group.value, 1, seed, donors)
    if isinstance(group.value, Range):
        return CopyTarget(column, group.value, draws, seed)
    return CopyTarget(column, group.value, 1, 0)


def copies_needed(grouping: Grouping, outcomes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each record is copied into each group [records, groups].

    Monitored records once per reference value, reference records once per monitored value; others take no part in any rate.
    """
    monitored = grouping.is_monitored()
    takes_part = (grouping.codes >= 0) & (outcomes != Outcome.UNCLASSIFIED)
    if not len(monitored):
        return np.zeros((len(outcomes), 0), dtype=np.bool_)
    is_monitored = monitored[np.maximum(grouping.codes, 0)]
    needed: npt.NDArray[np.bool_] = takes_part[:, None] & (is_monitored[:, None] != monitored[None, :])
    return needed


def uniform(key: str) -> float:
    """Number in [0, 1) that depends on `key` alone."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    # 53 bits are the precision of a float; one more could round up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53
