"""Logged pairs in every payload format give the records that went over the wire."""

import base64
import json
from typing import Any

import pytest

from app.base.errors import InvalidInput
from app.domain.deployment import BodyMapping, Endpoint, FieldType, OutputFields, ProblemType, RecordSchema
from app.intake.logging.ingest_plan import IngestPlan, build_plan
from app.intake.logging.model_call import check_pairs
from app.intake.writing.write_target import Target
from app.payloads.codec import RequestOptions
from app.payloads.registry import PayloadFormat, bind_codec
from tests.models.speaking import MAPPING, speak
from tests.unit.ingest.plans import MOMENTS, column

TYPES = {"sex": FieldType.STRING, "income": FieldType.NUMBER, "age": FieldType.INTEGER, "owner": FieldType.BOOLEAN}
WHOLE = dict.fromkeys(TYPES, FieldType.INTEGER)
ROWS: list[list[Any]] = [['f\u00e9male, "x"', 1234.5, 33, True], ["male", 0.1, 51, False]]
WHOLE_ROWS: list[list[Any]] = [[1, 1234, 33, 1], [0, 10, 51, 0]]
OUTPUTS = OutputFields(probability="probability")


def plan_of(payload_format: str | None, types: dict[str, FieldType] = TYPES) -> IngestPlan:
    mapping = BodyMapping(**MAPPING) if payload_format == "mapped" else None
    endpoint = None if payload_format is None else Endpoint(url="http://model/", payload_format=payload_format, mapping=mapping)
    schema = RecordSchema(version=1, features=tuple(column(name, one) for name, one in types.items()))
    target = Target(
        no=7,
        id="credit",
        row_version="1",
        problem_type=ProblemType.BINARY,
        schema=schema,
        outputs=OUTPUTS,
        model_revision="1",
        endpoint=endpoint,
    )
    return build_plan(target)


def answer(_columns: object, rows: list[list[Any]]) -> list[dict[str, Any]]:
    return [{"prediction": place, "probability": 0.25 + place / 2} for place, _ in enumerate(rows)]


def pair_of(payload_format: str, types: dict[str, FieldType], rows: list[list[Any]]) -> dict[str, Any]:
    """What a model in that format was sent and answered, as a caller writes it into JSON."""
    endpoint = plan_of(payload_format, types).target.endpoint
    assert endpoint is not None
    codec = bind_codec(endpoint)
    sent = codec.write_request(list(types), rows, options=RequestOptions(outputs=OUTPUTS, types=tuple(types.values())))
    bodies = {"request": sent, "response": speak(payload_format, sent, answer)}

    def written(body: bytes) -> Any:  # noqa: ANN401 - any JSON
        if payload_format == "open_inference_binary":
            return base64.b64encode(body).decode()
        try:
            return json.loads(body)
        except ValueError:
            return body.decode()

    return {**{member: written(body) for member, body in bodies.items()}, "scoring_id": "call"}


@pytest.mark.parametrize("payload_format", [row.value for row in PayloadFormat])
def test_a_pair_in_any_format_is_read(payload_format: str) -> None:
    types, rows = (WHOLE, WHOLE_ROWS) if payload_format == "open_inference_matrix" else (TYPES, ROWS)
    pair = pair_of(payload_format, types, rows)

    by_name = check_pairs([{**pair, "payload_format": payload_format}], plan_of(payload_format, types), MOMENTS)
    by_endpoint = check_pairs([pair], plan_of(payload_format, types), MOMENTS)

    assert by_name.rejections == []
    assert [json.loads(json.dumps(list(feature))) for feature in by_name.features] == rows
    assert (by_name.predictions, by_name.probabilities, by_name.ids) == ([0, 1], [0.25, 0.75], ["call-1", "call-2"])
    assert by_endpoint == by_name


@pytest.mark.parametrize(
    ("pair", "field"),
    [
        ({"payload_format": "sesame"}, "[0].payload_format"),
        ({"payload_format": 1}, "[0].payload_format"),
        ({"payload_format": "mapped"}, "[0].payload_format"),
        ({"payload_format": "kserve_v1"}, "[0].request"),
        ({"payload_format": "kserve_v1", "request": {"instances": []}, "response": {"predictions": []}}, "[0].request"),
        ({"payload_format": "kserve_v1", "request": {"instances": [[1]]}, "response": {"predictions": [1]}}, "[0].request.instances[0]"),
        ({"payload_format": "kserve_v1", "request": {"instances": ROWS}, "response": {"predictions": [1]}}, "[0].response"),
        ({"payload_format": "kserve_v1", "request": {"instances": ROWS}, "response": "sesame"}, "[0].response"),
        ({"payload_format": "kserve_v1", "request": {"instances": ROWS}, "response": {"predictions": [1, float("nan")]}}, "[0].response"),
        ({"payload_format": "sagemaker_csv", "request": [[1]], "response": "1"}, "[0].request"),
        ({"payload_format": "sagemaker_csv", "request": "a,\ud800", "response": "1"}, "[0].request"),
        ({"payload_format": "open_inference_binary", "request": "no base64!", "response": {}}, "[0].request"),
    ],
)
def test_a_pair_that_cannot_be_read_names_the_part(pair: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_pairs([pair], plan_of(None), MOMENTS)

    assert [problem.field for problem in refused.value.problems] == [field]


def test_a_nul_that_base64_hides_is_refused() -> None:
    pair = pair_of("open_inference_binary", TYPES, [["a\0b", 1.0, 33, True], ROWS[1]])

    checked = check_pairs([pair], plan_of("open_inference_binary"), MOMENTS)

    assert [(rejection.index, rejection.field) for rejection in checked.rejections] == [(0, "sex")]
    assert len(checked.ids) == 1


NAMED = [dict(zip(TYPES, row, strict=True)) for row in ROWS]
ANSWERS = [{"prediction": 0, "probability": 0.25}, {"prediction": 1, "probability": 0.75}]


@pytest.mark.parametrize(
    "request_body",
    [
        {"dataframe_split": {"columns": list(TYPES), "data": ROWS, "index": [0, 1]}, "params": {"verbose": True}},
        {"dataframe_records": NAMED, "params": {}, "client_request_id": "mine"},
        {"inputs": {name: [row[name] for row in NAMED] for name in TYPES}, "params": {"verbose": True}},
        {"inputs": NAMED},
        {"inputs": ROWS},
        {"instances": NAMED, "params": {"verbose": True}},
        {"instances": ROWS},
        {"instances": [{"features": row} for row in ROWS]},
        {name: [row[name] for row in NAMED] for name in TYPES},
    ],
)
@pytest.mark.parametrize("payload_format", [None, "fields_values", "mlflow"])
def test_a_pair_in_any_form_of_mlflow_or_its_clouds_needs_no_name(payload_format: str | None, request_body: dict[str, Any]) -> None:
    pair = {"request": request_body, "response": {"predictions": ANSWERS}, "scoring_id": "call"}

    checked = check_pairs([pair], plan_of(payload_format), MOMENTS)

    assert (checked.rejections, [list(feature) for feature in checked.features]) == ([], ROWS)
    assert (checked.predictions, checked.probabilities, checked.ids) == ([0, 1], [0.25, 0.75], ["call-1", "call-2"])


@pytest.mark.parametrize(
    ("request_body", "answers", "problem"),
    [
        ({"inputs": {"sex": ["male"]}}, ANSWERS[:1], ("[0].request.features.income", "is not a column of the request")),
        ({"instances": [[1]]}, ANSWERS[:1], ("[0].request.instances[0]", "has 1 values for 4 fields")),
        ({"instances": ROWS}, ANSWERS[:1], ("[0].response", "cannot be read: The model's endpoint answered 1 rows for a page of 2.")),
        ({"sesame": 1}, ANSWERS, ("[0].request.fields", "must be an array of column names, found nothing")),
    ],
)
def test_a_pair_of_no_form_is_refused_by_the_closest(
    request_body: dict[str, Any], answers: list[dict[str, Any]], problem: tuple[str, str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_pairs([{"request": request_body, "response": {"predictions": answers}}], plan_of(None), MOMENTS)

    assert [(one.field, one.message) for one in refused.value.problems] == [problem]
