"""Attributes that a preset asks for are found by whole words of their names."""

import pytest

from app.reports.regulator.attribute_names import order_for_audit, split_name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("applicant_gender", {"applicant", "gender"}),
        ("applicantGender", {"applicant", "gender"}),
        ("Applicant gender", {"applicant", "gender"}),
        ("SEX", {"sex"}),
        ("HRRace2", {"hr", "race"}),
        ("AGE-GROUP", {"age", "group"}),
        ("language", {"language"}),
        ("embrace", {"embrace"}),
        ("âge", {"âge"}),
        ("", set()),
    ],
)
def test_a_name_is_split_into_its_words(name: str, words: set[str]) -> None:
    assert split_name(name) == words


@pytest.mark.parametrize(
    ("watched", "unless_chosen", "chosen"),
    [
        (("sex", "race"), ("sex", "race"), ("sex", "race")),
        (("age", "race", "gender"), ("gender", "race"), ("gender", "race", "age")),
        (("sex", "race", "race_of_partner"), ("sex", "race", "race_of_partner"), ("sex", "race", "race_of_partner")),
        (("town", "age"), ("town", "age"), ("town", "age")),
        (("sex_race",), ("sex_race",), ("sex_race",)),
    ],
)
def test_an_audit_takes_sex_and_race_where_it_is_clear_which_these_are(
    watched: tuple[str, ...], unless_chosen: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    assert order_for_audit(watched, is_chosen=False) == unless_chosen
    assert order_for_audit(watched, is_chosen=True) == chosen
