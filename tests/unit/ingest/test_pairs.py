import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import InvalidInput, TooLarge
from app.intake.logging.ingest_plan import CheckedPayload, StatedTimes
from app.intake.logging.log_request import LogRequest, read_payload
from tests.unit.ingest.plans import HISTORICAL, MOMENTS, plan, record
from tests.unit.ingest.random_cells import cells, good_features

PLAN = plan()
FIELDS = ["Age", "Loan amount", "Sex", "Owner"]


def pair(**changes: object) -> dict[str, Any]:
    return {
        "scoring_id": "s",
        "scoring_timestamp": "2030-01-31T12:00:00Z",
        "request": {"fields": FIELDS, "values": [[33, 12.5, "female", True], [None, 5.0, "male", False]]},
        "response": {"fields": ["prediction", "probability", "predictedLabel"], "values": [[1, [0.2, 0.8], "Risk"], [0.0, [1.0, 0], None]]},
        **changes,
    }


def read(body: object, moments: StatedTimes = MOMENTS) -> CheckedPayload:
    return read_payload(LogRequest(body=json.dumps(body).encode()), PLAN, moments)


def test_each_row_becomes_a_record_with_a_numbered_id() -> None:
    checked = read([pair(), pair(scoring_id="t")])

    assert checked.ids == ["s-1", "s-2", "t-1", "t-2"]
    assert repr(checked.features[1]) == "[None, 5, 'male', False]"
    assert repr(checked.predictions[:2]) == "[1, 0]"
    assert repr(checked.probabilities[:2]) == "[[0.2, 0.8], [1, 0]]"
    assert checked.labels[:2] == ["Risk", None]
    assert checked.times[0] == checked.times[1] is not None


def test_one_pair_needs_no_array_and_the_wrapped_form_is_read_too() -> None:
    wrapped = pair(request={"input_data": [pair()["request"]]}, response={"predictions": [pair()["response"]]})

    assert read(pair()).features == read(wrapped).features == read([wrapped]).features


def test_columns_may_come_in_another_order() -> None:
    turned = pair(request={"fields": FIELDS[::-1], "values": [row[::-1] for row in pair()["request"]["values"]]})

    assert read(turned).features == read(pair()).features


def test_meta_fields_are_read_from_their_own_table_or_among_the_columns() -> None:
    request = pair()["request"]
    apart = pair(request={**request, "meta": {"fields": ["Postcode"], "values": [["8001"], [None]]}})
    among = pair(
        request={
            "fields": [*FIELDS, "Postcode"],
            "values": [[*row, code] for row, code in zip(request["values"], ["8001", None], strict=True)],
        }
    )

    assert [list(cells) for cells in read(apart).meta] == [["8001", None], [None, None]]
    assert [list(cells) for cells in read(among).meta] == [["8001", None], [None, None]]


@pytest.mark.parametrize(
    ("row", "output", "field"),
    [
        (["33", 1.5, "female", True], [1, [0.5], None], "Age"),
        ([33, "x", "female", True], [1, [0.5], None], "Loan amount"),
        ([33, float("-inf"), "female", True], [1, [0.5], None], "Loan amount"),
        ([33, 1.5, "female", True], [float("nan"), [0.5], None], "prediction"),
        ([33, 1.5, "female", True], [1, [float("nan")], None], "probability"),
        ([2**64, 1.5, "female", True], [1, [0.5], None], "Age"),
        ([33, 1.5, "a\0", True], [1, [0.5], None], "Sex"),
        ([33, 1.5, "female", 1], [1, [0.5], None], "Owner"),
        ([33, 1.5, "female", True], [None, [0.5], None], "prediction"),
        ([33, 1.5, "female", True], [1, [1.5], None], "probability"),
        ([33, 1.5, "female", True], [1, [0.5], [1]], "predictedLabel"),
    ],
)
def test_a_spoiled_row_is_rejected_and_its_neighbours_are_kept(row: list[Any], output: list[Any], field: str) -> None:
    good = [33, 1.5, "female", True]
    request = {"fields": FIELDS, "values": [good, row, good]}
    response = {"fields": ["prediction", "probability", "predictedLabel"], "values": [[1, 0.5, None], output, ["x", 0.5, None]]}

    checked = read([pair(), pair(request=request, response=response, scoring_id="t")])

    assert checked.ids == ["s-1", "s-2", "t-1", "t-3"]
    assert [(rejection.index, rejection.field) for rejection in checked.rejections] == [(3, field)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"request": {"fields": [*FIELDS, "Height"], "values": [[1, 1.0, "x", True, 2]] * 2}}, "Height"),
        ({"request": {"fields": FIELDS[:3], "values": [[1, 1.0, "x"]] * 2}}, "Owner"),
        ({"scoring_timestamp": "1969-01-01T00:00:00Z"}, "scoring_timestamp"),
        ({"scoring_id": "x" * 300}, "scoring_id"),
        ({"scoring_id": "a\nb"}, "scoring_id"),
    ],
)
def test_a_fault_of_the_whole_pair_rejects_each_of_its_records(changes: dict[str, Any], field: str) -> None:
    checked = read([pair(), pair(**changes)])

    assert checked.ids == ["s-1", "s-2"]
    assert [(rejection.index, rejection.field) for rejection in checked.rejections] == [(2, field), (3, field)]


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"records": []},
        {"records": {}},
        {"records": [record()], "more": 1},
        "text",
        None,
        [1],
        [{"request": {}}],
        [pair(response={"fields": ["prediction"], "values": [[1]]})],
        [pair(request={"fields": FIELDS, "values": [[1], [2]]})],
    ],
)
def test_a_body_of_another_shape_is_refused_as_a_whole(body: object) -> None:
    with pytest.raises(InvalidInput):
        read(body)


def test_more_records_than_a_request_may_hold_are_refused() -> None:
    many = pair(
        request={"fields": FIELDS, "values": [[1, 1.5, "x", True]] * 6000}, response={"fields": ["prediction"], "values": [[1]] * 6000}
    )

    with pytest.raises(TooLarge):
        read([many, many])
    with pytest.raises(TooLarge):
        read({"records": [0] * 10_001})


def test_historical_pairs_must_say_when_they_were_scored() -> None:
    with pytest.raises(InvalidInput, match=r"records\[0\]\.scoring_timestamp"):
        read(pair(scoring_timestamp=None), moments=HISTORICAL)


@given(st.lists(st.one_of(good_features, st.fixed_dictionaries(dict.fromkeys(FIELDS, cells))), min_size=1, max_size=5))
@pytest.mark.thorough
def test_both_forms_of_the_same_records_store_the_same(rows: list[dict[str, Any]]) -> None:
    native = read({"records": [{"features": row, "prediction": 1} for row in rows]})
    table = read(
        {
            "request": {"fields": FIELDS, "values": [[row[name] for name in FIELDS] for row in rows]},
            "response": {"fields": ["prediction"], "values": [[1]] * len(rows)},
        }
    )

    assert repr([list(cells or ()) for cells in native.features]) == repr([list(cells or ()) for cells in table.features])
    assert [rejection.index for rejection in native.rejections] == [rejection.index for rejection in table.rejections]
