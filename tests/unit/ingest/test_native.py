import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import InvalidInput
from app.domain.deployment import FieldType, ProblemType
from app.intake.logging.encode_lines import check_payload
from app.intake.logging.ingest_plan import CheckedPayload, CheckedRecords
from app.intake.logging.log_request import LogRequest, read_feedback, read_payload
from tests.unit.ingest.plans import FEATURES, HISTORICAL, MOMENTS, NOW, column, features, plan, record
from tests.unit.ingest.random_cells import cells, good_features, plain_text

PLAN = plan()

times = st.sampled_from(
    [
        None,
        "2030-01-31T12:00:00Z",
        "2030-01-31T12:00:00.123456+02:00",
        "2030-01-31 12:00:00Z",
        "1999-12-31T23:59:59Z",
        "2031-01-01T00:00:00Z",
    ]
) | st.text(max_size=4)
shares = st.floats(0, 1)
good_records = st.fixed_dictionaries(
    {"features": good_features, "prediction": st.sampled_from([0, 1, 1.0, 0.5, "Risk", True])},
    optional={
        "id": st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=9),
        "meta": st.none() | st.fixed_dictionaries({}, optional={"Postcode": st.none() | plain_text, "Score": st.none() | shares}),
        "probability": st.none() | shares | st.lists(shares, max_size=3),
        "label": st.none() | st.sampled_from(["Risk", 1, 0.0, False]),
        "sample_rate": st.none() | st.floats(1e-6, 1) | st.just(1),
        "scored_at": st.sampled_from([None, "2030-01-31T12:00:00Z", "2030-01-31T12:00:00.123456+02:00"]),
    },
)
spoiled_records = st.fixed_dictionaries(
    {"features": st.dictionaries(st.sampled_from([c.name for c in FEATURES] + ["other"]), cells) | good_features},
    optional={
        "prediction": cells,
        "id": cells,
        "meta": st.none() | st.dictionaries(st.sampled_from(["Postcode", "Score", "other"]), cells),
        "probability": cells | st.lists(cells, max_size=3),
        "label": cells,
        "sample_rate": cells,
        "scored_at": times,
        "other": cells,
    },
)


@given(st.lists(good_records | spoiled_records, min_size=1, max_size=4))
@pytest.mark.thorough
def test_the_fast_way_and_the_exact_way_agree_on_every_batch_that_the_fast_way_takes(records: list[Any]) -> None:
    body = msgspec.json.encode({"records": records})
    assert PLAN.fast is not None

    fast = PLAN.fast.read(body, MOMENTS)
    exact = check_payload(records, PLAN, MOMENTS)

    if fast is not None:
        assert _stored(fast) == _stored(exact)
        assert not exact.rejections


@given(st.lists(good_records, min_size=1, max_size=4))
def test_good_records_are_taken_whole_and_each_keeps_its_values(records: list[Any]) -> None:
    checked = read_payload(LogRequest(body=msgspec.json.encode({"records": records})), PLAN, MOMENTS)

    assert not checked.rejections
    assert [list(cells) for cells in checked.features] == [[r["features"][column.name] for column in FEATURES] for r in records]
    assert checked.predictions == [r["prediction"] for r in records]
    assert checked.ids == [r.get("id") for r in records]


@given(st.lists(good_records | spoiled_records, min_size=1, max_size=5))
@pytest.mark.thorough
def test_every_record_is_either_taken_or_rejected_once(records: list[Any]) -> None:
    checked = check_payload(records, PLAN, MOMENTS)

    indexes = sorted([*checked.indexes, *(rejection.index for rejection in checked.rejections)])
    assert indexes == list(range(len(records)))


@pytest.mark.parametrize(
    ("spoiled", "field", "words"),
    [
        (record(features=features(Age="old")), "features.Age", "whole number, found 'old'"),
        (record(features=features(Age=True)), "features.Age", "whole number, found true"),
        (record(features=features(Age=3.5)), "features.Age", "whole number, found 3.5"),
        (record(features=features(Age=2**63)), "features.Age", "64 bits"),
        (record(features=features(**{"Loan amount": False})), "features.Loan amount", "must be a number, found false"),
        (record(features=features(**{"Loan amount": float("inf")})), "features.Loan amount", "finite"),
        (record(features=features(Sex=1)), "features.Sex", "must be text, found 1"),
        (record(features=features(Sex="a\0b")), "features.Sex", "NUL"),
        (record(features=features(Sex="\ud800")), "features.Sex", "surrogate"),
        (record(features=features(Owner="true")), "features.Owner", "true or false"),
        (record(features=features(Height=1.8)), "features.Height", "not a column"),
        (record(features={"Age": 1}), "features.Loan amount", "is missing"),
        (record(features=[1]), "features", "must be an object"),
        ({"prediction": 1}, "features", "is missing"),
        (record(meta={"Street": "x"}), "meta.Street", "not a column"),
        (record(prediction=None), "prediction", "is missing"),
        (record(prediction=[1]), "prediction", "text, a number or a boolean"),
        (record(probability=1.5), "probability", "within [0, 1]"),
        (record(probability=["x"]), "probability", "must be a number"),
        (record(label={}), "label", "an object"),
        (record(id=""), "id", "1 to 256 characters"),
        (record(id="x" * 257), "id", "1 to 256 characters"),
        (record(id="a\nb"), "id", "control characters"),
        (record(id=5), "id", "must be text"),
        (record(scored_at="yesterday"), "scored_at", "ISO 8601"),
        (record(scored_at="2030-05-31T12:00:00"), "scored_at", "offset"),
        (record(scored_at="1970-01-01T00:00:00Z"), "scored_at", "must lie between"),
        (record(scored_at="1970-01-01T00:00:00Z"), "scored_at", "default date"),
        (record(scored_at="2009-12-31T23:59:59Z"), "scored_at", "must lie between 2010-01-01 and 2030-06-02 12:00 UTC"),
        (record(scored_at="2030-06-03T00:00:00Z"), "scored_at", "in the future"),
        (record(scored_at="2030-05-31"), "scored_at", "must be a time"),
        (record(scored_at="2030-05-31T24:00:00Z"), "scored_at", "must be a time"),
        (record(scored_at="20300531000000"), "scored_at", "must state its offset"),
        (record(scored_at=1893456000), "scored_at", "ISO 8601 text"),
        (record(extra=1), "extra", "not a member"),
        (record(features=features(Sex="x" * 10_001)), "features.Sex", "at most 10,000 characters, found 10,001"),
        (record(meta={"Postcode": "x" * 10_001}), "meta.Postcode", "at most 10,000 characters"),
        (record(prediction="x" * 10_001), "prediction", "at most 10,000 characters"),
        (record(label="x" * 10_001), "label", "at most 10,000 characters"),
        (record(**{"x" * 10_001: 1}), "x" * 400 + "…", "not a member"),
        ("text", "record", "must be an object"),
    ],
)
def test_a_spoiled_record_is_rejected_with_its_reason_and_its_neighbours_are_kept(spoiled: object, field: str, words: str) -> None:
    body = json.dumps({"records": [record(id="before"), spoiled, record(id="after")]}).encode()

    checked = read_payload(LogRequest(body=body), PLAN, MOMENTS)

    assert checked.ids == ["before", "after"]
    assert [(rejection.index, rejection.field) for rejection in checked.rejections] == [(1, field)]
    assert words in checked.rejections[0].reason


def test_whole_numbers_are_stored_alike_however_they_are_written() -> None:
    body = json.dumps({"records": [record(features=features(Age=3.0, **{"Loan amount": 5.0}), prediction=1.0, probability=1.0, label=0.0)]})

    checked = read_payload(LogRequest(body=body.encode()), PLAN, MOMENTS)

    assert repr(list(checked.features[0])) == "[3, 5, 'female', True]"
    assert repr((checked.predictions, checked.probabilities, checked.labels)) == "([1], [1], [0])"


def test_a_regression_predicts_numbers_only() -> None:
    body = json.dumps({"records": [record(prediction="high"), record(prediction=2.5)]}).encode()

    checked = read_payload(LogRequest(body=body), plan(ProblemType.REGRESSION), MOMENTS)

    assert checked.predictions == [2.5]
    assert checked.rejections[0].field == "prediction"


def test_historical_records_must_state_a_time_that_is_hardly_ahead() -> None:
    ahead = (NOW + timedelta(minutes=11)).isoformat()
    records = [record(), *[record(scored_at="2029-01-01T00:00:00+01:00")] * 2, record(scored_at=ahead)]

    checked = read_payload(LogRequest(body=json.dumps({"records": records}).encode()), PLAN, HISTORICAL)

    assert [rejection.index for rejection in checked.rejections] == [0, 3]
    assert checked.times == [datetime(2028, 12, 31, 23, tzinfo=UTC)] * 2


def test_a_request_of_which_most_times_cannot_be_is_refused_and_a_single_record_rejected() -> None:
    good, wrong, spoiled = record(scored_at="2030-05-31T08:00:00Z"), record(scored_at="1970-01-01T00:00:00Z"), record(prediction=None)

    def send(*records: object, feedback: bool = False) -> CheckedRecords:
        read = read_feedback if feedback else read_payload
        return read(LogRequest(body=json.dumps({"records": records}).encode()), PLAN, MOMENTS)

    assert len(send(good, wrong).rejections) == 1
    assert len(send(wrong).rejections) == 1
    assert len(send(good, wrong, spoiled, spoiled).rejections) == 3
    with pytest.raises(InvalidInput) as refused:
        send(good, wrong, wrong)
    assert refused.value.problems[0].field == "records[1].scored_at"
    assert "no usable time in 2 of 3 records" in refused.value.problems[0].message
    assert "must lie between" in refused.value.problems[0].message
    label = {"id": "a", "label": 1, "labelled_at": "0001-01-01T00:00:00Z"}
    with pytest.raises(InvalidInput, match="labelled_at"):
        send(label, label | {"id": "b"}, feedback=True)


def test_columns_whose_names_need_escapes_in_json_are_read_too() -> None:
    odd = plan(features=(column('a "quoted"\\name', FieldType.STRING),))
    body = json.dumps({"records": [{"features": {'a "quoted"\\name': "x"}, "prediction": 0}]}).encode()

    checked = read_payload(LogRequest(body=body), odd, MOMENTS)

    assert odd.fast is None
    assert checked.features == [["x"]]


@given(st.lists(good_records, min_size=1, max_size=4), st.data())
@pytest.mark.thorough
def test_a_member_that_is_named_twice_refuses_the_batch_by_its_name(records: list[Any], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(records) - 1))
    place = data.draw(st.sampled_from(["record", "features"]))
    repeated = records[index] if place == "record" else records[index]["features"]
    name = data.draw(st.sampled_from(sorted(repeated)))
    space = data.draw(st.sampled_from(["", " ", "\n\t"]))
    # Escaped, it is another text and the same name.
    spelled = data.draw(st.sampled_from([json.dumps(name), '"' + "".join(f"\\u{ord(one):04x}" for one in name) + '"']))
    parts = [json.dumps(record) for record in records]
    if place == "record":
        parts[index] = f"{parts[index][:-1]},{spelled}{space}:{json.dumps(repeated[name])}}}"
    else:
        again = f"{json.dumps(repeated)[:-1]},{spelled}{space}:{json.dumps(repeated[name])}}}"
        parts[index] = json.dumps({**records[index], "features": None}).replace('"features": null', f'"features": {again}')
    body = f'{{"records": [{",".join(parts)}]}}'.encode()

    with pytest.raises(InvalidInput, match=f"'{name}' twice"):
        read_payload(LogRequest(body=body), PLAN, MOMENTS)


@pytest.mark.parametrize("padding", [0, 200_000])
@pytest.mark.parametrize("spelled", ["1e-400", "-1.5E-0324", "0." + "0" * 330 + "1", "0." + "0" * 250 + "1e-99"])
def test_a_number_that_vanishes_refuses_the_batch(spelled: str, padding: int) -> None:
    records = [record(features=features(**{"Loan amount": 5e-324}))] * (1 + padding // 150)
    body = json.dumps({"records": records}).replace("5e-324", spelled, 1).encode()

    with pytest.raises(InvalidInput, match="too small for double precision"):
        read_payload(LogRequest(body=body), PLAN, MOMENTS)


@pytest.mark.parametrize("spelled", ["5e-324", "0e-400", "0.0", "1e-300"])
def test_numbers_that_are_small_or_zero_are_taken(spelled: str) -> None:
    body = json.dumps({"records": [record(features=features(**{"Loan amount": 7.25}))]}).replace("7.25", spelled).encode()

    assert read_payload(LogRequest(body=body), PLAN, MOMENTS).features[0][1] == float(spelled)


def _stored(checked: CheckedPayload) -> str:
    """The checked values in a form that tells 1, 1.0 and true apart."""
    rows = [list(cells or ()) for cells in checked.features]
    metas = [None if cells is None else list(cells) for cells in checked.meta]
    moments = [None if time is None else time.astimezone(UTC) for time in checked.times]
    rates = checked.sample_rates or [None] * len(checked.ids)
    return repr((checked.ids, moments, rows, metas, checked.predictions, checked.probabilities, checked.labels, rates))
