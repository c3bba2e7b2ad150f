"""Values of a copy's correlated features, from whole training records: drawn one by one they would
describe impossible people.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem, InvalidInput
from ...base.values import Scalar, frozen, name_value
from ...domain.deployment import Column, Deployment, RecordSchema
from ...domain.groups import Group, positions
from ...domain.monitor import Monitor
from ...sources.arrays.read_records import typed_value
from ...statistics.group_labels import NEITHER
from .queries import read_donor_features
from .training_facts import Donor, Donors

MOST_REPRESENTATIVES = 20

Values = Mapping[str, Scalar | None]
"""Value of each correlated feature."""


@dataclass(frozen=True)
class GroupDonors:
    features: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    records: tuple[float, ...]
    digest: str

    @cached_property
    def _reach(self) -> list[float]:
        return list(accumulate(self.records))

    def at(self, share: float) -> Values:
        """Donor at that share, in [0, 1), of the group's training records."""
        # Rounded, a share just below 1 can reach the end of the last donor.
        index = min(bisect_right(self._reach, share * self._reach[-1]), len(self.rows) - 1)
        return dict(zip(self.features, self.rows[index], strict=True))


@frozen
class Representatives:
    """Most frequent combinations of a group's correlated features, with their shares among them.

    `covered` is their share of the group's training records.
    """

    combinations: tuple[tuple[float, Values], ...]
    covered: float


def donors_of_groups(
    donors: Donors, groups: Sequence[Group], column: Column, schema: RecordSchema, features: Sequence[str]
) -> list[GroupDonors]:
    """Donors of each group of a meta field, restricted to these features; maybe none.

    Raises:
        InvalidInput: the training data have no donors with one of the features, or another type.
    """
    for name in features:
        now = schema.column(name)
        if now is None or (name, now.type) not in donors.features:
            raise InvalidInput(
                f"attributes.{column.name}.correlated_features", describe_missing_feature(name)
            )
    columns = [(index, kind) for index, (name, kind) in enumerate(donors.features) if name in features]
    of_group: list[list[Donor]] = [[] for _ in groups]
    for donor, position in zip(
        donors.donors, positions(groups, column, (donor.value for donor in donors.donors)), strict=True
    ):
        if position != NEITHER:
            of_group[position].append(donor)
    return [
        GroupDonors(
            tuple(name for name, _ in donors.features if name in features),
            tuple(
                tuple(
                    None if (value := donor.features[index]) is None else typed_value(value, kind)
                    for index, kind in columns
                )
                for donor in mine
            ),
            tuple(donor.records for donor in mine),
            donors.digest,
        )
        for mine in of_group
    ]


def representative_donors(donors: GroupDonors, limit: int = MOST_REPRESENTATIVES) -> Representatives:
    """Combinations that represent a group where scoring each donor is too much."""
    counted = defaultdict[str, float](float)
    for row, records in zip(donors.rows, donors.records, strict=True):
        counted[json.dumps(row)] += records
    if not counted:
        return Representatives((), 0.0)
    # Equally frequent ones by their text, so that every check chooses the same.
    chosen = sorted(counted.items(), key=lambda combination: (-combination[1], combination[0]))[:limit]
    together = sum(records for _, records in chosen)
    combinations = tuple(
        (records / together, dict(zip(donors.features, json.loads(text), strict=True)))
        for text, records in chosen
    )
    # Parts added in another order can come out slightly above the whole.
    return Representatives(combinations, min(together / sum(donors.records), 1.0))


def require_donors(donors: GroupDonors, group: Group, column: Column) -> None:
    """Raises InvalidInput if the group has no donor."""
    if not donors.rows:
        raise InvalidInput(
            f"attributes.{column.name}.correlated_features",
            f"the training data keep no record of the group {name_value(group.value)!r:.100} of "
            f"{column.name}, from which copies would take their correlated features: they hold none, or too "
            "many other values that are more frequent; upload training data with such records, or leave "
            "the group out of the monitor",
        )


def donor_problems(session: Session, deployment: Deployment, monitor: Monitor) -> list[FieldProblem]:
    if not any(attribute.correlated_features for attribute in monitor.attributes):
        return []
    there = read_donor_features(session, deployment.no)
    types = {column.name: column.type for column in deployment.schema.features}
    return [
        FieldProblem(
            f"attributes[{index}].correlated_features[{number}]",
            describe_missing_feature(name)
            if attribute.feature in there
            else describe_missing_field(attribute.feature),
        )
        for index, attribute in enumerate(monitor.attributes)
        for number, name in enumerate(attribute.correlated_features)
        if name not in types or there.get(attribute.feature, {}).get(name) is not types[name]
    ]


def describe_missing_feature(name: str) -> str:
    return (
        f"the training data keep no values of {name!r:.100}: its association with the meta field is weaker "
        "than is kept, or could not be"
        " measured, or its type was changed since; GET …/correlated-features says which can be picked"
    )


def describe_missing_field(name: str) -> str:
    return (
        f"no training data hold both {name!r:.100} and the features; upload them as a file with that column"
    )
