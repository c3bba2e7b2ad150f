import json

import pytest

from app.base.errors import InvalidInput
from app.intake.logging.ingest_plan import CheckedRecords
from app.intake.logging.log_request import LogRequest, read_feedback
from tests.builders.page_words import says
from tests.unit.ingest.plans import FEATURES, MOMENTS, features, plan

PLAN = plan()
CELLS = [33, 12.5, "female", True]


def read(body: object, *, is_csv: bool = False, label: str = "label") -> CheckedRecords:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_feedback(LogRequest(body=raw, is_csv=is_csv, label=label), PLAN, MOMENTS)


@pytest.mark.parametrize(
    "body",
    [
        {"records": [{"id": "a", "features": features(), "label": "Risk"}]},
        [{"id": "a", **features(), "label": "Risk", "_original_prediction": 1}],
        [{"record_id": "a", **features(), "label": "Risk"}],
        [{"fields": ["id", *features(), "label", "Extra"], "values": [["a", *CELLS, "Risk", 5]]}],
        {"fields": ["id", *features(), "label"], "values": [["a", *CELLS, "Risk"]]},
    ],
)
def test_every_json_form_gives_the_same_record(body: object) -> None:
    checked = read(body)

    assert checked.ids == ["a"]
    assert checked.features == [CELLS]
    assert checked.labels == ["Risk"]


def test_csv_is_read_by_the_types_of_the_schema_and_other_columns_are_passed_over() -> None:
    body = (
        "\ufeffAge,Sex,Loan amount,Owner,Note,Outcome,id\r\n"
        '33,"a ""b"", c",12.50,TRUE,x,Risk,r1\r\n,,,,,1,r2\r\nold,male,1,false,x,Risk,r3\r\n44,male,1e3,false,x,,r4\r\n1,2\r\n'
    ).encode()

    checked = read(body, is_csv=True, label="Outcome")

    assert checked.ids == ["r1", "r2"]
    assert [list(row) for row in checked.features] == [[33, 12.5, 'a "b", c', True], [None] * 4]
    assert checked.labels == ["Risk", 1]
    assert [(r.index, r.field) for r in checked.rejections] == [(2, "features.Age"), (3, "Outcome"), (4, "line")]


@pytest.mark.parametrize(
    ("body", "is_csv"),
    [
        ({"records": [{"features": features(), "label": "Risk", "prediction": "No Risk", "probability": [1, 0]}]}, False),
        ([{**features(), "label": "Risk", "_original_prediction": "No Risk", "_original_probability": [1, 0]}], False),
        (b'Age,Loan amount,Sex,Owner,label,_original_prediction,_original_probability\n33,12.5,f,true,Risk,No Risk,"[1, 0]"\n', True),
    ],
    ids=["records", "objects", "csv"],
)
def test_a_label_may_bring_the_models_answer_in_every_form(body: object, is_csv: bool) -> None:  # noqa: FBT001 - a row
    checked = read(body, is_csv=is_csv)

    assert (checked.predictions, checked.probabilities) == (["No Risk"], [[1, 0]])
    assert checked.labels == ["Risk"]


def test_a_stated_answer_that_cannot_be_one_is_rejected_by_its_field() -> None:
    wrong: list[dict[str, object]] = [{"_original_prediction": [1]}, {"_original_prediction": 1, "_original_probability": 1.5}]
    checked = read([{**features(), "label": 1, **one} for one in wrong])

    assert [r.field for r in checked.rejections] == ["_original_prediction", "_original_probability"]


def test_a_probability_alone_is_no_answer() -> None:
    checked = read([{**features(), "label": 1, "_original_probability": 0.5, "_original_prediction": None}])

    assert (checked.predictions, checked.probabilities) == ([None], [None])


def test_a_label_by_id_needs_no_features_and_a_label_without_either_is_rejected() -> None:
    checked = read({"records": [{"id": "a", "label": 1}, {"label": 1}, {"id": "b"}, {"id": "c", "features": {"Age": 1}, "label": 1}]})

    assert checked.features == [None]
    assert [(r.index, r.field) for r in checked.rejections] == [(1, "features"), (2, "label"), (3, "features.Loan amount")]


def test_native_feedback_knows_no_other_columns() -> None:
    checked = read({"records": [{"features": features(Height=1), "label": 1}, {"id": "x", "label": 1, "other": 2}]})

    assert [r.field for r in checked.rejections] == ["features.Height", "other"]


LONG = "x" * 140_000
"""Longer than Python's own limit of a field of CSV."""


@pytest.mark.parametrize(
    ("body", "is_csv"),
    [
        ({"records": [{"features": {"Sex": LONG}, "label": "Risk"}, {"id": "b", "label": "Risk"}]}, False),
        ([{"Sex": LONG, "label": "Risk"}, {"id": "b", "label": "Risk"}], False),
        ({"fields": ["id", "Sex", "label"], "values": [[None, LONG, "Risk"], ["b", "x", "Risk"]]}, False),
        (f"id,Sex,label\n,{LONG},Risk\nb,x,Risk\n".encode(), True),
    ],
    ids=["records", "objects", "tables", "csv"],
)
def test_a_record_with_a_long_text_is_rejected_by_its_field_in_every_form(body: object, is_csv: bool) -> None:  # noqa: FBT001 - a row
    schema = plan(features=(FEATURES[2],))

    checked = read_feedback(LogRequest(body=body if isinstance(body, bytes) else json.dumps(body).encode(), is_csv=is_csv), schema, MOMENTS)

    assert checked.ids == ["b"]
    assert [(r.index, r.field) for r in checked.rejections] == [(0, "features.Sex")]
    assert says(checked.rejections[0].reason, "10,000", "140,000")


@pytest.mark.parametrize(("body", "is_csv"), [(b'[{"id": "a", "label": 1, "label": 2}]', False), (b"id,label,label\na,1,2\n", True)])
def test_a_member_or_a_column_that_is_named_twice_refuses_the_body(body: bytes, is_csv: bool) -> None:  # noqa: FBT001 - a row
    with pytest.raises(InvalidInput, match="twice"):
        read(body, is_csv=is_csv)


def test_a_number_of_csv_that_would_be_read_as_zero_is_refused_with_its_record() -> None:
    checked = read(b"Age,Sex,Loan amount,Owner,label\n1,x,1e-400,true,1\n1,x,0e-400,true,1\n", is_csv=True)

    assert [(r.index, r.field) for r in checked.rejections] == [(0, "features.Loan amount")]


@pytest.mark.parametrize("body", [{}, [], {"records": []}, 5, {"fields": ["a"]}, b"\xff", b"{", b"[" * 100_000])
def test_a_body_of_another_shape_is_refused_as_a_whole(body: object) -> None:
    with pytest.raises(InvalidInput):
        read(body)


@pytest.mark.parametrize("body", [b"", b"Age,Sex\n1,x\n", b"label,label\n1,2\n", b"\xff\xfe", b'label\n"open', b"label\n"])
def test_csv_without_a_usable_header_or_line_is_refused_as_a_whole(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        read(body, is_csv=True)
