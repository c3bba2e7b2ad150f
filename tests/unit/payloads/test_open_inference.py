"""The Open Inference Protocol as its servers write it."""

import json
import struct

import pytest

from app.base.errors import ScoringFailed
from app.domain.deployment import FieldType, OutputFields
from app.domain.record import Prediction
from app.payloads.codec import RequestOptions
from app.payloads.open_inference import OpenInferenceBinaryCodec, OpenInferenceCodec, OpenInferenceMatrixCodec

COLUMNS, ROWS = ["sex", "age"], [["männlich", 30], ["female", None]]
ASKING = RequestOptions(
    outputs=OutputFields(prediction="predict", probability="predict_proba"), types=(FieldType.STRING, FieldType.INTEGER)
)

MLSERVER = {
    "model_name": "credit",
    "model_version": "v1",
    "id": "req-1",
    "parameters": {},
    "outputs": [
        {"name": "predict", "shape": [2, 1], "datatype": "BYTES", "parameters": {"content_type": "np"}, "data": ["refused", "approved"]},
        {"name": "predict_proba", "shape": [2, 2], "datatype": "FP64", "data": [0.0075, 0.9925, 0.9999, 0.0001]},
    ],
}


def read(document: object, outputs: OutputFields, rows: int = 2) -> list[Prediction]:
    return OpenInferenceCodec().read_answer(json.dumps(document).encode(), outputs=outputs, expected_rows=rows).predictions


def test_a_request_has_a_tensor_a_column_and_the_outputs_to_answer() -> None:
    body = json.loads(OpenInferenceCodec().write_request(COLUMNS, ROWS, options=ASKING))

    # KServe's Python server refuses its own answer to a request without one.
    assert body.pop("id").startswith("evenhand-")
    assert body == {
        "parameters": {"content_type": "pd"},
        "inputs": [
            {"name": "sex", "shape": [2, 1], "datatype": "BYTES", "parameters": {"content_type": "str"}, "data": ["männlich", "female"]},
            {"name": "age", "shape": [2, 1], "datatype": "INT64", "data": [30, None]},
        ],
        "outputs": [{"name": "predict"}, {"name": "predict_proba"}],
    }


def test_all_columns_in_one_tensor_are_row_after_row() -> None:
    body = json.loads(OpenInferenceMatrixCodec().write_request(["a", "b"], [[1, 2.5], [3, 4]]))

    assert body.pop("id").startswith("evenhand-")
    assert body == {"inputs": [{"name": "input-0", "shape": [2, 2], "datatype": "FP64", "data": [1, 2.5, 3, 4]}]}


def test_columns_of_text_and_numbers_do_not_fit_into_one_tensor() -> None:
    with pytest.raises(ScoringFailed, match="one tensor cannot carry"):
        OpenInferenceMatrixCodec().write_request(["a", "b"], [["x", 1]])


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_mlservers_answer_is_read(nested: bool) -> None:  # noqa: FBT001 - a parameter of the test
    answer = json.loads(json.dumps(MLSERVER))
    if nested:
        answer["outputs"][0]["data"] = [["refused"], ["approved"]]
        answer["outputs"][1]["data"] = [[0.0075, 0.9925], [0.9999, 0.0001]]

    found = read(answer, OutputFields(prediction="predict", probability="predict_proba"))

    assert found == [Prediction("refused", (0.0075, 0.9925)), Prediction("approved", (0.9999, 0.0001))]


def test_a_single_tensor_of_any_name_is_the_prediction() -> None:
    assert read({"outputs": [{"name": "output-0", "shape": [2], "datatype": "INT64", "data": [1, 0]}]}, OutputFields()) == [
        Prediction(1),
        Prediction(0),
    ]


def test_a_tensor_of_probabilities_alone_needs_the_classes() -> None:
    answer = {"outputs": [{"name": "output-0", "shape": [1, 2], "datatype": "FP32", "data": [0.25, 0.75]}]}

    assert read(answer, OutputFields(prediction="p", probability="p", classes=("no", "yes")), 1) == [Prediction("yes", (0.25, 0.75))]
    with pytest.raises(ScoringFailed, match=r"list those in outputs\.classes"):
        read(answer, OutputFields(), 1)


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        ({"shape": [3]}, "predict has 2 values where its shape is"),
        ({"datatype": "TEXT"}, r"outputs\[0\]\.datatype must be one of BF16, BOOL"),
        ({"shape": [-1]}, r"outputs\[0\]\.shape must be an array of whole numbers"),
        ({"data": {"a": 1}}, "predict has no array of data"),
        ({"data": [[1], 2]}, "predict mixes arrays and values"),
        ({"parameters": {"binary_data_size": 16}}, "predict has 0 bytes where its binary_data_size is 16"),
    ],
)
def test_a_tensor_that_is_none_is_named(tensor: dict[str, object], words: str) -> None:
    whole = {"name": "predict", "shape": [2], "datatype": "INT64", "data": [1, 0]} | tensor

    with pytest.raises(ScoringFailed, match=words):
        read({"outputs": [whole]}, OutputFields(prediction="predict"))


def test_the_binary_form_is_tritons() -> None:
    codec = OpenInferenceBinaryCodec()

    body = codec.write_request(["sex", "age"], [['ä}"', 30]], options=ASKING)
    headers = dict(codec.request_headers(body))

    length = int(headers[b"Inference-Header-Content-Length"])
    header = json.loads(body[:length])
    assert [one["parameters"] for one in header["inputs"]] == [{"binary_data_size": 8}, {"binary_data_size": 8}]
    assert body[length:] == struct.pack("<I", 4) + 'ä}"'.encode() + struct.pack("<q", 30)
    assert headers[b"Content-Type"] == b"application/octet-stream"


@pytest.mark.parametrize(
    ("datatype", "data", "expected"),
    [
        ("FP16", struct.pack("<e", 0.5), 0.5),
        ("BF16", struct.pack("<f", 0.5)[2:], 0.5),
        ("FP32", struct.pack("<f", 0.25), 0.25),
        ("INT8", b"\xff", -1),
        ("UINT8", b"\xff", 255),
        ("BOOL", b"\x01", True),
    ],
)
def test_every_datatype_is_read_from_its_bytes(datatype: str, data: bytes, expected: object) -> None:
    head = {"outputs": [{"name": "prediction", "shape": [1], "datatype": datatype, "parameters": {"binary_data_size": len(data)}}]}

    (found,) = OpenInferenceBinaryCodec().read_answer(json.dumps(head).encode() + data, outputs=OutputFields(), expected_rows=1).predictions

    assert found == Prediction(expected)  # type: ignore[arg-type]
