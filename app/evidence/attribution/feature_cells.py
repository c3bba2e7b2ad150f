"""Parts of a window's gaps by the cells of each feature, without a model."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...domain.deployment import Column
from ...statistics.attribution.cell_parts import divide_difference, resample_parts
from ...statistics.attribution.feature_bins import count_cells
from ...statistics.group_labels import FloatArray, IntArray
from .attribution import AttributedGap, CellsOfFeature
from .compared_records import WindowRecords, read_cells
from .model_questions import as_part


class DividedFeatures:
    """Features that divide a window's records into cells; `left_out` ones have too many values."""

    def __init__(self, records: WindowRecords) -> None:
        contents = [(column, read_cells(records, column)) for column in records.deployment.schema.features]
        self._contents = [(column, content) for column, content in contents if content is not None]
        self.left_out = tuple(column.name for column, content in contents if content is None)

    def __iter__(self) -> Iterator[tuple[Column, IntArray | FloatArray]]:
        return iter(self._contents)


def divide_gaps(
    records: WindowRecords,
    features: DividedFeatures,
    comparisons: Sequence[Sequence[str]] | None = None,
    *,
    seed: int = 0,
) -> tuple[AttributedGap, ...]:
    """Parts of the comparisons' gaps (None: of each attribute by itself) by feature.

    Raises:
        InvalidInput: the monitor has no such comparison.
    """
    rng = np.random.default_rng([seed, 2])
    gaps = []
    for gap in records.list_gaps(comparisons):
        cells = []
        for column, content in features:
            # Bins of the compared records alone: other groups would move them.
            of_monitored, of_reference = count_cells(
                content, records.is_favourable, (gap.monitored, gap.reference)
            )
            division = divide_difference(of_monitored, of_reference)
            ends = resample_parts(of_monitored, of_reference, rng)
            who, how, no_counterpart = (
                as_part(*division_part)
                for division_part in zip(division.stacked().tolist(), ends.low, ends.high, strict=True)
            )
            used = int(((of_monitored.records > 0) | (of_reference.records > 0)).sum())
            cells.append(
                CellsOfFeature(
                    feature=column.name,
                    cells=used,
                    who_applies=who,
                    how_treated=how,
                    no_counterpart=no_counterpart,
                )
            )
        gaps.append(replace(records.measure_gap(gap), cells=tuple(cells)))
    return tuple(gaps)
