"""One call gives the same records by every way on which it comes in: the gateway and events, logged pairs, and files of logs."""

import gzip
import json
from datetime import datetime
from typing import Any

import pytest

from app.base.errors import InvalidInput, ScoringFailed, TooLarge
from app.domain.deployment import FieldType, OutputFields, ProblemType, RecordSchema
from app.domain.record_times import LogKind, TimeRule
from app.intake.imports.input_file import ImportSubject, RowRefused
from app.intake.imports.logged_calls import LoggedCallReader
from app.intake.logging import model_call as exchanges
from app.intake.logging.ingest_plan import CheckedPayload, build_plan
from app.intake.logging.model_call import CapturedBody, Exchange, check_pairs, read_exchange
from app.intake.writing.write_target import Target
from app.payloads.codec import RequestOptions
from app.payloads.registry import get_codec
from tests.unit.ingest.plans import MOMENTS, NOW, column

TYPES = {"owner": FieldType.BOOLEAN, "income": FieldType.NUMBER}
SCHEMA = RecordSchema(
    version=1,
    features=tuple(column(name, one) for name, one in TYPES.items()),
    meta=(column("branch", FieldType.BOOLEAN),),
)
OUTPUTS = OutputFields(probability="probability")
PLAN = build_plan(
    Target(
        no=7,
        id="credit",
        row_version="1",
        problem_type=ProblemType.BINARY,
        schema=SCHEMA,
        outputs=OUTPUTS,
        model_revision="1",
    )
)
ROWS: list[list[Any]] = [[1, 1200.5], [0, 1.0]]
TRUE_ROWS = [(True, 1200.5), (False, 1.0)]


def bodies(payload_format: str) -> tuple[bytes, bytes]:
    """A call whose boolean column came as 1 and 0, which is all that a tensor of numbers can carry."""
    codec = get_codec(payload_format)
    types = (FieldType.INTEGER, FieldType.NUMBER)
    request = codec.write_request(list(TYPES), ROWS, options=RequestOptions(outputs=OUTPUTS, types=types))
    return request, codec.write_answer(["prediction", "probability"], [[1, 0.75], [0, 0.5]])


def exchanged(request: bytes, answer: bytes) -> CheckedPayload:
    return read_exchange(Exchange(call_id="c", scored_at=NOW, request=CapturedBody(request), answer=CapturedBody(answer)), PLAN, None)


def imported(request: bytes, answer: bytes, outputs: OutputFields = OUTPUTS) -> list[dict[str, Any]]:
    reader = LoggedCallReader(ImportSubject(kind=LogKind.PAYLOAD, schema=SCHEMA, outputs=outputs, times=TimeRule.at(NOW)))
    return reader.read_records("c", datetime.isoformat(NOW), request, answer)


@pytest.mark.parametrize("payload_format", ["open_inference", "open_inference_matrix", "kserve_v1", "mlflow", "json_records"])
def test_booleans_as_one_and_zero_are_the_same_records_by_every_way(payload_format: str) -> None:
    request, answer = bodies(payload_format)
    pair = {"request": json.loads(request), "response": json.loads(answer), "payload_format": payload_format, "scoring_id": "c"}
    by_gateway, by_pair = exchanged(request, answer), check_pairs([pair], PLAN, MOMENTS)

    for checked in (by_gateway, by_pair):
        assert checked.rejections == []
        assert [tuple(row) for row in checked.features] == TRUE_ROWS
        assert all(type(row[0]) is bool for row in checked.features)
        assert list(checked.ids) == ["c-1", "c-2"]
    by_file = imported(request, answer)
    assert [(record["id"], tuple(record["features"].values()), record["prediction"], record["probability"]) for record in by_file] == [
        ("c-1", TRUE_ROWS[0], 1, 0.75),
        ("c-2", TRUE_ROWS[1], 0, 0.5),
    ]


def test_a_boolean_that_is_neither_one_nor_zero_is_refused() -> None:
    request = json.dumps([{"owner": 2, "income": 1.0}]).encode()
    answer = json.dumps([{"prediction": 1, "probability": 0.5}]).encode()

    assert [rejection.field for rejection in exchanged(request, answer).rejections] == ["owner"]


def test_columns_that_only_the_model_takes_are_left_out_and_meta_is_kept() -> None:
    request = json.dumps([{"other": "x", "owner": 1, "branch": 0, "income": 1.0}]).encode()
    answer = json.dumps([{"prediction": 1, "probability": 0.5}]).encode()

    checked, (record,) = exchanged(request, answer), imported(request, answer)

    assert [list(row) for row in checked.features] == [[True, 1.0]]
    assert [list(row) for row in checked.meta] == [[False]]
    assert (record["features"], record["meta"]) == ({"owner": True, "income": 1.0}, {"branch": False})


def test_a_log_may_hold_the_prediction_alone_and_a_call_of_the_gateway_may_not() -> None:
    request, answer = json.dumps([{"owner": True, "income": 1.0}]).encode(), b'[{"prediction":1}]'

    (record,) = imported(request, answer)

    assert (record["prediction"], record["probability"]) == (1, None)
    with pytest.raises(ScoringFailed, match="probability"):
        exchanged(request, answer)


@pytest.mark.parametrize(
    ("request_body", "answer", "field"),
    [
        (b'[{"owner":true}]', b'[{"prediction":1,"probability":0.5}]', "request"),
        (b'[{"owner":true,"income":1.0}]', b'[{"other":1,"probability":0.5}]', "response"),
    ],
)
def test_what_cannot_be_read_is_refused_by_both_ways(request_body: bytes, answer: bytes, field: str) -> None:
    with pytest.raises(RowRefused) as refused:
        imported(request_body, answer)
    with pytest.raises((InvalidInput, ScoringFailed)):
        exchanged(request_body, answer)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        (b"[" + b"[]," * 1_000_000 + b"[]]", "arrays and objects"),
        (gzip.compress(b"[" + b"[]," * 1_000_000 + b"[]]"), "arrays and objects"),
        (b"\n" * 1_000_001, "lines"),
    ],
    ids=["arrays", "compressed arrays", "lines"],
)
def test_a_body_that_grows_many_times_when_it_is_read_is_refused_before(
    request_body: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "read_call", None)
    encoding = "gzip" if request_body[:2] == b"\x1f\x8b" else ""
    call = Exchange(call_id="c", scored_at=NOW, request=CapturedBody(request_body, "text/csv", encoding), answer=CapturedBody(b"1"))

    with pytest.raises(TooLarge, match=words):
        read_exchange(call, PLAN, None)


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        (
            {"dataframe_split": {"columns": ["owner", "income"], "data": [[True]]}},
            r"dataframe_split\.data\[0\].* has 1 values for 2 fields",
        ),
        ({"instances": [[1, 2, 3]]}, r"instances\[0\].* has 3 values for 2 fields"),
        ({"dataframe_records": [{"owner": True}]}, r"features\.income.* is not a column of the request"),
        ({"inputs": [{"name": "owner", "shape": [1], "datatype": "WHAT", "data": [1]}]}, r"inputs\[0\]\.datatype.* must be one of"),
        ({"fields": ["owner"], "values": 7}, r"values.* must be an array of rows"),
        ({"rows": [1]}, r"fields.* must be an array of column names, found nothing"),
    ],
    ids=str,
)
def test_a_call_of_no_format_has_the_reason_of_the_format_that_came_closest(request_body: object, words: str) -> None:
    with pytest.raises(RowRefused, match=words):
        imported(json.dumps(request_body).encode(), b'{"predictions": [1]}')
    with pytest.raises(InvalidInput, match=words):
        exchanged(json.dumps(request_body).encode(), b'{"predictions": [1]}')
