"""Trace of a check as CSV: every measurement with its formula and counts."""

import csv
import io
from collections.abc import Sequence

from ..domain.checks import CheckRun, Measurement
from ..domain.spreadsheets import write_cell
from ..views.figures import explained

COLUMNS = (
    *("check_id", "at", "figure", "metric", "data", "scope", "attribute", "group", "value", "lower", "upper", "interval_method", "n"),
    *("verdict", "lower_limit", "upper_limit", "carried_forward", "reason", "formula", "counts", "sentence"),
    *("worst_of", "chosen_lower", "chosen_upper"),
)


def trace_csv(check: CheckRun, measurements: Sequence[Measurement]) -> bytes:
    """One row a measurement, in order; numbers are unrounded."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for measurement in measurements:
        figure = explained(measurement)
        counts = "; ".join(f"{count.label} {count.value}" for count in figure.counts)
        cells: tuple[object, ...] = (
            *(
                check.id,
                measurement.at,
                figure.title,
                measurement.metric,
                measurement.data.value,
                measurement.scope.value,
                measurement.attribute,
                measurement.group,
            ),
            *(
                measurement.value,
                measurement.lower,
                measurement.upper,
                measurement.interval_method,
                measurement.n,
                measurement.verdict,
                measurement.lower_limit,
                measurement.upper_limit,
            ),
            *(measurement.carried_forward, measurement.reason, figure.formula, counts, figure.sentence),
            *(measurement.worst_of, measurement.chosen_lower, measurement.chosen_upper),
        )
        writer.writerow([write_cell(cell) for cell in cells])
    return text.getvalue().encode()
