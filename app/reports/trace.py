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
    for one in measurements:
        figure = explained(one)
        counts = "; ".join(f"{count.label} {count.value}" for count in figure.counts)
        cells: tuple[object, ...] = (
            *(check.id, one.at, figure.title, one.metric, one.data.value, one.scope.value, one.attribute, one.group),
            *(one.value, one.lower, one.upper, one.interval_method, one.n, one.verdict, one.lower_limit, one.upper_limit),
            *(one.carried_forward, one.reason, figure.formula, counts, figure.sentence),
            *(one.worst_of, one.chosen_lower, one.chosen_upper),
        )
        writer.writerow([write_cell(cell) for cell in cells])
    return text.getvalue().encode()
