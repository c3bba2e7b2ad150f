"""NaN of a feature is missing by every way in, an infinity refused by name; a probability a hair outside [0, 1] is 0 or 1."""

import json
from datetime import datetime
from typing import Any

import pytest

from app.domain.record import Rejection
from app.intake.gateway.call_events import STRUCTURED, CallSide, ReportedHalf, read_events
from app.intake.imports.input_file import ImportRow
from app.intake.imports.logged_calls import LoggedCallReader
from app.intake.imports.run_import import encode_record
from app.intake.logging.ingest_plan import CheckedPayload
from app.intake.logging.log_request import LogRequest, read_feedback, read_payload
from app.intake.logging.model_call import CapturedBody, Exchange, read_exchange
from tests.builders.vendor_files import subject
from tests.unit.ingest.plans import FEATURES, META, MOMENTS, NOW, features, plan, record

NAN, INFINITE = float("nan"), float("inf")
ABOVE = 1.0000001192092896
PLAN = plan()
NAMES = [column.name for column in FEATURES]
ANSWER = {"predictions": [{"prediction": 1, "probability": 0.5, "predictedLabel": "Risk"}]}


def native(cells: list[Any], answer: dict[str, Any]) -> CheckedPayload:
    (one,) = answer["predictions"]
    sent = {"features": dict(zip(NAMES, cells, strict=True)), "prediction": one["prediction"], "probability": one["probability"]}
    return read_payload(LogRequest(body=json.dumps({"records": [sent]}).encode()), PLAN, MOMENTS)


def pair_of_tables(cells: list[Any], answer: dict[str, Any]) -> CheckedPayload:
    (one,) = answer["predictions"]
    pair = {"request": {"fields": NAMES, "values": [cells]}, "response": {"fields": list(one), "values": [list(one.values())]}}
    return read_payload(LogRequest(body=json.dumps(pair).encode()), PLAN, MOMENTS)


def call_of(cells: list[Any], answer: dict[str, Any]) -> tuple[bytes, bytes]:
    return json.dumps({"dataframe_split": {"columns": NAMES, "data": [cells]}}).encode(), json.dumps(answer).encode()


def pair_of_mlflow(cells: list[Any], answer: dict[str, Any]) -> CheckedPayload:
    request, response = map(json.loads, call_of(cells, answer))
    return read_payload(LogRequest(body=json.dumps({"request": request, "response": response}).encode()), PLAN, MOMENTS)


def gateway(cells: list[Any], answer: dict[str, Any]) -> CheckedPayload:
    request, response = map(CapturedBody, call_of(cells, answer))
    return read_exchange(Exchange(call_id="c", scored_at=NOW, request=request, answer=response), PLAN, None)


def event(data: Any, side: str) -> CapturedBody:  # noqa: ANN401 - any JSON
    sent = {"specversion": "1.0", "id": "c", "type": f"org.kubeflow.serving.inference.{side}", "data": data}
    (half,) = read_events({"content-type": STRUCTURED}, json.dumps(sent).encode(), now=NOW)
    assert isinstance(half, ReportedHalf)
    assert half.side == CallSide(side)
    return half.body


def events(cells: list[Any], answer: dict[str, Any]) -> CheckedPayload:
    request, response = map(json.loads, call_of(cells, answer))
    exchange = Exchange(call_id="c", scored_at=NOW, request=event(request, "request"), answer=event(response, "response"))
    return read_exchange(exchange, PLAN, None)


def file_of_calls(cells: list[Any], answer: dict[str, Any]) -> CheckedPayload:
    schema, outputs = PLAN.target.schema, PLAN.target.outputs
    about = subject(schema=schema, outputs=outputs)
    reader = LoggedCallReader(about)
    request, response = call_of(cells, answer)
    (found,) = reader.read_records("c", datetime.isoformat(NOW), request, response)
    line = encode_record(ImportRow(file="f", line=1, record=found), "digest", about)
    return read_payload(LogRequest(body=b'{"records":[' + line + b"]}"), PLAN, MOMENTS)


DOORS = [native, pair_of_tables, pair_of_mlflow, gateway, events, file_of_calls]


@pytest.mark.parametrize("door", DOORS)
def test_nan_of_a_feature_is_missing_whatever_its_type(door: Any) -> None:  # noqa: ANN401 - one of the doors
    for place in range(len(NAMES)):
        cells = [33, 12.5, "female", True]
        cells[place] = NAN
        checked = door(cells, ANSWER)

        assert checked.rejections == []
        assert [list(feature) for feature in checked.features] == [[None if no == place else cell for no, cell in enumerate(cells)]]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("cell", [INFINITE, -INFINITE])
def test_an_infinite_feature_is_refused_by_name(door: Any, cell: float) -> None:  # noqa: ANN401 - as above
    (rejection,) = door([33, cell, "female", True], ANSWER).rejections

    assert rejection.field.removeprefix("features.") == "Loan amount"
    assert "finite" in rejection.reason


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("sent", "stored"), [(ABOVE, 1), (-1e-9, 0), ([-1e-9, ABOVE], [0, 1])])
def test_a_probability_that_rounding_moved_out_is_stored_and_counted(door: Any, sent: Any, stored: Any) -> None:  # noqa: ANN401 - as above
    checked = door([33, 12.5, "female", True], {"predictions": [{**ANSWER["predictions"][0], "probability": sent}]})

    assert (checked.probabilities, checked.rounded, checked.rejections) == ([stored], 1, [])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("sent", [1.01, -0.01, 100.0, NAN, INFINITE, 1.000002])
def test_another_number_is_no_probability(door: Any, sent: float) -> None:  # noqa: ANN401 - as above
    (rejection,) = door([33, 12.5, "female", True], {"predictions": [{**ANSWER["predictions"][0], "probability": sent}]}).rejections

    assert rejection.field == "probability"


def test_nan_stays_refused_in_an_id_and_a_prediction() -> None:
    records = [record(prediction=NAN), record(id=NAN), record(label=NAN)]
    checked = read_payload(LogRequest(body=json.dumps({"records": records}).encode()), PLAN, MOMENTS)

    assert [rejection.field for rejection in checked.rejections] == ["prediction", "id", "label"]


def test_nan_of_a_meta_field_is_missing() -> None:
    sent = record(meta={"Postcode": NAN, "Score": NAN})
    checked = read_payload(LogRequest(body=json.dumps({"records": [sent]}).encode()), PLAN, MOMENTS)

    assert checked.meta == [[None] * len(META)]


@pytest.mark.parametrize(
    "body",
    [
        {"records": [{"features": features(Age=NAN, Sex=NAN), "label": 1, "prediction": 1, "probability": ABOVE}]},
        [{**features(Age=NAN, Sex=NAN), "label": 1, "_original_prediction": 1, "_original_probability": ABOVE}],
        {
            "fields": [*features(), "label", "_original_prediction", "_original_probability"],
            "values": [[NAN, 12.5, NAN, True, 1, 1, ABOVE]],
        },
    ],
)
def test_feedback_is_read_alike(body: object) -> None:
    checked = read_feedback(LogRequest(body=json.dumps(body).encode()), PLAN, MOMENTS)

    assert [list(feature or ()) for feature in checked.features] == [[None, 12.5, None, True]]
    assert (checked.probabilities, checked.rounded) == ([1], 1)


def test_only_the_row_of_an_impossible_probability_is_rejected() -> None:
    answer = {"predictions": [{"prediction": 1, "probability": chance, "predictedLabel": "x"} for chance in (0.5, 37.5, ABOVE, 1.0)]}
    request = json.dumps({"dataframe_split": {"columns": NAMES, "data": [[33, 12.5, "female", True]] * 4}}).encode()
    exchange = Exchange(call_id="c", scored_at=NOW, request=CapturedBody(request), answer=CapturedBody(json.dumps(answer).encode()))
    checked = read_exchange(exchange, PLAN, None)

    assert checked.rejections == [Rejection(1, "probability", "must lie within [0, 1], found 37.5")]
    assert (checked.ids, checked.probabilities, checked.rounded) == (["c-1", "c-3", "c-4"], [0.5, 1, 1], 1)
