"""Donors: the training records that lend their correlated features to copies.

Chosen in one look through the file, by record number alone; read in another one, of the needed columns only.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..domain.deployments import Column, RecordSchema
from ..domain.groups import in_order
from ..domain.training_data import Correlated, Donor, Donors
from ..domain.values import normalised
from ..records.cells import MISSING, Coded, Codes
from .columns import is_quantity
from .correlations import Correlations
from .counting import Axis, CountedBins, Values
from .files import TrainingFile
from .limits import DONORS, LEAST_STRENGTH, MOST_DONOR_GROUPS, MOST_DONOR_PLACES, MOST_DONOR_VALUES, MOST_DONOR_VALUES_TOGETHER
from .pieces import Layout, Part, Piece, read_pieces
from .survey import Survey

Hashes = npt.NDArray[np.uint64]
Numbered = npt.NDArray[np.int32]
"""Places and rows, of which there may be millions; no file has more rows than this holds."""

WAITING = 65_536
"""Records that may become donors and are sorted at a time."""


@dataclass(slots=True)
class DonorSample:
    """Records with the smallest hashes, of each place of an axis."""

    axis: Axis
    counts: Codes = field(init=False)
    _worst: Hashes = field(init=False)
    """The hash of each place that a record must not exceed."""
    _places: Numbered = field(init=False)
    _rows: Numbered = field(init=False)
    _most: int = field(init=False)
    _waiting: list[tuple[Numbered, Numbered]] = field(init=False, default_factory=list)
    _waiting_rows: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.axis.size, dtype=np.int64)
        self._worst = np.full(self.axis.size, np.iinfo(np.uint64).max, dtype=np.uint64)
        self._places = self._rows = np.empty(0, dtype=np.int32)
        self._most = max(min(DONORS, MOST_DONOR_VALUES // (2 * max(min(self.axis.size, MOST_DONOR_GROUPS), 1))), 1)

    def add(self, part: Part, before: int) -> None:
        places = self.axis.codes(part)
        rows = np.flatnonzero(places != MISSING)
        places = places[rows]
        self.counts += np.bincount(places, minlength=len(self.counts))
        rows += before
        better = hash_rows(rows) <= self._worst[places]
        self._waiting.append((places[better].astype(np.int32), rows[better].astype(np.int32)))
        self._waiting_rows += int(better.sum())
        # Sorting takes longer the more records are kept, so as many must wait for it.
        if self._waiting_rows > max(WAITING, len(self._rows)):
            self._settle()

    def _settle(self) -> None:
        places = np.concatenate([self._places, *(places for places, _ in self._waiting)])
        rows = np.concatenate([self._rows, *(rows for _, rows in self._waiting)])
        hashes = hash_rows(rows)
        kept = _smallest(places, hashes, self._most)
        self._places, self._rows = places[kept], rows[kept]
        is_full = np.bincount(self._places, minlength=len(self.counts)) == self._most
        worst = np.zeros_like(self._worst)
        np.maximum.at(worst, self._places, hashes[kept])
        self._worst[is_full] = worst[is_full]
        self._waiting, self._waiting_rows = [], 0

    def picked(self, most_values: int, columns: int) -> tuple[Codes, npt.NDArray[np.float64]]:
        """Returns the numbers of the records in ascending order, and how many records each represents.

        They are of the most frequent places, equally many of each, and have at most so many values in that many columns.
        """
        self._settle()
        frequent = np.argsort(-self.counts, kind="stable")[:MOST_DONOR_GROUPS]
        groups = max(int((self.counts[frequent] > 0).sum()), 1)
        kept = _smallest(self._places, hash_rows(self._rows), min(self._most, max(most_values // (groups * columns), 1)))
        kept = kept[np.isin(self._places[kept], frequent)]
        places, rows = self._places[kept], self._rows[kept]
        of_place = np.bincount(places, minlength=len(self.counts))
        order = np.argsort(rows)
        return rows[order].astype(np.int64), (self.counts / np.maximum(of_place, 1))[places[order]]


class DonorChoice:
    """The records that may become donors, for each meta field whose values are few enough or numbers."""

    def __init__(self, correlations: Correlations, layout: Layout, survey: Survey) -> None:
        self._layout = layout
        columns = {column.name: column for column in layout.columns}
        self._chosen: dict[str, DonorSample] = {}
        room = MOST_DONOR_PLACES
        for name in correlations.attributes:
            seen = survey.seen[name]
            axis: Axis | None = None
            if is_quantity(columns[name]):
                axis = CountedBins(survey.sample.bounds(name))
            elif not seen.too_many:
                axis = Values(sorted(seen.values.values(), key=in_order))
            if axis is not None and axis.size <= room:
                self._chosen[name] = DonorSample(axis)
                room -= axis.size
        self._correlations = correlations
        self._before = 0

    def add(self, piece: Piece) -> None:
        for name, chosen in self._chosen.items():
            chosen.add(piece.parts[name], self._before)
        self._before += piece.rows

    def read(self, file: TrainingFile, schema: RecordSchema) -> tuple[Correlated, ...]:
        """Returns each meta field's associations and donors; reads the file once more if there are donors."""
        associations = {name: self._correlations.of(name) for name in self._correlations.attributes}
        features: dict[str, tuple[Column, ...]] = {}
        for name, found in associations.items():
            # Not corrected: a feature that is no stronger than chance may be picked, with a warning.
            strengths = {one.feature: one.uncorrected for one in found if one.uncorrected is not None}
            strong = (column for column in schema.features if strengths.get(column.name, 0.0) >= LEAST_STRENGTH)
            features[name] = tuple(strong) if name in self._chosen else ()
        wanted = [name for name, strong in features.items() if strong]
        most = min(MOST_DONOR_VALUES, MOST_DONOR_VALUES_TOGETHER // max(len(wanted), 1))
        picked = {name: self._chosen[name].picked(most, len(features[name]) + 1) for name in wanted}
        names = {name: [name, *(column.name for column in features[name])] for name in wanted}
        cells = self._read_cells(file, {name: rows for name, (rows, _) in picked.items()}, names)

        correlated = []
        for name, found in associations.items():
            donors: tuple[Donor, ...] = ()
            if name in picked:
                _, records = picked[name]
                donors = tuple(Donor(value, float(one), tuple(rest)) for (value, *rest), one in zip(cells[name], records, strict=True))
            kinds = tuple((column.name, column.type) for column in features[name])
            spelled = json.dumps([kinds, [[donor.value, donor.records, *donor.features] for donor in donors]])
            digest = hashlib.blake2b(spelled.encode(), digest_size=16).hexdigest()
            correlated.append(Correlated(name, found, Donors(kinds, donors, digest)))
        return tuple(correlated)

    def _read_cells(
        self, file: TrainingFile, rows_of: Mapping[str, Codes], names_of: Mapping[str, list[str]]
    ) -> dict[str, list[list[Any]]]:
        cells: dict[str, list[list[Any]]] = {name: [] for name in rows_of}
        if not rows_of:
            return cells
        needed = {name for names in names_of.values() for name in names}
        narrow = replace(self._layout, columns=tuple(one for one in self._layout.columns if one.name in needed), weight=None)
        before = 0
        for piece in read_pieces(file, narrow):
            for name, rows in rows_of.items():
                inside = rows[np.searchsorted(rows, before) : np.searchsorted(rows, before + piece.rows)] - before
                columns = []
                for part in (piece.parts[column] for column in names_of[name]):
                    if isinstance(part.read, Coded):
                        values, codes = part.read.values, part.read.codes[inside].tolist()
                        columns.append([None if code == MISSING else values[code] for code in codes])
                    else:
                        columns.append([None if one is None else normalised(one) for one in part.read.take(inside).to_pylist()])
                cells[name] += map(list, zip(*columns, strict=True))
            before += piece.rows
        return cells


def hash_rows(rows: Codes | Numbered) -> Hashes:
    """Returns a hash of each record number, as good as drawn (splitmix64): the same file gives the same donors."""
    # Products wrap around at 64 bits, as splitmix64 is defined.
    mixed: Hashes = rows.astype(np.uint64) + np.uint64(1)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _smallest(places: Codes | Numbered, hashes: Hashes, most: int) -> Codes:
    """Returns the positions of at most that many entries of each place, those with the smallest hashes."""
    order = np.lexsort((hashes, places))
    ordered = places[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    return order[rank < most]
