"""Which perturbed copies a record needs, and what stands in them. Source: spec of the fairness check, section 4.

One attribute at a time, all other features unchanged. The model does not see a meta field: in its stead the features that are
correlated with it change, to what a record of the other group had in the training data. The same record is copied the same way in
every check.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.checks.donors import GroupDonors
from app.checks.grouping import Group, Grouping, typed_value
from app.domain.deployments import Column, FieldType
from app.domain.outcomes import Outcome
from app.domain.values import Range, Scalar, canonical


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """One kind of copy: the column set to a group's value, or to `draws` values drawn from its range.

    With donors it is a meta field: the correlated features are set to what a donor of the group had.
    """

    column: Column
    value: Scalar | Range
    draws: int
    seed: int
    donors: GroupDonors | None = None

    @property
    def text(self) -> str:
        """The target as it is stored: a value's canonical text, or `[lo, hi]`; with the features and from which donors, if it has any."""
        if self.donors is None:
            return self._group
        return json.dumps({"target": self._group, "features": self.donors.features, "donors": self.donors.digest}, ensure_ascii=False)

    @property
    def _group(self) -> str:
        return json.dumps([self.value.lo, self.value.hi]) if isinstance(self.value, Range) else canonical(self.value)

    def changes(self, record_id: str, draw: int) -> Mapping[str, Scalar | None]:
        """What stands in the changed features in that copy of that record."""
        if self.donors is None:
            return {self.column.name: self._value(record_id, draw)}
        return self.donors.at(uniform(json.dumps([self.seed, record_id, self.column.name, self._group, draw])))

    def _value(self, record_id: str, draw: int) -> Scalar:
        if not isinstance(self.value, Range):
            return typed_value(self.value, self.column.type)
        share = uniform(json.dumps([self.seed, record_id, self.column.name, self.value.lo, self.value.hi, draw]))
        if self.column.type is FieldType.INTEGER:
            lo, hi = math.ceil(self.value.lo), math.floor(self.value.hi)
            return lo + int(share * (hi - lo + 1))
        return self.value.lo + share * (self.value.hi - self.value.lo)


def copy_target(group: Group, column: Column, *, draws: int, seed: int, donors: GroupDonors | None = None) -> CopyTarget:
    """The copies that change a record into `group`. Only ranges and donors are drawn, so only they depend on draws and seed.

    With donors there is one copy, whatever the draws: it stands for the record in the other group. With two, what the model makes of
    the features that stay would count twice as much in the other group as in the record's own, and look like an effect of the group.
    """
    if donors is not None:
        return CopyTarget(column, group.value, 1, seed, donors)
    if isinstance(group.value, Range):
        return CopyTarget(column, group.value, draws, seed)
    return CopyTarget(column, group.value, 1, 0)


def copies_needed(grouping: Grouping, outcomes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each record is copied into each group [records, groups].

    Each monitored record is copied once per reference value, each reference record once per monitored value. A record in
    neither group, or with an unclassified outcome, has no copies: it takes no part in any rate.
    """
    monitored = grouping.is_monitored()
    takes_part = (grouping.codes >= 0) & (outcomes != Outcome.UNCLASSIFIED)
    if not len(monitored):
        return np.zeros((len(outcomes), 0), dtype=np.bool_)
    own = monitored[np.maximum(grouping.codes, 0)]
    needed: npt.NDArray[np.bool_] = takes_part[:, None] & (own[:, None] != monitored[None, :])
    return needed


def uniform(key: str) -> float:
    """A number in [0, 1) that depends on `key` alone."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    # 53 bits are what a float can hold; one more and the largest would round up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53
