"""The first look through a file: the values of each column, and a sample of the numbers of those that have too many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..domain.values import Scalar, canonical
from ..errors import InvalidInput
from .columns import Numbers
from .files import TrainingFile
from .limits import BINS, LONGEST_VALUE, MOST_VALUES, SAMPLED
from .pieces import Layout, Part, read_pieces

LABEL = ""
"""The label's name among the columns of a sample: no column has this name."""


@dataclass(slots=True)
class Seen:
    """The distinct values of a column, by their canonical text, while they are few enough to be kept one by one."""

    values: dict[str, Scalar] = field(default_factory=dict)
    too_many: str | None = None

    def add(self, values: Iterable[Scalar]) -> None:
        for value in values:
            text = canonical(value)
            if len(text) > LONGEST_VALUE:
                self.give_up(f"holds texts of more than {LONGEST_VALUE} characters")
            if self.too_many is None and text not in self.values:
                self.values[text] = value
                if len(self.values) > MOST_VALUES:
                    self.give_up(f"holds more than {MOST_VALUES:,} different values")

    def add_part(self, part: Part) -> None:
        if self.too_many is None:
            self.add(part.coded().values)

    def give_up(self, reason: str) -> None:
        self.too_many = self.too_many or reason
        self.values = {}


class Sample:
    """The numbers of some records, each as likely to be among them as any other.

    Drawn with a fixed seed, so that the same file is divided into the same bins.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._generator = np.random.default_rng(0)
        self._keys: Numbers = np.empty(0)
        self._rows: npt.NDArray[np.float64] = np.empty((0, len(self._columns)))

    def add(self, numbers: Sequence[Numbers]) -> None:
        """Notes the numbers of one piece, column by column; NaN where one is missing."""
        if not self._columns:
            return
        keys = self._generator.random(len(numbers[0]))
        # The smallest of all keys drawn are the sample: a key above all of a full sample need not be looked at.
        chosen = np.flatnonzero(keys < (self._keys.max() if len(self._keys) == SAMPLED else 1.0))
        keys = np.concatenate([self._keys, keys[chosen]])
        rows = np.concatenate([self._rows, np.column_stack([column[chosen] for column in numbers])])
        kept = np.argsort(keys, kind="stable")[:SAMPLED]
        self._keys, self._rows = keys[kept], rows[kept]

    def bounds(self, column: str) -> Numbers:
        """Returns the bounds of the bins: each holds the numbers above one bound up to the next, and about 1/BINS of the records."""
        numbers = self._rows[:, self._columns.index(column)]
        known = numbers[np.isfinite(numbers)]
        return np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])) if len(known) else np.empty(0)


@dataclass(slots=True)
class Survey:
    """Results of the first look. The sample is of the quantities, and of the label if it is one."""

    records: int
    seen: dict[str, Seen]
    labels: Seen
    sample: Sample


def survey_file(file: TrainingFile, layout: Layout) -> Survey:
    quantities = [*layout.quantities, *([LABEL] if layout.has_numeric_label else [])]
    survey = Survey(0, {column.name: Seen() for column in layout.columns}, Seen(), Sample(quantities))
    for piece in read_pieces(file, layout):
        survey.records += piece.rows
        survey.labels.add_part(piece.label)
        for name, seen in survey.seen.items():
            seen.add_part(piece.parts[name])
        survey.sample.add([(piece.label if name == LABEL else piece.parts[name]).floats() for name in quantities])
    if not survey.records:
        raise InvalidInput.of("body", "holds no records")
    if not survey.labels.values and survey.labels.too_many is None:
        raise InvalidInput.of(f"columns.{layout.label}", "holds no label in any row")
    if survey.labels.too_many and not layout.has_numeric_label:
        raise InvalidInput.of("label", f"the column {layout.label!r:.210} {survey.labels.too_many}: it is no class label")
    return survey
