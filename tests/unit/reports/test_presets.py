"""Attributes that a preset asks for are found by whole words of their names."""

import pytest

from app.reports.regulator.attribute_names import split_name


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
