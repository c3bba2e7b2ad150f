"""Trace of a check as CSV: every measurement with its formula and counts."""

from collections.abc import Iterable, Sequence

from ..base.spreadsheets import write_cell
from ..checks.views.explain_figure import explain
from ..domain.check import CheckRun, Measurement
from ..records.second_look.flagged_csv import csv_lines

MEASURED = (
    "metric",
    "data",
    "scope",
    "attribute",
    "group",
    "value",
    "lower",
    "upper",
    "interval_method",
    "n",
    "verdict",
    "lower_limit",
    "upper_limit",
    "carried_forward",
    "reason",
)
CHOSEN = ("worst_of", "chosen_lower", "chosen_upper")
COLUMNS = ("check_id", "at", "figure", *MEASURED, "formula", "counts", "sentence", *CHOSEN)


def trace_csv(check: CheckRun, measurements: Sequence[Measurement]) -> bytes:
    """One row a measurement, in order; numbers are unrounded."""
    rows: list[Iterable[str]] = [COLUMNS]
    for measurement in measurements:
        figure = explain(measurement)
        counts = "; ".join(f"{count.label} {count.value}" for count in figure.counts)
        derived = {
            "check_id": check.id,
            "figure": figure.title,
            "formula": figure.formula,
            "counts": counts,
            "sentence": figure.sentence,
        }
        rows.append(
            [write_cell(derived[name] if name in derived else getattr(measurement, name)) for name in COLUMNS]
        )
    return csv_lines(rows)
