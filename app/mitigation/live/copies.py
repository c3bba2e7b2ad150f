"""Reference copies of a live record.

Source: spec of the fairness check, section 8: jointly over the record's monitored attributes.
"""

from collections.abc import Iterator, Mapping, Sequence

from ...domain.mitigation import AttributeProfile, StandIn
from ...domain.values import Scalar
from ...frozen import frozen

MOST_COPIES = 100
"""Max copies of one record for its attributes together: those with the greatest shares."""

Row = Sequence[Scalar | None]


@frozen
class Substitution:
    """One copy: the new values by place in the row, and its share of the reference records. Shares add up to 1."""

    changes: tuple[tuple[int, Scalar | None], ...]
    share: float

    def of(self, row: Row) -> list[Scalar | None]:
        copy = list(row)
        for place, value in self.changes:
            copy[place] = value
        return copy


@frozen
class CopySet:
    """Copies for monitored values of these attributes: of all together and, if there are several, of each alone."""

    attributes: tuple[str, ...]
    together: tuple[Substitution, ...]
    alone: tuple[tuple[str, tuple[Substitution, ...]], ...]
    count: int

    def rows(self, row: Row) -> Iterator[list[Scalar | None]]:
        """Returns the copies: those of all attributes together, then those of each alone."""
        for substitution in [*self.together, *(one for _, substitutions in self.alone for one in substitutions)]:
            yield substitution.of(row)


class CopySets:
    """The copies for every combination of attributes. `features` are the model's, in the order of its rows."""

    def __init__(self, profiles: Sequence[AttributeProfile], features: Sequence[str]) -> None:
        self._stand_ins = {profile.feature: profile.stand_ins for profile in profiles}
        self._places = {name: place for place, name in enumerate(features)}
        self._kept: dict[tuple[str, ...], CopySet | None] = {}

    def of(self, monitored: tuple[str, ...]) -> CopySet | None:
        """Returns the copies for monitored values of these attributes, by those that have stand-ins; None where none has."""
        if monitored not in self._kept:
            attributes = tuple(attribute for attribute in monitored if self._stand_ins[attribute])
            together = combine_stand_ins([self._stand_ins[attribute] for attribute in attributes], self._places)
            alone = tuple((one, combine_stand_ins([self._stand_ins[one]], self._places)) for one in attributes if len(attributes) > 1)
            count = len(together) + sum(len(substitutions) for _, substitutions in alone)
            self._kept[monitored] = CopySet(attributes, together, alone, count) if attributes else None
        return self._kept[monitored]


def combine_stand_ins(stand_ins: Sequence[Sequence[StandIn]], places: Mapping[str, int]) -> tuple[Substitution, ...]:
    """Returns every combination of one stand-in of each attribute, shares multiplied; of too many those with the greatest shares.

    Where two attributes change one feature, the later one counts. Shares that are all zero count equally.
    """
    found: list[tuple[dict[int, Scalar | None], float]] = [({}, 1.0)]
    for of_one in stand_ins:
        total = sum(one.share for one in of_one)
        weighted = [(one, one.share / total if total > 0 else 1 / len(of_one)) for one in of_one]
        found = [
            (changes | {places[name]: value for name, value in one.changes}, share * weight)
            for changes, share in found
            for one, weight in weighted
        ]
        if len(found) > MOST_COPIES:
            # A combination cut here ranks after that many others whatever follows, so none is lost that would have been kept.
            ranked = sorted(range(len(found)), key=lambda place: (-found[place][1], place))
            found = [found[place] for place in sorted(ranked[:MOST_COPIES])]
    total = sum(share for _, share in found)
    return tuple(Substitution(tuple(changes.items()), share / total) for changes, share in found)
