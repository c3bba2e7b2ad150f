"""Groups by a rule over several columns, as a scan finds them."""

from collections.abc import Mapping, Sequence

from ..base.values import Scalar, canonical, frozen, frozen_by_name, read_number

ALL_OTHERS = "all others"
"""Label of the reference group of a rule."""

MAX_NAMED_VALUES = 5
"""Values of a condition that its words name."""


@frozen_by_name
class NumberInterval:
    """Numbers above `above` and up to, including, `up_to`; an absent end is open."""

    above: float | None = None
    up_to: float | None = None

    def __contains__(self, number: float) -> bool:
        return (self.above is None or number > self.above) and (self.up_to is None or number <= self.up_to)

    @property
    def words(self) -> str:
        low, high = ("" if end is None else canonical(end) for end in (self.above, self.up_to))
        if not low:
            return f"up to {high}"
        return f"above {low} to {high}" if high else f"above {low}"


@frozen_by_name
class Condition:
    """Condition on a column: one of `values`, a number in one of `intervals`, or any value but `excluded`
    (empty: any value).

    Values are compared by their canonical text. A record without a value meets it only if `or_missing`.
    """

    feature: str
    values: tuple[Scalar, ...] = ()
    intervals: tuple[NumberInterval, ...] = ()
    excluded: tuple[Scalar, ...] | None = None
    or_missing: bool = False

    def is_met_by(self, value: Scalar | None) -> bool:
        if value is None:
            return self.or_missing
        if self.intervals:
            number = read_number(value)
            return number is not None and any(number in interval for interval in self.intervals)
        listed = self.values if self.excluded is None else self.excluded
        return (canonical(value) in map(canonical, listed)) == (self.excluded is None)

    @property
    def words(self) -> str:
        phrases = [interval.words for interval in self.intervals]
        if self.values:
            phrases.append(_name_values(self.values))
        if self.excluded is not None:
            phrases.append(f"not {_name_values(self.excluded)}" if self.excluded else "any value")
        if self.or_missing:
            phrases.append("no value")
        return f"{self.feature} {' or '.join(phrases)}"


@frozen
class GroupRule:
    """Rule of a group: a record that meets every condition of one of the lists is in it."""

    any_of: tuple[tuple[Condition, ...], ...]

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(condition.feature for conditions in self.any_of for condition in conditions)
        )

    def is_met_by(self, values: Mapping[str, Scalar | None]) -> bool:
        return any(
            all(condition.is_met_by(values.get(condition.feature)) for condition in conditions)
            for conditions in self.any_of
        )

    @property
    def label(self) -> str:
        return ", or ".join(
            " and ".join(condition.words for condition in conditions) for conditions in self.any_of
        )


@frozen_by_name
class FoundBy:
    """Search that found a group among `subsets`; chance alone finds as much in `p_value` of all searches.

    `scan_id` is None if a file was searched.
    """

    scan_id: str | None
    subsets: int
    p_value: float

    @property
    def words(self) -> str:
        return f"found by a search among {self.subsets:,} groups (p = {self.p_value:.3f})"


def _name_values(values: Sequence[Scalar]) -> str:
    texts = [canonical(value) for value in values[:MAX_NAMED_VALUES]]
    if len(values) > MAX_NAMED_VALUES:
        texts.append(f"one of {len(values) - MAX_NAMED_VALUES} more")
    return " or ".join(texts)
