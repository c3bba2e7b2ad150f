"""Count tables that a period adds up: of hours with too few records, of each model revision, and of labels by the hour of their record."""

from typing import Any

import numpy as np

from app.checks.result_queries import StoredTable
from app.domain.check import CheckState, DataSet
from tests.builders.applicants import applicants, monitor_of
from tests.scenes import HOUR, NOON, Scene


def table_of(tables: list[StoredTable], data: DataSet) -> dict[str, Any]:
    """The cells by sex of the span."""
    return next(table.cells for table in tables if (table.data, table.attribute, table.part) == (data, "sex", "span"))


def counts_of(cells: dict[str, Any]) -> dict[str, int]:
    """Records by group."""
    return {label: int(np.sum(of_group)) for (label, _), of_group in zip(cells["groups"], cells["counts"], strict=False)}


def test_a_check_with_too_few_records_stores_the_tables_of_its_hour(stage: Scene) -> None:
    stage.watch(monitor_of(min_records=100))
    rows = applicants(20, 10)
    stage.log(rows, NOON)
    stage.label([(row["id"], 1) for row in rows[:25]], NOON)
    result = stage.check(NOON)
    empty = stage.check(NOON + HOUR)

    assert result.run.state is CheckState.INSUFFICIENT_DATA
    assert (result.measurements, empty.tables) == ([], [])
    assert counts_of(table_of(result.tables, DataSet.AS_LOGGED)) == {"female": 10, "male": 20}
    assert {table.data for table in result.tables} == {DataSet.AS_LOGGED, DataSet.LABELLED}


def test_an_hour_that_two_revisions_answered_has_a_table_for_each(stage: Scene) -> None:
    stage.log(applicants(20, 10), NOON, revision="1")
    assert "pieces" not in table_of(stage.check(NOON).tables, DataSet.AS_LOGGED)
    stage.revise("2")
    stage.log(applicants(5, 15, prefix="later"), NOON, revision="2")
    cells = table_of(stage.check(NOON).tables, DataSet.AS_LOGGED)

    assert counts_of(cells) == {"female": 25, "male": 25}
    pieces = {piece["revision"]: counts_of(piece["cells"]) for piece in cells["pieces"]}
    assert pieces == {"1": {"female": 10, "male": 20}, "2": {"female": 15, "male": 5}}


def test_labels_are_counted_by_the_hour_of_their_record(stage: Scene) -> None:
    first, second = applicants(20, 20), applicants(20, 20, prefix="later")
    stage.log(first, NOON)
    stage.log(second, NOON + HOUR)
    stage.label([(row["id"], 1) for row in [*first[:30], *second[:25]]], NOON + 2 * HOUR)
    stage.label_features([{**row, "label": 1} for row in first[:4]], NOON + 2 * HOUR)
    cells = table_of(stage.check(NOON + 2 * HOUR).tables, DataSet.LABELLED)

    pieces = {(piece["hour"], piece["revision"]): sum(counts_of(piece["cells"]).values()) for piece in cells["pieces"]}
    at = [f"2026-03-02T{hour}:00:00+00:00" for hour in (12, 13)]
    assert pieces == {(at[0], "1"): 30, (at[1], "1"): 25, (None, "1"): 4}
