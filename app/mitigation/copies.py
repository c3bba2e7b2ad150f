"""Which reference copies a live record gets, and which of its features they change. Asks no model.

Source: spec of the fairness check, section 8: jointly over the record's monitored attributes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from app.domain.mitigation import AttributeProfile, StandIn
from app.domain.values import Scalar

MOST_COPIES = 100
"""That stand for the reference records of one record's attributes together: those with the greatest shares."""

Row = Sequence[Scalar | None]


@dataclass(frozen=True, slots=True)
class Substitution:
    """One copy: what stands at which places of the row instead, and the share of reference records it is for. Shares add up to 1."""

    changes: tuple[tuple[int, Scalar | None], ...]
    share: float

    def of(self, row: Row) -> list[Scalar | None]:
        """The copy of that row."""
        copy = list(row)
        for place, value in self.changes:
            copy[place] = value
        return copy


@dataclass(frozen=True, slots=True)
class CopySet:
    """The copies of a record that has monitored values of these attributes: of all together and, if there are several, of each alone."""

    attributes: tuple[str, ...]
    together: tuple[Substitution, ...]
    alone: tuple[tuple[str, tuple[Substitution, ...]], ...]
    count: int

    def rows(self, row: Row) -> Iterator[list[Scalar | None]]:
        """The copies, in the order in which `CopySet.split` wants their answers."""
        for substitution in self.together:
            yield substitution.of(row)
        for _, substitutions in self.alone:
            for substitution in substitutions:
                yield substitution.of(row)


class CopySets:
    """The copies for every combination of attributes, as a profile has them. `features` are the model's, in the order of its rows."""

    def __init__(self, profiles: Sequence[AttributeProfile], features: Sequence[str]) -> None:
        self._stand_ins = {profile.feature: profile.stand_ins for profile in profiles}
        self._places = {name: place for place, name in enumerate(features)}
        self.of = cache(self._of)

    def _of(self, monitored: tuple[str, ...]) -> CopySet | None:
        """The copies of a record with a monitored value of each of these attributes, by those that have stand-ins; None where none has."""
        attributes = tuple(attribute for attribute in monitored if self._stand_ins[attribute])
        if not attributes:
            return None
        together = substitutions([self._stand_ins[attribute] for attribute in attributes], self._places)
        if len(attributes) == 1:
            return CopySet(attributes, together, (), len(together))
        alone = tuple((attribute, substitutions([self._stand_ins[attribute]], self._places)) for attribute in attributes)
        return CopySet(attributes, together, alone, len(together) + sum(len(one) for _, one in alone))


def substitutions(stand_ins: Sequence[Sequence[StandIn]], places: Mapping[str, int]) -> tuple[Substitution, ...]:
    """Every combination of one stand-in of each attribute, shares multiplied; of too many those with the greatest shares.

    Where two attributes change one feature, the later one counts. Shares that are all zero count alike.
    """
    found: list[tuple[dict[int, Scalar | None], float]] = [({}, 1.0)]
    for of_one in stand_ins:
        total = sum(one.share for one in of_one)
        weighted = [(one, one.share / total if total > 0 else 1 / len(of_one)) for one in of_one]
        # A combination that is cut here is behind so many others with whatever follows, so nothing is lost that would have been kept.
        found = _greatest(
            [
                (changes | {places[name]: value for name, value in one.changes}, share * weight)
                for changes, share in found
                for one, weight in weighted
            ]
        )
    total = sum(share for _, share in found)
    return tuple(Substitution(tuple(changes.items()), share / total) for changes, share in found)


def _greatest(found: list[tuple[dict[int, Scalar | None], float]]) -> list[tuple[dict[int, Scalar | None], float]]:
    """Those of the greatest share, in their own order; of equal ones the earlier."""
    if len(found) <= MOST_COPIES:
        return found
    ranked = sorted(range(len(found)), key=lambda place: (-found[place][1], place))
    return [found[place] for place in sorted(ranked[:MOST_COPIES])]
