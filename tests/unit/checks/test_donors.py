"""Donors of a group, and the copies that are made with them."""

import json

import numpy as np
import pytest

from app.base.errors import InvalidInput
from app.base.values import Range
from app.checks.copies.copy_outcomes import CopyTarget, build_copy_target, make_target_key, plan_copies
from app.deployments.training.queries import Donor, Donors
from app.deployments.training.unseen_groups import (
    GroupDonors,
    Representatives,
    find_donors_of_groups,
    find_representative_donors,
    require_donors,
)
from app.domain.deployment import Column, FieldKind, FieldType, RecordSchema
from app.domain.monitor import Monitor, Outcome, OutcomeRule
from app.sources.arrays.read_records import Group, Grouping
from app.statistics.measures.perturbed_data import measure_counterfactual
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.results import value

SEX = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
AGE = Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC)
ROLE = Column(name="role", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
HOURS = Column(name="hours", type=FieldType.NUMBER, kind=FieldKind.NUMERIC)
SCHEMA = RecordSchema(version=1, features=(ROLE, HOURS), meta=(SEX, AGE))
WOMEN, MEN = Group("female", "monitored", "female"), Group("male", "reference", "male")
KINDS = (("role", FieldType.STRING), ("hours", FieldType.NUMBER))
BY_SEX = Donors(
    KINDS,
    (
        Donor("female", 2.0, ("wife", 20)),
        Donor("male", 1.0, ("husband", 40)),
        Donor("male", 3.0, ("single", None)),
        Donor("other", 1.0, ("none", 1)),
    ),
    "d1",
)
MONITOR = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(), draws=3, seed=5)


def of_men(*features: str) -> GroupDonors:
    return find_donors_of_groups(BY_SEX, (WOMEN, MEN), SEX, SCHEMA, features or ("hours", "role"))[1]


def into_men(seed: int = 5, donors: GroupDonors | None = None) -> CopyTarget:
    return build_copy_target(MEN, SEX, draws=3, seed=seed, donors=donors or of_men())


def test_a_group_has_its_own_donors_in_the_types_of_the_features() -> None:
    women, men = find_donors_of_groups(BY_SEX, (WOMEN, MEN), SEX, SCHEMA, ("role", "hours"))

    assert (women.rows, women.records) == ((("wife", 20.0),), (2.0,))
    assert (men.rows, men.records) == ((("husband", 40.0), ("single", None)), (1.0, 3.0))
    assert isinstance(women.rows[0][1], float)
    assert of_men("hours").features == ("hours",)


def test_a_range_has_the_donors_whose_number_lies_in_it_and_a_number_those_that_equal_it() -> None:
    by_age = Donors((("role", FieldType.STRING),), tuple(Donor(age, 1.0, (f"r{age}",)) for age in (17, 18, 25, 26)), "d1")

    young = find_donors_of_groups(by_age, (Group("18-25", "monitored", Range(18, 25)),), AGE, SCHEMA, ("role",))[0]
    exactly = find_donors_of_groups(by_age, (Group("26", "monitored", 26.0),), AGE, SCHEMA, ("role",))[0]

    assert young.rows == (("r18",), ("r25",))
    assert exactly.rows == (("r26",),)


@pytest.mark.parametrize(
    ("schema", "feature"),
    [
        (SCHEMA, "income"),
        (RecordSchema(version=2, features=(Column(name="role", type=FieldType.INTEGER, kind=FieldKind.CATEGORICAL),)), "role"),
        (RecordSchema(version=2, features=(HOURS,)), "role"),
    ],
)
def test_a_feature_without_donors_or_of_another_type_now_is_refused(schema: RecordSchema, feature: str) -> None:
    with pytest.raises(InvalidInput, match=r"attributes\.sex\.correlated_features"):
        find_donors_of_groups(BY_SEX, (WOMEN,), SEX, schema, (feature,))


def test_a_donor_is_drawn_as_often_as_the_records_it_stands_for() -> None:
    men = of_men("role")

    drawn = [men.choose(share)["role"] for share in np.linspace(0, 1, 1_000, endpoint=False)]

    assert drawn.count("husband") == 250
    assert drawn.count("single") == 750


def test_a_copy_takes_all_correlated_features_from_one_donor_and_the_same_one_every_time() -> None:
    copies = [(str(record), draw) for record in range(300) for draw in range(3)]

    found = [dict(into_men().draw_changes(*copy)) for copy in copies]

    assert [dict(into_men().draw_changes(*copy)) for copy in copies] == found
    assert {tuple(sorted(donors.items(), key=str)) for donors in found} == {
        (("hours", 40.0), ("role", "husband")),
        (("hours", None), ("role", "single")),
    }
    assert found.count({"role": "husband", "hours": 40.0}) == pytest.approx(900 / 4, abs=60)
    assert [dict(into_men(seed=6).draw_changes(*copy)) for copy in copies] != found


def test_what_is_drawn_does_not_depend_on_which_features_are_picked() -> None:
    both = [into_men().draw_changes(str(record), 0)["role"] for record in range(100)]

    assert [into_men(donors=of_men("role")).draw_changes(str(record), 0)["role"] for record in range(100)] == both


def test_other_features_or_other_training_data_are_other_targets() -> None:
    other = GroupDonors(of_men().features, of_men().rows, of_men().records, "d2")
    targets = [into_men(), into_men(donors=of_men("role")), into_men(donors=other), build_copy_target(MEN, SEX, draws=3, seed=5)]

    texts = [make_target_key(target, model_revision="1", schema_version=1).target for target in targets]

    assert len(set(texts)) == 4
    assert json.loads(texts[0]) == {"target": "male", "features": ["role", "hours"], "donors": "d1"}
    assert texts[3] == "male"


def test_the_order_in_which_features_are_picked_changes_nothing() -> None:
    assert into_men(donors=of_men("role", "hours")).key_text == into_men(donors=of_men("hours", "role")).key_text


def test_a_group_without_donors_fails_the_plan_only_if_records_are_copied_into_it() -> None:
    nobody = GroupDonors(("role",), (), (), "d1")
    outcomes = np.array([Outcome.FAVOURABLE, Outcome.UNFAVOURABLE])
    women, men = (Grouping(SEX, (WOMEN, MEN), np.array([code, code])) for code in (0, 1))

    planned = plan_copies(men, outcomes, MONITOR, seen_by_model=False, donors=[of_men(), nobody])

    assert planned.copy_counts.sum() == 2
    with pytest.raises(InvalidInput, match=r"attributes\.sex\.correlated_features.*keep no record of the group 'male' of sex"):
        plan_copies(women, outcomes, MONITOR, seen_by_model=False, donors=[of_men(), nobody])
    with pytest.raises(InvalidInput, match="upload training data with such records"):
        require_donors(nobody, MEN, SEX)


def test_representatives_are_the_most_frequent_combinations_with_their_shares_among_them() -> None:
    rows = (("a",), ("b",), ("a",), ("c",), (None,))
    donors = GroupDonors(("role",), rows, (1.0, 3.0, 1.0, 4.0, 1.0), "d1")

    assert find_representative_donors(donors, limit=2) == Representatives(((4 / 7, {"role": "c"}), (3 / 7, {"role": "b"})), 0.7)
    everybody = find_representative_donors(donors)
    assert [values["role"] for _, values in everybody.combinations] == ["c", "b", "a", None]
    assert sum(share for share, _ in everybody.combinations) == pytest.approx(1)
    assert everybody.covered == 1
    assert find_representative_donors(GroupDonors(("role",), (), (), "d1")) == Representatives((), 0.0)


def test_a_model_that_uses_nothing_of_what_donors_lend_is_counterfactual_however_differently_the_groups_fare() -> None:
    """Of 100 women 20 are favourable, of 300 men 180, and their copies alike: the donors' features play no part."""
    grouping = Grouping(SEX, (WOMEN, MEN), np.repeat([0, 1], [100, 300]))
    outcomes = np.repeat([Outcome.FAVOURABLE, Outcome.UNFAVOURABLE, Outcome.FAVOURABLE, Outcome.UNFAVOURABLE], [20, 80, 180, 120])
    copies = plan_copies(grouping, outcomes, MONITOR, seen_by_model=False, donors=[of_men(), of_men()])
    for target, records in copies.list_missing():
        for _ in range(copies.targets[target].draws):
            copies.add(target, records, outcomes[records])

    table = CounterfactualCells.from_records(
        grouping.named_groups, grouping.codes, outcome=outcomes, copies_favourable=copies.favourable, copies_classified=copies.classified
    )
    found = value(measure_counterfactual(table), "disparate_impact", "group", "female")

    assert MONITOR.draws == 3
    assert found.value == 1
