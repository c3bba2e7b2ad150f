"""Comparison of the payload figures of two checks of the same records."""

import math
from collections.abc import Collection
from typing import Any, cast

from app.checks.counting.left_out_of_check import LEFT_OUT
from app.statistics.catalogue import CATALOGUE
from tests.scenes import Result

Figures = dict[tuple[object, ...], tuple[float | None, int, str | None, float | None, float | None]]


def payload_figures(result: Result, *, but: Collection[str] = ("rows",)) -> Figures:
    """Value, number, reason and interval of every payload figure of metrics that need none of `but`."""
    return {
        (figure.metric, figure.scope, figure.comparison, figure.group): (figure.value, figure.n, figure.reason, figure.lower, figure.upper)
        for figure in result.measurements
        if figure.data == "as_logged" and not set(but) & set(CATALOGUE[figure.metric].needs)
    }


def assert_same_payload(expected: Result, actual: Result, *, but: Collection[str] = ("rows",)) -> None:
    """Asserts that both have the same figures to 1e-12, but for metrics that need one of `but`, and the same numbers of records."""
    mine, theirs = payload_figures(expected, but=but), payload_figures(actual, but=but)
    assert mine.keys() == theirs.keys()
    for key, values in mine.items():
        for value, other in zip(values, theirs[key], strict=True):
            close = isinstance(value, float) and isinstance(other, float) and math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12)
            assert close or value == other, (key, value, other)
    names = ("records", "unclassified_records", "records_of_other_revisions", "oldest_record_at", "newest_record_at")
    assert [(expected.run.window or {})[name] for name in names] == [(actual.run.window or {})[name] for name in names]
    assert left_out_of(expected)["as_logged"] == left_out_of(actual)["as_logged"]


def left_out_of(result: Result) -> dict[str, Any]:
    """Counted records of the check's window by data set and attribute."""
    counted: dict[str, Any] = cast("dict[str, Any]", (result.run.window or {})[LEFT_OUT])
    return counted
