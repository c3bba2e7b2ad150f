"""Whatever way a prediction or label is read, it counts as the same outcome; text never counts under numbers."""

import io
import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pyarrow import parquet

from app.base.values import Range, Scalar
from app.deployments.training.from_distributions import classify_cell_label
from app.deployments.training.typed_column import read_classes
from app.domain.monitor import Outcome, OutcomeRule, describe_outcome, list_outcome_texts
from app.domain.record import parse_label
from app.library.frame_report import OutcomeLists, classify_outcomes, match_labels
from app.sources.arrays.favourable_scores import (
    OutcomeClassifier,
    canonical_texts,
    classify_answers,
    format_value,
    parse_value,
    read_answers,
)
from tests.builders.outcome_rules import rules, values

NUMBERS = OutcomeRule(favourable=(1,), unfavourable=(0,))
TEXTS = OutcomeRule(favourable=("1",), unfavourable=("0",))
BOOLEANS = OutcomeRule(favourable=(True,), unfavourable=(False,))
RANGES = OutcomeRule(favourable=(Range(0.5, 1.0),), unfavourable=(Range(0.0, 0.4),))


def by_library(found: list[Scalar], rule: OutcomeRule) -> list[int]:
    """What the library makes of a column of these values."""
    lists = OutcomeLists(rule.favourable, rule.unfavourable)
    return [int(code) for code in classify_outcomes(pd.Series(found, name="outcome", dtype=object), lists, "prediction").codes]


def to_number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def classes(array: pa.Array, *, is_typed: bool) -> list[Scalar]:
    """The labels that training data take a column of a file for."""
    coded = read_classes("label", array, 0, is_typed=is_typed)
    return list(coded.values)


@given(st.lists(values, min_size=1, max_size=20), rules())
@example([1], OutcomeRule(favourable=("0",), unfavourable=("1.0",)))
def test_all_ways_agree_on_the_outcome_of_every_value(found: list[Scalar], rule: OutcomeRule) -> None:
    one_by_one = [int(rule.classify(value)) for value in found]

    assert classify_answers(pa.chunked_array([pa.array([json.dumps(value) for value in found])]), rule).tolist() == one_by_one
    assert [int(OutcomeClassifier(rule)(value)) for value in found] == one_by_one
    assert [int(classify_cell_label(value, rule)) for value in found] == one_by_one
    has_number = any(not isinstance(value, str | bool) for value in found)
    numbers = [{to_number(value) for value in values} for values in (rule.favourable, rule.unfavourable)]
    assume(not numbers[0] & numbers[1] - {None})  # '1.0' and '1' of a column of numbers are one value, which the library refuses
    if has_number or not isinstance(rule.favourable[0], Range):  # of text alone the library refuses ranges
        assert by_library(found, rule) == one_by_one


@given(st.lists(values, min_size=1, max_size=20), st.sampled_from([NUMBERS, RANGES]))
def test_no_text_counts_under_numbers(found: list[Scalar], rule: OutcomeRule) -> None:
    assert all(rule.classify(value) is Outcome.UNCLASSIFIED for value in found if isinstance(value, str))


@given(values)
def test_a_json_text_holds_the_value_with_its_type(value: Scalar) -> None:
    again = parse_value(format_value(value))

    assert again == value
    assert isinstance(again, str) == isinstance(value, str)


def test_a_number_counts_under_the_text_that_it_is_written_as() -> None:
    assert [TEXTS.classify(value) for value in (1, 1.0, "1", "1.0", 0)] == [
        Outcome.FAVOURABLE,
        Outcome.FAVOURABLE,
        Outcome.FAVOURABLE,
        Outcome.UNCLASSIFIED,
        Outcome.UNFAVOURABLE,
    ]


@pytest.mark.parametrize("rule", [NUMBERS, TEXTS])
def test_text_files_have_no_types_so_their_numbers_count_under_both(rule: OutcomeRule) -> None:
    """A CSV of feedback and a CSV of training data say the same, and the same as a typed file of numbers."""
    column = ["1", "0", "2"]
    of_csv = classes(pa.array(column), is_typed=False)
    of_numbers = classes(pa.array([1, 0, 2]), is_typed=True)

    expected = [Outcome.FAVOURABLE, Outcome.UNFAVOURABLE, Outcome.UNCLASSIFIED]
    assert [rule.classify(value) for value in of_csv] == expected
    assert [rule.classify(value) for value in of_numbers] == expected
    assert [rule.classify(_label(text)) for text in column] == expected


def test_all_spellings_of_a_boolean_are_that_boolean_where_booleans_are_listed() -> None:
    spellings = {Outcome.FAVOURABLE: [True, "True", "TRUE", "true", "1", 1, 1.0, " True"], Outcome.UNFAVOURABLE: [False, "FALSE", "0", 0]}
    others = ["yes", "T", "2", 2, "", "1.0", "truee"]

    assert all(BOOLEANS.classify(value) is outcome for outcome, values in spellings.items() for value in values)
    assert {BOOLEANS.classify(value) for value in others} == {Outcome.UNCLASSIFIED}
    read = read_answers(pa.chunked_array([pa.array(['"TRUE"', "1", "true", '"no"', None])]), BOOLEANS)
    assert read.to_pylist() == ["true", "true", "true", '"no"', None]


def test_a_spelling_of_a_boolean_that_is_listed_itself_is_what_it_says() -> None:
    rule = OutcomeRule(favourable=(True,), unfavourable=("1", "no"))

    assert [rule.classify(value) for value in (True, "TRUE", "1", 1, "no", False, "0")] == [
        *[Outcome.FAVOURABLE] * 2,
        *[Outcome.UNFAVOURABLE] * 3,
        *[Outcome.UNCLASSIFIED] * 2,
    ]


def test_true_is_no_number_and_no_other_text_where_those_are_listed() -> None:
    assert {NUMBERS.classify(value) for value in (True, "True", "true")} == {Outcome.UNCLASSIFIED}
    assert {OutcomeRule(("True",), ("False",)).classify(value) for value in (True, "TRUE", "1", 1)} == {Outcome.UNCLASSIFIED}


def test_labels_and_predictions_of_two_spellings_are_the_same_class_in_the_library() -> None:
    lists = OutcomeLists.of(True, False)
    labels = classify_outcomes(pd.Series(["True", "TRUE", "1", "False", "no"], name="label", dtype=object), lists, "label")
    predicted = classify_outcomes(pd.Series([True, True, True, True, False], name="prediction"), lists, "prediction")

    assert match_labels(labels, predicted).tolist() == [True, True, True, False, False]


def test_text_of_a_typed_file_is_text() -> None:
    stream = io.BytesIO()
    parquet.write_table(pa.table({"label": ["1", "0"]}), stream)
    column = parquet.read_table(stream)["label"].combine_chunks()
    found = classes(column, is_typed=True)

    assert [NUMBERS.classify(value) for value in found] == [Outcome.UNCLASSIFIED] * 2
    assert [TEXTS.classify(value) for value in found] == [Outcome.FAVOURABLE, Outcome.UNFAVOURABLE]


def test_texts_are_compared_without_their_types() -> None:
    found = canonical_texts(pa.chunked_array([pa.array(['"1"', "1", "1.0", '"a b"', None, "true"])]))

    assert found.to_pylist() == ["1", "1", "1", "a b", None, "true"]


def test_a_text_that_spells_a_number_is_shown_and_stored_apart_from_it() -> None:
    assert [describe_outcome(one) for one in (1, "1", "yes", Range(0, 1), True)] == ["1", '"1"', "yes", "0-1", "true"]
    assert list_outcome_texts(NUMBERS.favourable) != list_outcome_texts(TEXTS.favourable)


def _label(text: str) -> Any:  # noqa: ANN401 - any JSON
    return parse_label(text, is_text=False)
