from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput, TooLarge
from app.base.values import Range
from app.deployments.training import queries as limits
from app.deployments.training import read_pieces as pieces
from app.deployments.training.from_distributions import UnclassifiedLabels, build_present_tables, find_unclassified
from app.deployments.training.queries import MAX_BINS, MAX_COUNTED_VALUES, TrainingData
from app.deployments.training.typed_column import ParquetFile
from app.domain.deployment import FieldType, ProblemType
from app.domain.monitor import OutcomeRule
from app.statistics.tables.count_table import GroupCounts
from tests.builders.page_words import says
from tests.unit.training.sending import AGE, SEX, attribute, column, counts, deployment, monitor, processed, processed_parquet

HEADER = "age,sex,income,owner,label\n"
ROWS = HEADER + "20,female,1000.5,true,0\n40,male,2000,false,1\n40,female,2000,true,1\n,female,,,1\n"
FRAME = pd.DataFrame(
    {
        "age": pd.array([20, 40, 40, None], "Int64"),
        "sex": ["female", "male", "female", "female"],
        "income": [1000.5, 2000.0, 2000.0, None],
        "owner": pd.array([True, False, True, None], "boolean"),
        "label": [0, 1, 1, 1],
    }
)


def table(data: TrainingData, attribute_name: str) -> GroupCounts:
    cells = next(one.cells for one in data.tables if one.counted_by.comparison.label == attribute_name)
    assert cells is not None
    return GroupCounts.from_json(cells)


@pytest.mark.parametrize("content", [ROWS, FRAME], ids=["csv", "parquet"])
def test_every_column_is_counted_by_label_and_missing_values_are_counted_as_such(content: str | pd.DataFrame) -> None:
    data = processed(content)

    assert data.summary.records == 4
    assert counts(data, "sex") == {("female", 0): 1, ("female", 1): 2, ("male", 1): 1}
    assert counts(data, "age") == {(20, 0): 1, (40, 1): 2, (None, 1): 1}
    assert counts(data, "income") == {(1000.5, 0): 1, (2000, 1): 2, (None, 1): 1}
    assert counts(data, "owner") == {(False, 1): 1, (True, 0): 1, (True, 1): 1, (None, 1): 1}
    assert [(cell.label, cell.records) for cell in data.summary.labels.cells] == [(0, 1), (1, 3)]


@pytest.mark.parametrize(("favourable", "labels"), [(1, [1, 100000]), ("1.0", ["1", "1.0", "1E5"])])
def test_a_label_stays_a_text_where_the_monitor_lists_texts(favourable: float | str, labels: list[object]) -> None:
    rows = "".join(f"20,female,1,true,{label}\n" for label in ("1", "1.0", "1E5"))
    watching = monitor(outcomes=OutcomeRule(favourable=(favourable,), unfavourable=("1E5",) if favourable == "1.0" else (100000,)))

    assert [cell.label for cell in processed(HEADER + rows, watching=watching).summary.labels.cells] == labels


def test_tables_hold_groups_intersections_and_strata() -> None:
    data = processed(ROWS, watching=monitor(together=[("sex", "age")], strata="income"))

    assert table(data, "sex").counts.tolist() == [[1, 2], [0, 1]]
    assert table(data, "age").counts.tolist() == [[1, 0], [0, 2]]
    assert table(data, "age").other == 1
    assert [group.label for group in table(data, "sex × age").groups][:2] == ["female × 18-25", "female × 26-75"]
    assert table(data, "sex × age").counts.tolist() == [[1, 0], [0, 1], [0, 0], [0, 1]]
    strata = table(data, "sex").strata
    assert strata is not None
    assert dict(zip(strata.labels, strata.full_weighting.weights.tolist(), strict=True)) == {
        "1000.5": [[1, 0], [0, 0]],
        "2000": [[0, 1], [0, 1]],
    }


@pytest.mark.nightly
def test_a_file_of_many_pieces_is_counted_like_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": generator.integers(15, 80, 2_000),
            "sex": generator.choice(["female", "male", "other"], 2_000),
            "income": generator.normal(size=2_000),
            "owner": generator.choice([True, False], 2_000),
            "label": generator.integers(0, 3, 2_000),
        }
    )
    watching = monitor(SEX, AGE, attribute("income", [Range(-9, 0)], [Range(0.001, 9)]), together=[("sex", "age")], strata="owner")
    whole = processed(frame, watching=watching)
    monkeypatch.setattr("app.deployments.training.typed_column.BATCH_ROWS", 77)
    in_pieces = processed(frame, watching=watching)
    monkeypatch.setattr("app.deployments.training.typed_column.MAX_LINE_BYTES", 500)
    as_text = processed(frame.to_csv(index=False), watching=watching)

    for other in (in_pieces, as_text):
        assert other.distributions == whole.distributions
        for name in ("sex", "age", "income", "sex × age"):
            found, expected = table(other, name), table(whole, name)
            assert found.counts.tolist() == expected.counts.tolist()
            assert (found.unclassified.tolist(), found.other) == (expected.unclassified.tolist(), expected.other)
            assert found.strata is not None
            assert expected.strata is not None
            assert dict(zip(found.strata.labels, found.strata.full_weighting.weights.tolist(), strict=True)) == dict(
                zip(expected.strata.labels, expected.strata.full_weighting.weights.tolist(), strict=True)
            )


def test_a_numeric_column_of_many_values_is_counted_in_bins_that_hold_all_records() -> None:
    numbers = np.random.default_rng(1).normal(size=5_000)
    text = "income,label\n" + "".join(f"{number},{int(number > 0)}\n" for number in numbers)

    data = processed(text, of=deployment([column("income", FieldType.NUMBER)]))

    distribution = data.distributions[0]
    held: dict[object, int] = {}
    for (value, _), records in counts(data, "income").items():
        held[value] = held.get(value, 0) + records
    assert len(held) == MAX_BINS
    assert "counted in up to 20 intervals" in (distribution.note or "")
    assert sum(cell.records for cell in distribution.cells) == 5_000
    for bounds, records in held.items():
        assert isinstance(bounds, Range)
        assert records == int(((numbers >= bounds.lo) & (numbers <= bounds.hi)).sum())
        assert 100 < records < 500


def test_values_are_exact_up_to_a_thousand_and_text_beyond_is_not_kept(snapshot: SnapshotAssertion) -> None:
    of = deployment([column("sex", FieldType.STRING)])
    exact = processed("sex,label\n" + "".join(f"v{number},1\n" for number in range(MAX_COUNTED_VALUES)), of=of)
    beyond = processed("sex,label\n" + "".join(f"v{number},1\n" for number in range(MAX_COUNTED_VALUES + 1)), of=of)

    assert (len(exact.distributions[0].cells), exact.distributions[0].note) == (MAX_COUNTED_VALUES, None)
    assert beyond.distributions[0].cells == ()
    assert says(beyond.distributions[0].note, "1,000")
    assert beyond.distributions[0].note == snapshot


def test_the_labels_of_a_regression_are_numbers_in_ranges() -> None:
    numbers = np.linspace(0, 100, 3_001)
    text = "sex,label\n" + "".join(f"{'female' if number < 60 else 'male'},{number}\n" for number in numbers)
    watching = monitor(SEX, outcomes=OutcomeRule(favourable=(Range(50, 100),), unfavourable=(Range(0, 49.99),)))

    data = processed(text, of=deployment([column("sex", FieldType.STRING)], problem_type=ProblemType.REGRESSION), watching=watching)

    females, males = numbers[numbers < 60], numbers[numbers >= 60]
    assert table(data, "sex").counts.tolist() == [[int((females <= 49.99).sum()), int((females >= 50).sum())], [0, len(males)]]
    assert all(isinstance(cell.label, Range) for cell in data.summary.labels.cells)
    assert sum(cell.records for cell in data.summary.labels.cells) == 3_001


def test_weights_are_summed_beside_the_counts() -> None:
    data = processed(
        "sex,label,w\nfemale,1,2\nfemale,0,0.5\nmale,1,1\n",
        of=deployment([column("sex", FieldType.STRING)]),
        watching=monitor(SEX),
        weight="w",
    )

    weighting = table(data, "sex").counts_weighting
    assert weighting is not None
    assert weighting.weights.tolist() == [[0.5, 2], [0, 1]]
    assert weighting.squares.tolist() == [[0.25, 4], [0, 1]]
    assert [(cell.label, cell.records, cell.weight) for cell in data.distributions[0].cells] == [(0, 1, 0.5), (1, 1, 2), (1, 1, 1)]


def test_text_is_read_as_its_column_holds_it() -> None:
    data = processed(HEADER + '3.0, x ,"1e3",TRUE,No Risk\n+3,"a,b",.5, false ,"No Risk"\n')

    assert counts(data, "age") == {(3, "No Risk"): 2}
    assert counts(data, "sex") == {(" x ", "No Risk"): 1, ("a,b", "No Risk"): 1}
    assert counts(data, "income") == {(0.5, "No Risk"): 1, (1000, "No Risk"): 1}
    assert counts(data, "owner") == {(False, "No Risk"): 1, (True, "No Risk"): 1}


def test_classes_are_the_same_however_their_number_is_spelt() -> None:
    data = processed("sex,label\na,1\na,1.0\na,0\n", of=deployment([column("sex", FieldType.STRING)]))

    assert counts(data, "sex") == {("a", 0): 1, ("a", 1): 2}


def test_meta_fields_may_be_absent_and_are_named() -> None:
    data = processed(ROWS, of=deployment(meta=[column("postcode", FieldType.STRING)]), watching=monitor(attribute("postcode", ["1"])))

    assert data.summary.absent == ("postcode",)
    assert [(one.cells, str(one.reason).endswith("no column postcode")) for one in data.tables] == [(None, True)]


@pytest.mark.parametrize(
    ("content", "field", "message"),
    [
        ("", "body", "is empty"),
        (HEADER, "body", "holds no records"),
        ("age,sex,income,label\n1,a,2,0\n", "columns.owner", "is a feature of the deployment, but the file has no such column"),
        (
            "age,sex,income,owner,Risk\n1,a,2,true,0\n",
            "label",
            "the file has no column 'label'; it has 'age', 'sex', 'income', 'owner', 'Risk'",
        ),
        (HEADER + "1,a,2,true,0\n2,b\n", "body", "row 2 has 2 values, but the header names 5 columns"),
        (HEADER + "1,a,2,true,0\n1,a,2,true,0\nyoung,a,2,true,0\n", "columns.age", "row 3: must be a whole number, found 'young'"),
        (HEADER + "1.5,a,2,true,0\n", "columns.age", "row 1: must be a whole number, found 1.5"),
        (HEADER + "99999999999999999999,a,2,true,0\n", "columns.age", "row 1: must be a whole number of at most 64 bits"),
        (HEADER + "1,a,nan,true,0\n", "columns.income", "row 1: must be a number, found 'nan'"),
        (HEADER + "1,a,1e999,true,0\n", "columns.income", "row 1: must be a number, found '1e999'"),
        (HEADER + "1,a,2,yes,0\n", "columns.owner", "row 1: must be true or false, found 'yes'"),
        (HEADER + "1,a\0,2,true,0\n", "columns.sex", "row 1: must not contain the NUL character"),
        (HEADER + "1,a,2,true,\n", "columns.label", "holds no label in any row"),
        ("age,sex,income,owner,label,age\n1,a,2,true,0,1\n", "body", "names the column 'age' twice"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_column_and_row(content: str | bytes, field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        processed(content)

    assert [(problem.field, problem.message) for problem in caught.value.problems] == [(field, message)]


def test_text_of_another_encoding_is_refused_where_it_is_and_read_where_that_is_named() -> None:
    content = (HEADER + "1,ü,2,true,0\n" * 2).encode("latin-1")

    with pytest.raises(InvalidInput, match=r"body: byte FC at offset 29 \(line 2\) is not UTF-8"):
        processed(content)
    found = next(distribution for distribution in processed(content, encoding="latin-1").distributions if distribution.columns == ("sex",))

    assert [cell for cell in found.cells if cell.values == ("ü",)]  # noqa: PD011 - no frame


def test_every_absent_column_is_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        processed("sex,label\na,1\n", weight="w")

    assert [problem.field for problem in caught.value.problems] == ["weight", "columns.age", "columns.income", "columns.owner"]


def test_columns_of_another_type_in_a_typed_file_are_all_named(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(InvalidInput) as caught:
        processed(FRAME.assign(age=["20", "40", "40", None], sex=1.5, label=pd.Timestamp("2030-01-01")))

    assert [problem.field for problem in caught.value.problems] == ["columns.age", "columns.sex", "columns.label"]
    assert [problem.message for problem in caught.value.problems] == snapshot


def test_a_fraction_in_a_typed_file_s_column_of_whole_numbers_is_refused_by_row() -> None:
    assert counts(processed(FRAME.assign(age=[20.0, 40.0, 40.0, None])), "age") == {(20, 0): 1, (40, 1): 2, (None, 1): 1}
    with pytest.raises(InvalidInput, match=r"columns.age: row 2: must be a whole number, found 40.5"):
        processed(FRAME.assign(age=[20.0, 40.5, 40.0, None]))


@pytest.mark.parametrize(
    ("weights", "found"), [("1,-2", r"-2\.0"), ("1,", "none"), ("1,inf", "'inf'"), ("0,9e-13", "9e-13"), ("1,2e30", r"2e\+30")]
)
def test_a_weight_is_zero_or_a_number_whose_square_is_one(weights: str, found: str) -> None:
    text = "sex,label,w\n" + "".join(f"a,1,{weight}\n" for weight in weights.split(","))
    with pytest.raises(InvalidInput, match=rf"columns\.w: row 2: .*found {found}"):
        processed(text, of=deployment([column("sex", FieldType.STRING)]), weight="w")


@pytest.mark.parametrize(("weight", "message"), [("label", "is the column of the label"), ("age", "is an attribute of the monitor")])
def test_what_is_compared_is_no_weight(weight: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"weight: '{weight}' {message}"):
        processed(ROWS, watching=monitor(), weight=weight)


BOOLEANS = OutcomeRule(favourable=(True,), unfavourable=(False,))
WORDS = OutcomeRule(favourable=("Yes",), unfavourable=("No",))


def of_labels(*labels: str) -> str:
    return "sex,label\n" + "".join(f"{'female' if number % 2 else 'male'},{label}\n" for number, label in enumerate(labels))


BY_SEX = deployment([column("sex", FieldType.STRING)])


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_booleans_are_labels_however_a_text_spells_them(form: str) -> None:
    text = of_labels("True", "False", "TRUE", " false ", "1", "maybe")
    content = text if form == "csv" else pd.read_csv(BytesIO(text.encode()), dtype=str)
    watching = monitor(SEX, outcomes=BOOLEANS)

    data = processed(content, of=BY_SEX, watching=watching)
    made = build_present_tables(processed(content, of=BY_SEX), watching, BY_SEX.schema)[0].table

    assert table(data, "sex").counts.tolist() == [[2, 0], [0, 3]]
    assert made is not None
    assert made.counts.tolist() == [[2, 0], [0, 3]]
    assert find_unclassified(data.summary.labels, BOOLEANS) == UnclassifiedLabels(1, ("maybe",))


def test_booleans_are_texts_where_the_outcomes_are_texts() -> None:
    rule = OutcomeRule(favourable=("true",), unfavourable=("no",))

    data = processed(of_labels("True", "true", "no"), of=BY_SEX, watching=monitor(SEX, outcomes=rule))

    assert find_unclassified(data.summary.labels, rule) == UnclassifiedLabels(1, ("True",))


def test_labels_of_no_outcome_are_counted_and_the_most_frequent_shown() -> None:
    labels = [*["Yes"] * 3, "No", "", *["yes"] * 4, *["Yes "] * 5, "a", "b", "c", "d"]

    data = processed(of_labels(*labels), of=BY_SEX, watching=monitor(SEX, outcomes=WORDS))

    assert find_unclassified(data.summary.labels, WORDS) == UnclassifiedLabels(13, ("Yes ", "yes", "a", "b", "c"))


@pytest.mark.parametrize(
    ("labels", "rule", "message"),
    [
        (
            ("yes", "no", "no"),
            WORDS,
            "no label is among the monitor's outcomes: found 'no', 'yes'; favourable are 'Yes', unfavourable 'No'",
        ),
        (
            ("2", "T", "2"),
            BOOLEANS,
            "no label is among the monitor's outcomes: found 2, 'T'; favourable are true, unfavourable false",
        ),
    ],
)
def test_labels_that_are_all_of_no_outcome_are_refused_under_a_monitor_only(
    labels: tuple[str, ...], rule: OutcomeRule, message: str
) -> None:
    assert processed(of_labels(*labels), of=BY_SEX).summary.records == 3
    with pytest.raises(InvalidInput) as caught:
        processed(of_labels(*labels), of=BY_SEX, watching=monitor(SEX, outcomes=rule))

    assert [(problem.field, problem.message) for problem in caught.value.problems] == [("label", message)]


def test_numbers_in_intervals_are_counted_where_each_lies_in_one_outcome_or_in_none() -> None:
    text = "sex,label\n" + "".join(f"male,{number}\n" for number in range(2_000))
    labels = processed(text, of=deployment([column("sex", FieldType.STRING)], problem_type=ProblemType.REGRESSION)).summary.labels
    lowest = labels.cells[0].label
    assert isinstance(lowest, Range)

    apart = find_unclassified(labels, OutcomeRule(favourable=(Range(lowest.lo, lowest.hi),), unfavourable=(Range(5_000, 6_000),)))
    across = find_unclassified(labels, OutcomeRule(favourable=(Range(0, lowest.lo + 0.5),), unfavourable=(Range(5_000, 6_000),)))

    assert apart is not None
    assert (apart.records, len(apart.examples)) == (2_000 - labels.cells[0].records, 5)
    assert across is None


def test_a_column_of_ids_is_no_label() -> None:
    text = "sex,label\n" + "".join(f"a,id-{number}\n" for number in range(MAX_COUNTED_VALUES + 1))
    with pytest.raises(InvalidInput, match=r"label: the column 'label' holds more than 1,000 different values: it is no class label"):
        processed(text, of=deployment([column("sex", FieldType.STRING)]))


@pytest.mark.parametrize("content", [b"PAR1 is not all of it", b"age,sex\n1,a\n"])
def test_what_is_not_parquet_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="body: is not a Parquet file"):
        ParquetFile(BytesIO(content))


def test_a_file_of_too_many_records_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MAX_RECORDS", 3)
    with pytest.raises(TooLarge, match="more than 3 records"):
        processed(ROWS)
    assert limits.MAX_RECORDS > 3


def test_damaged_parquet_is_refused_or_read_and_never_ends_the_process() -> None:
    buffer = BytesIO()
    FRAME.to_parquet(buffer)
    whole = buffer.getvalue()
    generator = np.random.default_rng(2)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for place in generator.integers(0, len(whole), 3):
            damaged[place] = generator.integers(0, 256)
        try:
            processed_parquet(bytes(damaged))
        except (InvalidInput, TooLarge):
            refused += 1

    assert refused > 100
