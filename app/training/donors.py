"""Which training records lend their correlated features to copies, and what is kept of them.

Chosen in one look through the file, by record number alone; read in another one, of the needed columns only.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.deployments import Column, RecordSchema
from app.domain.groups import in_order
from app.domain.training_data import Association, Correlated, Donor, Donors
from app.domain.values import Scalar, normalised
from app.training.columns import MISSING, Coded, Codes, is_quantity
from app.training.correlations import Correlations
from app.training.counting import Axis, Bins, Values
from app.training.files import TrainingFile
from app.training.limits import DONORS, LEAST_STRENGTH, MOST_DONOR_GROUPS, MOST_DONOR_PLACES, MOST_DONOR_VALUES, MOST_DONOR_VALUES_TOGETHER
from app.training.pieces import Layout, Part, Piece, pieces
from app.training.survey import Survey

Hashes = npt.NDArray[np.uint64]
Numbered = npt.NDArray[np.int32]
"""Places and rows on hold, of which there may be millions; no file has more rows than this holds."""

WAITING = 65_536
"""Records that may become donors are sorted so many at a time."""


@dataclass(slots=True)
class Chosen:
    """Of each place of an axis, the records with the smallest hashes."""

    axis: Axis
    counts: Codes = field(init=False)
    _worst: Hashes = field(init=False)
    """Of each place, the hash that a record must not exceed to be among them."""
    _places: Numbered = field(init=False)
    _rows: Numbered = field(init=False)
    _most: int = field(init=False)
    _waiting: list[tuple[Numbered, Numbered]] = field(init=False, default_factory=list)
    _waiting_rows: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.axis.size, dtype=np.int64)
        self._worst = np.full(self.axis.size, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._places = self._rows = np.empty(0, dtype=np.int32)
        # Where a meta field has many values there is room for fewer donors of each, beside the value at least one feature of theirs.
        self._most = max(min(DONORS, MOST_DONOR_VALUES // (2 * max(min(self.axis.size, MOST_DONOR_GROUPS), 1))), 1)

    def add(self, part: Part, before: int) -> None:
        """Looks at one piece, above which `before` rows of the file stand."""
        places = self.axis.codes(part)
        rows = np.flatnonzero(places != MISSING)
        places = places[rows]
        self.counts += np.bincount(places, minlength=len(self.counts))
        rows += before
        better = hash_of(rows) <= self._worst[places]
        self._waiting.append((places[better].astype(np.int32), rows[better].astype(np.int32)))
        self._waiting_rows += int(better.sum())
        # Sorting costs the more the more are kept, so as many must wait for it.
        if self._waiting_rows > max(WAITING, len(self._rows)):
            self._settle()

    def _settle(self) -> None:
        places = np.concatenate([self._places, *(places for places, _ in self._waiting)])
        rows = np.concatenate([self._rows, *(rows for _, rows in self._waiting)])
        hashes = hash_of(rows)
        kept = _smallest(places, hashes, self._most)
        self._places, self._rows = places[kept], rows[kept]
        is_full = np.bincount(self._places, minlength=len(self.counts)) == self._most
        worst = np.zeros_like(self._worst)
        np.maximum.at(worst, self._places, hashes[kept])
        self._worst[is_full] = worst[is_full]
        self._waiting, self._waiting_rows = [], 0

    def picked(self, most_values: int, columns: int) -> tuple[Codes, npt.NDArray[np.float64]]:
        """The numbers of the records in ascending order, and how many records each stands for.

        They are of the most frequent places, equally many of each, and have at most so many values in that many columns.
        """
        self._settle()
        frequent = np.argsort(-self.counts, kind="stable")[:MOST_DONOR_GROUPS]
        groups = max(int((self.counts[frequent] > 0).sum()), 1)
        kept = _smallest(self._places, hash_of(self._rows), min(self._most, max(most_values // (groups * columns), 1)))
        kept = kept[np.isin(self._places[kept], frequent)]
        places, rows = self._places[kept], self._rows[kept]
        of_place = np.bincount(places, minlength=len(self.counts))
        order = np.argsort(rows)
        return rows[order].astype(np.int64), (self.counts / np.maximum(of_place, 1))[places[order]]


class DonorChoice:
    """The records of a file that may become donors, for each meta field whose values are few enough or numbers."""

    def __init__(self, correlations: Correlations, layout: Layout, survey: Survey) -> None:
        self._layout = layout
        columns = {column.name: column for column in layout.columns}
        self._chosen: dict[str, Chosen] = {}
        room = MOST_DONOR_PLACES
        for name in correlations.attributes:
            axis = _axis(columns[name], survey)
            if axis is not None and axis.size <= room:
                self._chosen[name] = Chosen(axis)
                room -= axis.size
        self._correlations = correlations
        self._before = 0

    def add(self, piece: Piece) -> None:
        """Looks at one piece."""
        for name, chosen in self._chosen.items():
            chosen.add(piece.parts[name], self._before)
        self._before += piece.rows

    def read(self, file: TrainingFile, schema: RecordSchema) -> tuple[Correlated, ...]:
        """Each meta field's associations and donors; reads the file once more where there are donors."""
        associations = {name: self._correlations.of(name) for name in self._correlations.attributes}
        features = {name: _strong(associations[name], schema) if name in self._chosen else () for name in associations}
        wanted = [name for name, strong in features.items() if strong]
        most = min(MOST_DONOR_VALUES, MOST_DONOR_VALUES_TOGETHER // max(len(wanted), 1))
        picked = {name: self._chosen[name].picked(most, len(features[name]) + 1) for name in wanted}
        cells: dict[str, list[list[Any]]] = {name: [] for name in wanted}
        if wanted:
            needed = {*wanted, *(column.name for name in wanted for column in features[name])}
            narrow = replace(self._layout, columns=tuple(c for c in self._layout.columns if c.name in needed), weight=None)
            before = 0
            for piece in pieces(file, narrow):
                for name in wanted:
                    cells[name] += _cells(piece, picked[name][0], before, [name, *(column.name for column in features[name])])
                before += piece.rows
        return tuple(
            Correlated(name, associations[name], _donors(features[name], cells.get(name, []), picked[name][1] if name in picked else ()))
            for name in associations
        )


def hash_of(rows: Codes | Numbered) -> Hashes:
    """A number for each record number, as good as drawn (splitmix64): the same file gives the same donors, however it is sorted."""
    mixed: Hashes = rows.astype(np.uint64) + np.uint64(1)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _smallest(places: Codes | Numbered, hashes: Hashes, most: int) -> Codes:
    """The positions of at most so many entries of each place, those with the smallest hashes."""
    order = np.lexsort((hashes, places))
    ordered = places[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    return order[rank < most]


def _axis(column: Column, survey: Survey) -> Axis | None:
    if is_quantity(column):
        return Bins(survey.sample.bounds(column.name))
    seen = survey.seen[column.name]
    return None if seen.too_many else Values(sorted(seen.values.values(), key=in_order))


def _strong(associations: Sequence[Association], schema: RecordSchema) -> tuple[Column, ...]:
    # Uncorrected, and not corrected: what is no stronger than chance may be picked, with a warning.
    strengths = {one.feature: one.uncorrected for one in associations if one.uncorrected is not None}
    return tuple(column for column in schema.features if strengths.get(column.name, 0.0) >= LEAST_STRENGTH)


def _cells(piece: Piece, rows: Codes, before: int, names: Sequence[str]) -> Iterator[list[Any]]:
    inside = rows[np.searchsorted(rows, before) : np.searchsorted(rows, before + piece.rows)] - before
    return map(list, zip(*(_values(piece.parts[name], inside) for name in names), strict=True))


def _values(part: Part, rows: Codes) -> list[Scalar | None]:
    if isinstance(part.read, Coded):
        values = part.read.values
        return [None if code == MISSING else values[code] for code in part.read.codes[rows].tolist()]
    return [None if number is None else normalised(number) for number in part.read.take(rows).to_pylist()]


def _donors(features: Sequence[Column], cells: Sequence[list[Any]], records: Sequence[float] | npt.NDArray[np.float64]) -> Donors:
    donors = tuple(Donor(value, float(stands_for), tuple(rest)) for (value, *rest), stands_for in zip(cells, records, strict=True))
    kinds = tuple((column.name, column.type) for column in features)
    spelt = json.dumps([kinds, [[donor.value, donor.records, *donor.features] for donor in donors]])
    return Donors(kinds, donors, hashlib.blake2b(spelt.encode(), digest_size=16).hexdigest())
