import json

import pytest

from app.access.audit.activity_queries import MAX_CHANGES, MAX_VALUE_CHARACTERS, MORE_CHANGES, changes_between


def test_only_what_differs_is_named_with_what_was_and_what_is() -> None:
    before = {"name": "a", "endpoint": {"url": "x", "page_size": 5}, "kept": [1, 2]}
    after = {"name": "b", "endpoint": {"url": "x", "page_size": 6}, "kept": [1, 2]}

    assert changes_between(before, after) == {"name": ["a", "b"], "endpoint.page_size": [5, 6]}
    assert changes_between(before, before) == {}


def test_what_appears_was_null_and_what_goes_is_null() -> None:
    assert changes_between(None, {"name": "a"}) == {"name": [None, "a"]}
    assert changes_between({"endpoint": {"url": "x"}}, {"endpoint": None}) == {"endpoint.url": ["x", None]}
    assert changes_between(None, None) == {}


def test_items_with_a_name_are_compared_by_it_and_their_order_counts() -> None:
    sex, age = {"name": "Sex", "type": "string"}, {"name": "Age", "type": "integer"}

    assert changes_between({"features": [sex, age]}, {"features": [age, sex]}) == {"features": [["Sex", "Age"], ["Age", "Sex"]]}
    assert changes_between({"features": [sex]}, {"features": [{**sex, "type": "integer"}]}) == {"features.Sex.type": ["string", "integer"]}
    assert changes_between({"features": [sex]}, {"features": [sex, age]}) == {
        "features": [["Sex"], ["Sex", "Age"]],
        "features.Age.type": [None, "integer"],
    }


def test_true_and_one_are_different_values() -> None:
    assert changes_between({"favourable": [1]}, {"favourable": [True]}) == {"favourable": [[1], [True]]}


@pytest.mark.nightly
def test_what_is_kept_is_bounded_however_much_changed() -> None:
    before = {f"{number}{'n' * 1000}": "x" * 100_000 for number in range(500)}
    after = {name: ["é"] * 100_000 for name in before}

    found = changes_between(before, after)

    assert found.pop(MORE_CHANGES) == 500 - MAX_CHANGES
    assert len(found) == MAX_CHANGES
    assert len(json.dumps(found, ensure_ascii=False)) < MAX_CHANGES * 4 * MAX_VALUE_CHARACTERS
