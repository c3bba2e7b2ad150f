"""Names and values of a column, by themselves and together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from app.base.values import GroupValue, Range
from app.deployments.recommendations.attribute_kinds import Kind
from app.deployments.recommendations.column_names import match_name, read_kind, split_words
from app.deployments.recommendations.detect_kind import Confidence, DetectedKind, DismissedColumn, detect_kind
from app.deployments.recommendations.suggested_outcomes import is_no_answer
from tests.builders.page_words import says


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PersonalStatusSex", ("personal", "status", "sex")),
        ("RAC1P", ("rac", "1", "p")),
        ("SEX_CD", ("sex", "cd")),
        ("HTTPCode", ("http", "code")),
        ("État civil", ("etat", "civil")),
        ("płeć", ("plec",)),
        ("", ()),
        ("__", ()),
    ],
)
def test_a_name_is_read_as_words(name: str, words: tuple[str, ...]) -> None:
    assert split_words(name) == words


@pytest.mark.parametrize("name", ["essex", "unisex", "sextant", "genre", "Middlesex"])
def test_a_word_that_merely_holds_the_name_is_another(name: str) -> None:
    assert match_name(read_kind(Kind.SEX), name) is None


def test_a_name_with_words_that_change_it_is_not_enough_but_its_own_values_are() -> None:
    dismissed = detect_kind("sex_education_hours", {0: 5, 10: 5, 40: 5})
    found = detect_kind("sex_of_the_firstborn", {"boy": 50, "girl": 50, "male": 1})

    assert isinstance(dismissed, DismissedColumn)
    assert "'education', 'hours' next to it" in dismissed.reason
    assert isinstance(found, DetectedKind)
    assert found.confidence is Confidence.MEDIUM


@pytest.mark.parametrize("name", ["DOB", "date_of_birth", "birthYear", "Geburtsdatum", "DAYS_BIRTH", "fecha_nacimiento"])
def test_a_date_of_birth_is_no_age_and_it_is_said_what_to_do(name: str) -> None:
    found = detect_kind(name, {1980: 50, 1990: 50})

    assert isinstance(found, DismissedColumn)
    assert "log the age at the decision" in found.reason


def test_iso_5218_codes_are_a_guess_to_be_confirmed(snapshot: SnapshotAssertion) -> None:
    found = detect_kind("sex", {1: 50, 2: 50, 9: 1})

    assert isinstance(found, DetectedKind)
    assert found.confidence is Confidence.MEDIUM
    assert says(found.values.to_confirm, "1", "male", "2", "female", "ISO", "5218")
    assert found.values.to_confirm == snapshot


def test_of_0_and_1_nothing_is_guessed() -> None:
    found = detect_kind("gender", {0: 50, 1: 50})

    assert isinstance(found, DetectedKind)
    assert found.values.meanings == {}
    assert "do not show which group 0 is" in str(found.values.to_confirm)


def test_a_column_that_says_yes_or_no_has_the_meaning_of_its_name() -> None:
    found = detect_kind("is_female", {True: 50, False: 50})

    assert isinstance(found, DetectedKind)
    assert found.values.meanings == {"true": "female", "false": "not female"}


def test_names_without_values_are_no_proposal() -> None:
    found = detect_kind("sex", {})

    assert isinstance(found, DismissedColumn)
    assert found.reason.startswith("nothing is known of its values")


@pytest.mark.parametrize("value", ["Unknown", "N/A", "?", "", "Prefer not to say", "Race Not Available", "Joint", "8888"])
def test_answers_that_name_no_group_are_recognised(value: str) -> None:
    assert is_no_answer(value)


@pytest.mark.parametrize("value", ["male", "other", "Not-in-family", "Never-married", 0, True])
def test_answers_that_name_a_group_are_none_of_these(value: GroupValue) -> None:
    assert not is_no_answer(value)


VALUES = st.one_of(
    st.text(max_size=40),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.builds(Range, st.floats(-10, 10), st.floats(20, 130)),
)


@given(st.text(max_size=60), st.dictionaries(VALUES, st.integers(1, 1000), max_size=30))
@pytest.mark.thorough
def test_any_name_and_any_values_are_looked_at_without_an_error(name: str, counted: dict[GroupValue, int]) -> None:
    for asked in (name, f"{name} sex", "race", "marital status", "age", "zip"):
        found = detect_kind(asked, counted)

        assert found is None or isinstance(found, DetectedKind | DismissedColumn)


@given(
    st.lists(st.integers(100_000, 10**9), min_size=30, max_size=60, unique=True),
    st.sampled_from(["race_id", "age", "sex", "id", "marital"]),
)
@pytest.mark.thorough
def test_ids_are_never_proposed(ids: list[int], name: str) -> None:
    assert not isinstance(detect_kind(name, dict.fromkeys(ids, 1)), DetectedKind)
