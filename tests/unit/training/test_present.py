from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.values import Range
from app.deployments.training.from_distributions import NO_STRATA, PresentTable, build_present_tables
from app.deployments.training.queries import TrainingData
from app.domain.deployment import FieldType, ProblemType
from app.domain.monitor import Monitor, OutcomeRule
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.strata_counts import Weighting
from tests.builders.page_words import says
from tests.unit.training.sending import AGE, SEX, attribute, column, counts, deployment, monitor, processed

OF = deployment()


def frame(rows: int = 3_000) -> pd.DataFrame:
    generator = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": pd.Series(generator.integers(15, 80, rows), dtype="Int64").mask(generator.random(rows) < 0.1),
            "sex": generator.choice(["female", "male", "other"], rows),
            "income": generator.normal(size=rows),
            "owner": generator.choice([True, False], rows),
            "label": generator.integers(0, 3, rows),
            "weight": generator.random(rows),
        }
    )


def present(data: TrainingData, watching: Monitor) -> dict[str, PresentTable]:
    return {table.comparison.label: table for table in build_present_tables(data, watching, OF.schema)}


def same(found: GroupCounts | None, expected: GroupCounts | None) -> bool:
    assert found is not None
    assert expected is not None
    ours, theirs = (table.counts_weighting or Weighting.of_counts(table.counts) for table in (found, expected))
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-12)
    return (found.groups, found.counts.tolist(), found.unclassified.tolist(), found.other) == (
        expected.groups,
        expected.counts.tolist(),
        expected.unclassified.tolist(),
        expected.other,
    )


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(
    "watching",
    [
        monitor(),
        monitor(attribute("sex", ["other", "female"]), attribute("age", [20, 21], [30])),
        monitor(attribute("owner", [True]), outcomes=OutcomeRule(favourable=(1, 2), unfavourable=(0,))),
    ],
)
def test_tables_of_single_attributes_made_from_distributions_are_those_counted_from_rows(watching: Monitor, weight: str | None) -> None:
    from_rows = present(processed(frame(), watching=watching, weight=weight), watching)
    made = present(processed(frame(), watching=None, weight=weight), watching)

    assert {name: one.reason for name, one in made.items()} == dict.fromkeys(from_rows, "")
    assert all(same(made[name].table, from_rows[name].table) for name in from_rows)


def test_a_changed_threshold_keeps_the_tables_of_the_upload() -> None:
    watching = monitor(together=[("sex", "age")], strata="owner")
    data = processed(frame(), watching=watching)
    changed = replace(watching, attributes=(replace(SEX, threshold=0.9), AGE), min_records=7, version=9)

    tables = present(data, changed)

    assert all(table.table is not None and table.table.strata is not None for table in tables.values())


def test_an_intersection_that_was_not_counted_must_be_uploaded_again(snapshot: SnapshotAssertion) -> None:
    data = processed(frame(), watching=monitor())

    found = present(data, monitor(together=[("sex", "age")]))

    assert found["sex"].table is not None
    assert found["sex × age"].table is None
    assert says(found["sex × age"].reason, "sex × age")
    assert found["sex × age"].reason == snapshot


def test_strata_that_were_not_counted_leave_the_other_metrics_and_say_so(snapshot: SnapshotAssertion) -> None:
    data = processed(frame(), watching=monitor(together=[("sex", "age")]))

    found = present(data, monitor(together=[("sex", "age")], strata="owner"))

    for name in ("sex", "age", "sex × age"):
        assert found[name].table is not None
        assert found[name].no_strata == snapshot


def test_without_strata_in_the_monitor_that_is_the_reason() -> None:
    data = processed(frame(), watching=monitor(strata="owner"))

    found = present(data, monitor())["sex"]

    assert found.table is not None
    assert (found.table.strata, found.no_strata) == (None, NO_STRATA)


def test_strata_of_too_many_values_say_so(snapshot: SnapshotAssertion) -> None:
    watching = monitor(SEX, strata="income")

    found = present(processed(frame(), watching=watching), watching)["sex"]

    assert says(found.no_strata, "income", "1,000")
    assert found.no_strata == snapshot


def test_ranges_that_cut_a_bin_cannot_be_told_and_ranges_that_hold_bins_can(snapshot: SnapshotAssertion) -> None:
    data = processed(frame())
    incomes = sorted({value for value, _ in counts(data, "income") if isinstance(value, Range)}, key=lambda bounds: bounds.lo)
    first, last = incomes[0], incomes[-1]

    fits = present(data, monitor(attribute("income", [Range(first.lo, first.hi)], [Range(last.lo, last.hi)])))["income"]
    cuts = present(data, monitor(attribute("income", [Range(-9.5, 0.01)], [Range(0.02, 9.5)])))["income"]

    assert fits.table is not None
    assert fits.table.counts.sum() + fits.table.unclassified.sum() > 0
    assert cuts.table is None
    assert "counted in intervals" in cuts.reason
    assert says(cuts.reason, "-9.5-0.01")
    assert cuts.reason == snapshot


@pytest.mark.parametrize("values", [500, 12_000])
def test_a_reference_of_many_seen_values_is_everybody_else(values: int) -> None:
    watching = monitor(attribute("age", [20]))
    of = deployment([column("age", FieldType.INTEGER)])
    data = processed(pd.DataFrame({"age": range(values), "label": 1}), of=of, watching=watching)

    found = build_present_tables(data, watching, of.schema)[0]

    assert found.table is not None
    assert [group.label for group in found.table.groups] == ["20", "everybody else"]
    assert found.table.counts.sum() == values


def test_outcomes_of_a_regression_are_told_by_bins_that_lie_in_them_wholly(snapshot: SnapshotAssertion) -> None:
    of = deployment([column("sex", FieldType.STRING)], problem_type=ProblemType.REGRESSION)
    values = np.linspace(0, 100, 4_001)
    data = processed(pd.DataFrame({"sex": ["female"] * 4_001, "label": values}), of=of)
    bins = sorted((cell.label for cell in data.summary.labels.cells), key=lambda label: label.lo)  # type: ignore[union-attr]
    cut = bins[9].hi  # type: ignore[union-attr]

    told = monitor(SEX, outcomes=OutcomeRule(favourable=(Range(cut + 0.001, 100),), unfavourable=(Range(0, cut),)))
    untold = monitor(SEX, outcomes=OutcomeRule(favourable=(Range(33.3, 100),), unfavourable=(Range(0, 33.2),)))

    table = build_present_tables(data, told, of.schema)[0].table
    assert table is not None
    assert table.counts.tolist()[0] == [int((values <= cut).sum()), int((values > cut).sum())]
    assert build_present_tables(data, untold, of.schema)[0].reason == snapshot
