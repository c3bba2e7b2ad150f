import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.base.values import GroupValue, Range
from app.deployments.training.from_distributions import build_present_tables, process_distributions
from app.deployments.training.queries import Cell, Distribution
from app.domain.deployment import FieldType, ProblemType
from tests.builders.page_words import says
from tests.unit.training.sending import AGE, COLUMNS, NOON, SEX, deployment, monitor

OF = deployment()


def distribution(columns: tuple[str, ...], *cells: tuple[object, ...]) -> Distribution:
    """Cells as (value, …, label, records)."""
    return Distribution(columns, tuple(Cell(cell[:-2], cell[-2], cell[-1]) for cell in cells))  # type: ignore[arg-type]


BY_SEX = distribution(("sex",), ("female", 1, 30), ("female", 0, 70), ("male", 1, 50), ("male", 0, 50))
BY_BOTH = distribution(
    ("sex", "age"),
    ("female", Range(18, 25), 1, 10),
    ("female", Range(26, 40), 1, 20),
    ("female", Range(26, 40), 0, 70),
    ("male", Range(18, 25), 1, 50),
    ("male", 77, 0, 50),
)


def problems(*distributions: Distribution, problem_type: ProblemType = ProblemType.BINARY) -> list[tuple[str, str]]:
    of = deployment(problem_type=problem_type)
    with pytest.raises(InvalidInput) as caught:
        process_distributions(distributions, deployment=of, label="Risk", received_at=NOON)
    return [(problem.field, problem.message) for problem in caught.value.problems]


def test_a_ready_distribution_gives_the_tables_its_columns_tell() -> None:
    data = process_distributions([BY_SEX, BY_BOTH], deployment=OF, label="Risk", received_at=NOON)

    found = {table.comparison.label: table for table in build_present_tables(data, monitor(SEX, AGE, together=[("sex", "age")]), OF.schema)}

    tables = {name: one.table for name, one in found.items() if one.table is not None}
    assert data.summary.records == 200
    assert data.summary.absent == ("income", "owner")
    assert tables["sex"].counts.tolist() == [[70, 30], [50, 50]]
    assert tables["age"].counts.tolist() == [[0, 60], [70, 20]]
    assert tables["age"].other == 50
    assert tables["sex × age"].counts.tolist() == [[0, 10], [70, 20], [0, 50], [0, 0]]


def test_strata_are_told_by_a_distribution_that_holds_their_column() -> None:
    with_strata = distribution(("owner", "sex"), (True, "female", 1, 5), (False, "male", 0, 7), (None, "male", 1, 2))
    data = process_distributions([with_strata], deployment=OF, label="Risk", received_at=NOON)

    table = build_present_tables(data, monitor(SEX, strata="owner"), OF.schema)[0].table

    assert table is not None
    assert table.strata is not None
    assert dict(zip(table.strata.labels, table.strata.full_weighting.weights.tolist(), strict=True)) == {
        "true": [[0, 5], [0, 0]],
        "false": [[0, 0], [7, 0]],
    }


def test_counts_whose_labels_are_all_of_no_outcome_are_refused_under_a_monitor() -> None:
    spelt_otherwise = distribution(("sex",), ("female", "yes", 30), ("male", "no", 50), ("male", None, 5))
    with pytest.raises(InvalidInput, match="label: no label is among the monitor's outcomes: found 'no', 'yes'; favourable are 1,"):
        process_distributions([spelt_otherwise], deployment=OF, label="Risk", received_at=NOON, monitor=monitor())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("young", "must be of the type integer like the column 'age', found 'young'"),
        (True, "must be of the type integer like the column 'age', found True"),
        (1.5, "must be of the type integer like the column 'age', found 1.5"),
        (2**70, "must be a signed 64-bit integer"),
        (Range(3, 2), "lo is above hi"),
        (Range(3, float("inf")), "the ends of a range must be finite numbers"),
    ],
)
def test_a_value_of_another_type_is_refused(value: GroupValue, message: str) -> None:
    assert problems(distribution(("age",), (value, 1, 3))) == [("distributions[0].counts[0].values[0]", message)]


def test_labels_are_of_the_deployment_s_kind(snapshot: SnapshotAssertion) -> None:
    refusals = [
        problems(distribution(("sex",), ("a", Range(0, 1), 3))),
        problems(distribution(("sex",), ("a", "high", 3)), problem_type=ProblemType.REGRESSION),
    ]

    assert [[field for field, _ in refusal] for refusal in refusals] == [["distributions[0].counts[0].label"]] * 2
    assert refusals == snapshot


def test_columns_are_those_of_the_schema_each_once_and_few(snapshot: SnapshotAssertion) -> None:
    ((field, message),) = problems(distribution(("gender",), ("a", 1, 3)))
    assert field == "distributions[0].columns[0]"
    assert says(message, "'gender'")
    assert message == snapshot
    assert problems(distribution(("sex", "sex"), ("a", "a", 1, 3))) == [("distributions[0].columns", "names a column twice")]
    assert problems(distribution((), (1, 3))) == [("distributions[0].columns", "must name 1 to 4 columns, found 0")]


def test_a_count_has_one_value_for_each_column_and_stands_once(snapshot: SnapshotAssertion) -> None:
    (more, twice) = (*problems(distribution(("sex",), ("a", "b", 1, 3))), *problems(distribution(("age",), (1, 1, 3), (1.0, 1, 4))))

    assert [field for field, _ in (more, twice)] == ["distributions[0].counts[0].values", "distributions[0].counts[1]"]
    assert says(more[1], "1 columns", "2")
    assert says(twice[1], "counts[0]")
    assert [more, twice] == snapshot


def test_distributions_that_contradict_each_other_or_hold_nothing_are_refused(snapshot: SnapshotAssertion) -> None:
    (fewer, none) = (*problems(BY_SEX, distribution(("age",), (3, 1, 80), (3, 0, 119))), *problems(distribution(("sex",))))

    assert [field for field, _ in (fewer, none)] == ["distributions[1].counts", "distributions[0].counts"]
    assert says(fewer[1], "119", "'0'", "distributions[0]", "120")
    assert says(none[1], "1 to 9,007,199,254,740,992", "0")
    assert [fewer, none] == snapshot


def test_every_type_has_values_that_fit() -> None:
    values = {FieldType.STRING: "x", FieldType.INTEGER: 3.0, FieldType.NUMBER: 3, FieldType.BOOLEAN: False}
    for column in COLUMNS:
        one = distribution((column.name,), (values[column.type], 1, 2), (None, None, 1))
        assert process_distributions([one], deployment=OF, label="l", received_at=NOON).summary.records == 3
