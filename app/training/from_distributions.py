"""Count tables of labels made from distributions, where these tell every record's group and outcome."""

from collections.abc import Sequence

import numpy as np

from app.domain.deployments import Column, RecordSchema
from app.domain.groups import NEITHER, Group, groups_of, positions, together
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.training_data import Distribution
from app.domain.values import GroupValue, Range, canonical, label_of, number_of
from app.errors import InvalidInput
from app.metrics.tables import GroupCounts
from app.metrics.tables.strata import MOST_STRATA, Strata
from app.metrics.tables.weighting import Weighting
from app.training.columns import Codes
from app.training.labels import outcome_of

SEEN_IN = "the training data"


class Inexact(Exception):
    """The distribution does not tell; the message says why."""


def table_of(
    distribution: Distribution, attributes: Sequence[MonitoredAttribute], monitor: Monitor, schema: RecordSchema, *, strata: str | None
) -> GroupCounts:
    """The count table of an attribute, or of several together, whose columns the distribution has; and that of `strata`, if not None.

    Raises:
        Inexact: it is too coarse, or the groups cannot be made.
    """
    groups = [_groups(attribute, schema, distribution) for attribute in attributes]
    features = [attribute.feature for attribute in attributes]
    try:
        named = together(features, [[(group.label, group.role) for group in of_one] for of_one in groups])
    except InvalidInput as error:
        raise Inexact(str(error)) from error
    codes = np.zeros(len(distribution.cells), dtype=np.int64)
    neither = np.zeros(len(codes), dtype=np.bool_)
    for feature, of_one in zip(features, groups, strict=True):
        of_cell = _positions(of_one, _column(schema, feature), _values(distribution, feature))
        neither |= of_cell == NEITHER
        codes = codes * len(of_one) + of_cell
    outcomes = np.array([outcome_of_label(cell.label, monitor.outcomes) for cell in distribution.cells], dtype=np.int64)
    return _Summed(distribution, np.where(neither, NEITHER, codes), outcomes).table(named, strata)


class _Summed:
    """The cells of a distribution, each with its group and its outcome."""

    def __init__(self, distribution: Distribution, groups: Codes, outcomes: Codes) -> None:
        self._distribution = distribution
        self._groups = groups
        self._outcomes = outcomes
        cells = distribution.cells
        self._records = np.array([cell.records for cell in cells], dtype=np.int64)
        is_weighted = any(cell.weight is not None for cell in cells)
        self._weights = np.array([(cell.weight or 0.0, cell.squares or 0.0) for cell in cells]).reshape(-1, 2) if is_weighted else None

    def table(self, named: Sequence[tuple[str, str]], strata: str | None) -> GroupCounts:
        """The count table of these groups."""
        size = len(named)
        counts = np.zeros((size + 1, 3), dtype=np.int64)
        # Records of no group fall into the row behind the last group.
        np.add.at(counts, (self._groups, self._outcomes), self._records)
        weighting = None
        if self._weights is not None:
            sums = np.zeros((2, size + 1, 3))
            for part, weights in zip(sums, self._weights.T, strict=True):
                np.add.at(part, (self._groups, self._outcomes), weights)
            weighting = Weighting(sums[0, :-1, :2], sums[1, :-1, :2])
        return GroupCounts(
            groups=tuple(named),  # type: ignore[arg-type] # checked and named by the table itself
            counts=counts[:-1, :2],
            unclassified=counts[:-1, 2],
            other=int(counts[-1].sum()),
            weighting=weighting,
            strata=None if strata is None else self._strata(strata, size),
        )

    def _strata(self, column: str, groups: int) -> Strata:
        values = _values(self._distribution, column)
        labels = {label_of(value): None for value in values if value is not None}
        if len(labels) > MOST_STRATA:
            raise Inexact(f"{column}, whose values are the strata, has more than {MOST_STRATA:,} different values")
        places = {label: place for place, label in enumerate(labels)}
        stratum = np.array([NEITHER if value is None else places[label_of(value)] for value in values], dtype=np.int64)
        kept = (stratum != NEITHER) & (self._groups != NEITHER) & (self._outcomes != int(Outcome.UNCLASSIFIED))
        shape, where = (len(labels), groups, 2), (stratum[kept], self._groups[kept], self._outcomes[kept])
        counts = np.zeros(shape, dtype=np.int64)
        np.add.at(counts, where, self._records[kept])
        if self._weights is None:
            return Strata(tuple(labels), counts)
        sums = np.zeros((2, *shape))
        for part, weights in zip(sums, self._weights.T, strict=True):
            np.add.at(part, where, weights[kept])
        return Strata(tuple(labels), counts, Weighting(sums[0], sums[1]))


def _column(schema: RecordSchema, name: str) -> Column:
    column = schema.column(name)
    if column is None:
        raise Inexact(f"the deployment's schema has no column {name} any more")
    return column


def _values(distribution: Distribution, column: str) -> list[GroupValue | None]:
    """Of each cell, its value of the column."""
    place = distribution.columns.index(column)
    return [cell.values[place] for cell in distribution.cells]


def _groups(attribute: MonitoredAttribute, schema: RecordSchema, distribution: Distribution) -> tuple[Group, ...]:
    column, values = _column(schema, attribute.feature), _values(distribution, attribute.feature)
    if attribute.reference is None and any(isinstance(value, Range) for value in values):
        raise Inexact(f"the reference values of {attribute.feature} were left out, and its values are counted in intervals")
    seen = {canonical(value): value for value in values if value is not None and not isinstance(value, Range)}
    try:
        return groups_of(attribute, column, seen.values(), seen_in=SEEN_IN)
    except InvalidInput as error:
        raise Inexact(str(error)) from error


def _positions(groups: Sequence[Group], column: Column, values: Sequence[GroupValue | None]) -> Codes:
    """Of each value, the position of its group or NEITHER."""
    single = [value for value in values if value is not None and not isinstance(value, Range)]
    found = positions(groups, column, single)
    members = [group.value for group in groups]
    return np.array(
        [
            NEITHER if value is None else _place(value, members, column.name) if isinstance(value, Range) else next(found)
            for value in values
        ],
        dtype=np.int64,
    )


def outcome_of_label(label: GroupValue | None, rule: OutcomeRule) -> Outcome:
    """The outcome of a cell's label.

    Raises:
        Inexact: it is an interval, and lies in an outcome only in part.
    """
    if not isinstance(label, Range):
        return outcome_of(label, rule)
    for outcome, members in ((Outcome.FAVOURABLE, rule.favourable), (Outcome.UNFAVOURABLE, rule.unfavourable)):
        if _place(label, members, "the label") != NEITHER:
            return outcome
    return Outcome.UNCLASSIFIED


def _place(interval: Range, members: Sequence[GroupValue], name: str) -> int:
    """The position of the range that holds the whole interval; NEITHER where no member has a number in common with it."""
    for position, member in enumerate(members):
        number = None if isinstance(member, Range) else number_of(member)
        bounds = member if isinstance(member, Range) else None if number is None else Range(number, number)
        if bounds is None or not bounds.overlaps(interval):
            continue
        if bounds.lo <= interval.lo and interval.hi <= bounds.hi:
            return position
        raise Inexact(f"the values of {name} are counted in intervals, and {interval.label} lies in {label_of(member)} only in part")
    return NEITHER
