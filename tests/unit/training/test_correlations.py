"""What an upload says of meta fields: their associations with features, and the donors."""

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from app.deployments.training import associate_columns as correlations
from app.deployments.training import process_upload as processing
from app.deployments.training.associate_columns import TOO_MANY_CELLS, TOO_MANY_PAIRS, ValueAxis
from app.deployments.training.process_upload import DonorSample, hash_rows
from app.deployments.training.queries import AssociationMeasure, AttributeAssociations
from app.deployments.training.read_pieces import Part
from app.domain.deployment import Column, Deployment, FieldKind, FieldType
from app.sources.arrays.association import ONE_VALUE
from app.sources.arrays.favourable_scores import CodedCells
from tests.builders.page_words import says
from tests.unit.training.sending import column, deployment, processed

ROLE = column("role", FieldType.STRING)
HOURS = column("hours", FieldType.INTEGER)
SEX = column("sex", FieldType.STRING)
PEOPLE = "role,hours,sex,label\nwife,20,female,0\nwife,30,female,1\nhusband,40,male,1\nhusband,50,male,0\nhusband,,male,1\n,40,,1\n"


def of(*meta: Column) -> Deployment:
    return deployment([ROLE, HOURS], meta)


def correlated(content: str | pd.DataFrame, *meta: Column, weight: str | None = None) -> AttributeAssociations:
    """What is kept of the one meta field."""
    (found,) = processed(content, of=of(*(meta or (SEX,))), weight=weight).correlated
    return found


def people(count: int) -> pd.DataFrame:
    """That many women, twice as many men and one of a third kind, each with an hour of their own."""
    sexes = ["female"] * count + ["male"] * (2 * count) + ["other"]
    return pd.DataFrame(
        {"role": [f"{sex} role" for sex in sexes], "hours": range(len(sexes)), "sex": sexes, "label": [0, *[1] * (len(sexes) - 1)]}
    )


def test_each_feature_is_measured_by_its_kind_and_records_without_a_value_are_counted() -> None:
    found = correlated(PEOPLE)

    assert found.attribute == "sex"
    role, hours = found.associations
    assert (role.feature, role.measure, role.records, role.left_out) == ("role", AssociationMeasure.CRAMERS_V, 5, 1)
    assert (role.strength, role.uncorrected) == (1.0, 1.0)
    assert (hours.measure, hours.records, hours.left_out) == (AssociationMeasure.CORRELATION_RATIO, 4, 2)
    assert hours.uncorrected == pytest.approx((400 / 500) ** 0.5)
    # Epsilon squared of 4 records in 2 groups: 1 - (1 - 0.8) x 3 / 2.
    assert hours.strength == pytest.approx(0.7**0.5)


def test_a_numeric_meta_field_is_measured_the_other_way_round() -> None:
    age = column("age", FieldType.INTEGER)

    found = correlated("role,hours,age,label\na,1,20,0\na,2,30,1\nb,3,40,1\nb,4,50,1\n", age)

    assert [association.measure for association in found.associations] == [
        AssociationMeasure.CORRELATION_RATIO,
        AssociationMeasure.ABSOLUTE_PEARSON,
    ]
    assert [association.uncorrected for association in found.associations] == [pytest.approx((400 / 500) ** 0.5), pytest.approx(1)]
    assert [association.strength for association in found.associations] == [pytest.approx(0.7**0.5), pytest.approx(1)]


def test_numbers_that_are_categories_are_compared_as_such() -> None:
    code = Column(name="code", type=FieldType.INTEGER, kind=FieldKind.CATEGORICAL)

    found = correlated("role,hours,code,label\na,1,7,0\na,2,7,1\nb,3,9,1\n", code)

    assert found.associations[0].measure is AssociationMeasure.CRAMERS_V
    assert found.donors.donors[0].value == 7


def test_what_cannot_be_measured_says_why(snapshot: SnapshotAssertion) -> None:
    one_role = correlated("role,hours,sex,label\na,1,female,0\na,2,male,1\n")
    many = pd.DataFrame({"role": [f"r{no}" for no in range(1_001)], "hours": 1, "sex": ["female", *["male"] * 1_000], "label": 1})

    role, hours = correlated(many).associations

    assert one_role.associations[0].reason == ONE_VALUE
    assert (role.strength, role.records, role.left_out) == (None, 0, 1_001)
    assert says(role.reason, "1,000")
    assert role.reason == snapshot
    assert hours.reason == ONE_VALUE
    assert correlated(many).donors.donors == ()


def test_a_meta_field_of_too_many_values_has_neither_associations_nor_donors(snapshot: SnapshotAssertion) -> None:
    many = pd.DataFrame({"role": ["a", "b"] * 600, "hours": range(1_200), "sex": [f"s{no}" for no in range(1_200)], "label": 1})

    found = correlated(many)

    texts = {association.reason for association in found.associations}
    assert says(min(texts), "sex", "1,000")
    assert texts == snapshot
    assert (found.donors.features, found.donors.donors) == ((), ())


def test_too_many_pairs_and_too_many_combinations_are_left_out_in_the_order_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlations, "MAX_COLUMN_PAIRS", 1)
    by_pairs = correlated(PEOPLE).associations
    monkeypatch.setattr(correlations, "MAX_COLUMN_PAIRS", 10)
    monkeypatch.setattr(correlations, "MAX_PAIR_CELLS", 4)
    by_cells = correlated(PEOPLE).associations

    assert [pair.reason for pair in by_pairs] == [None, TOO_MANY_PAIRS]
    assert [cell.reason for cell in by_cells] == [None, TOO_MANY_CELLS]


def test_a_field_that_is_not_in_the_file_and_a_deployment_without_meta_fields_have_nothing() -> None:
    assert processed("role,hours,label\na,1,0\nb,2,1\n", of=of(SEX)).correlated == ()
    assert processed(PEOPLE, of=of()).correlated == ()


def test_donors_are_parts_of_rows_taken_together_with_missing_values_as_they_were() -> None:
    found = correlated(PEOPLE).donors

    assert found.features == (("role", FieldType.STRING), ("hours", FieldType.INTEGER))
    assert [(donor.value, *donor.features, donor.records) for donor in found.donors] == [
        ("female", "wife", 20, 1.0),
        ("female", "wife", 30, 1.0),
        ("male", "husband", 40, 1.0),
        ("male", "husband", 50, 1.0),
        ("male", "husband", None, 1.0),
    ]


def test_weak_features_are_not_kept() -> None:
    counterfactual = "role,hours,sex,label\n" + "".join(f"{sex[0]},{hour},{sex},1\n" for sex in ("female", "male") for hour in (1, 2))

    assert correlated(counterfactual).donors.features == (("role", FieldType.STRING),)


def test_at_most_two_thousand_of_a_value_are_kept_and_each_says_how_many_it_stands_for() -> None:
    found = correlated(people(4_000)).donors.donors

    by_value = {value: [donor for donor in found if donor.value == value] for value in ("female", "male", "other")}
    assert {value: len(donors) for value, donors in by_value.items()} == {"female": 2_000, "male": 2_000, "other": 1}
    assert {value: {donor.records for donor in donors} for value, donors in by_value.items()} == {
        "female": {2.0},
        "male": {4.0},
        "other": {1.0},
    }
    # Chosen all over the file, and not its first rows.
    assert max(int(str(donor.features[1])) for donor in by_value["female"]) > 3_600


def test_the_same_file_gives_the_same_donors_as_csv_and_as_parquet_and_another_one_another_digest() -> None:
    frame = people(2_500)

    once, again = correlated(frame).donors, correlated(frame.to_csv(index=False)).donors

    assert once == again
    assert correlated(people(2_501)).donors.digest != once.digest


def test_donors_of_a_numeric_field_come_from_all_its_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processing, "MAX_DONORS_OF_VALUE", 10)
    age = column("age", FieldType.INTEGER)
    frame = pd.DataFrame({"role": "a", "hours": range(2_000), "age": range(2_000), "label": 1})

    found = correlated(frame, age).donors.donors

    assert len(found) == 200
    assert sum(donor.records for donor in found) == pytest.approx(2_000)
    assert {int(str(donor.value)) // 100 for donor in found} == set(range(20))


def test_only_the_most_frequent_values_have_donors_and_the_room_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processing, "MAX_DONOR_GROUPS", 2)
    monkeypatch.setattr(processing, "MAX_DONOR_VALUES", 60)

    found = correlated(people(100)).donors.donors

    assert {donor.value for donor in found} == {"female", "male"}
    # Three columns, two values: ten donors each.
    assert len(found) == 20
    assert sum(donor.records for donor in found) == pytest.approx(300)


def test_meta_fields_beyond_the_room_for_values_have_no_donors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processing, "MAX_DONOR_SOURCES", 3)
    shift = column("shift", FieldType.STRING)

    first, second = processed(people(5).assign(shift=["x", *["y"] * 15]), of=of(SEX, shift)).correlated

    assert len(first.donors.donors) == 16
    assert (second.donors.features, second.donors.donors) == ((), ())
    assert len(second.associations) == 2


def test_whole_numbers_are_compared_exactly_however_large_they_are() -> None:
    number, role = column("number", FieldType.INTEGER), ["a", "b", "b", "c", "c", "a"]
    steps = [0, 3, 2, 7, 5, 1]
    small = correlated(pd.DataFrame({"role": role, "hours": range(6), "number": steps, "label": 1}), number)

    for origin in (2**53, 2**63 - 8, -(2**63)):
        large = correlated(pd.DataFrame({"role": role, "hours": range(6), "number": [origin + step for step in steps], "label": 1}), number)
        assert [association.strength for association in large.associations] == [association.strength for association in small.associations]


def test_whole_numbers_as_far_apart_as_there_are_have_a_strength() -> None:
    number = column("number", FieldType.INTEGER)
    ends = [-(2**63), 2**63 - 1, -(2**63), 2**63 - 1]

    found = correlated(pd.DataFrame({"role": ["a", "b", "a", "b"], "hours": [1, 2, 1, 2], "number": ends, "label": 1}), number)

    assert [association.strength for association in found.associations] == [pytest.approx(1), pytest.approx(1)]


def test_a_column_of_weights_changes_nothing() -> None:
    frame = people(50)

    weighed = correlated(frame.assign(weight=range(1, len(frame) + 1)), weight="weight")

    assert weighed == correlated(frame)


def test_the_records_of_the_smallest_hashes_are_found_however_the_file_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processing, "MAX_DONORS_OF_VALUE", 7)
    monkeypatch.setattr(processing, "MAX_CANDIDATE_ROWS", 20)
    codes = np.random.default_rng(1).integers(-1, 3, 2_000)
    chosen = DonorSample(ValueAxis(["a", "b", "c"]))
    for before in range(0, 2_000, 30):
        chosen.add(Part(CodedCells(["a", "b", "c"], codes[before : before + 30])), before)

    rows, stand_for = chosen.choose_records(10_000, 1)

    expected = [sorted(np.flatnonzero(codes == code), key=lambda row: hash_rows(np.array([row]))[0])[:7] for code in range(3)]
    assert rows.tolist() == sorted(int(row) for found in expected for row in found)
    assert stand_for.sum() == pytest.approx((codes >= 0).sum())
