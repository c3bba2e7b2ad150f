"""The distribution of every column of a file, by label."""

from ..domain.groups import in_order
from ..domain.training_data import Distribution
from .counting import Axis, CountedBins, Tally, Values
from .limits import BINS, MOST_CELLS
from .pieces import Layout, Piece
from .survey import LABEL, Seen, Survey

BINNED = f"counted in up to {BINS} intervals of about equally many records"
LEFT_OUT = "its values are not kept"


class Distributions:
    def __init__(self, layout: Layout, survey: Survey) -> None:
        is_weighted = layout.weight is not None
        labels, self._label_note = _axis(survey.labels, LABEL, survey, others=1, is_quantity=layout.has_numeric_label)
        self._labels = labels or Values([])
        self._by_label = Tally(None, self._labels, is_weighted=is_weighted)
        self._axes: dict[str, Axis] = {}
        self._notes: dict[str, str | None] = {}
        for column in layout.columns:
            is_quantity = column.name in layout.quantities
            axis, self._notes[column.name] = _axis(
                survey.seen[column.name], column.name, survey, others=self._labels.size + 1, is_quantity=is_quantity
            )
            if axis is not None:
                self._axes[column.name] = axis
        self._tallies = {name: Tally(axis, self._labels, is_weighted=is_weighted) for name, axis in self._axes.items()}

    def add(self, piece: Piece) -> None:
        labels = self._labels.codes(piece.label)
        self._by_label.add(None, labels, piece.weights)
        for name, tally in self._tallies.items():
            tally.add(self._axes[name].codes(piece.parts[name]), labels, piece.weights)

    def of_labels(self) -> Distribution:
        return Distribution((), self._by_label.cells(), self._label_note)

    def of_columns(self) -> tuple[Distribution, ...]:
        return tuple(
            Distribution((name,), self._tallies[name].cells() if name in self._tallies else (), note) for name, note in self._notes.items()
        )


def _axis(seen: Seen, name: str, survey: Survey, *, others: int, is_quantity: bool) -> tuple[Axis | None, str | None]:
    """Returns the places a column's values are counted at, and a note of their coarseness. `others` are those of the other direction."""
    too_many = seen.too_many
    if too_many is None and len(seen.values) * others > MOST_CELLS:
        too_many = f"has more than {MOST_CELLS:,} combinations of a value and a label"
    if too_many is None:
        return Values(sorted(seen.values.values(), key=in_order)), None
    if is_quantity:
        return CountedBins(survey.sample.bounds(name)), f"{too_many}: {BINNED}"
    return None, f"{too_many}: {LEFT_OUT}"
