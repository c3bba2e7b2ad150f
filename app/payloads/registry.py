"""The payload formats, a member each, and how the format of a body is found."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Self

from ..base.errors import InvalidInput
from ..domain.deployment import Endpoint
from .codec import Codec, Form
from .fields_values import FieldsValuesCodec, InputDataCodec
from .json_records import RecordsCodec
from .kserve import InstancesCodec, KserveCodec
from .mapped_json import MappedCodec
from .mlflow import MlflowCodec, MlflowCsvCodec, MlflowInputsCodec, MlflowRecordsCodec
from .open_inference import OpenInferenceBinaryCodec, OpenInferenceCodec, OpenInferenceMatrixCodec
from .sagemaker import SagemakerCsvCodec, SagemakerLinesCodec

PAIR_CODEC = FieldsValuesCodec()
"""Format of logged pairs of a request and its answer."""


class PayloadFormat(StrEnum):
    """The wire format of the model's endpoint."""

    FIELDS_VALUES = "fields_values", PAIR_CODEC
    INPUT_DATA = "input_data", InputDataCodec()
    MLFLOW = "mlflow", MlflowCodec()
    MLFLOW_RECORDS = "mlflow_records", MlflowRecordsCodec()
    MLFLOW_INPUTS = "mlflow_inputs", MlflowInputsCodec()
    MLFLOW_CSV = "mlflow_csv", MlflowCsvCodec()
    INSTANCES = "instances", InstancesCodec()
    KSERVE_V1 = "kserve_v1", KserveCodec()
    OPEN_INFERENCE = "open_inference", OpenInferenceCodec()
    OPEN_INFERENCE_MATRIX = "open_inference_matrix", OpenInferenceMatrixCodec()
    OPEN_INFERENCE_BINARY = "open_inference_binary", OpenInferenceBinaryCodec()
    SAGEMAKER_CSV = "sagemaker_csv", SagemakerCsvCodec()
    SAGEMAKER_JSON_LINES = "sagemaker_json_lines", SagemakerLinesCodec()
    JSON_RECORDS = "json_records", RecordsCodec()
    MAPPED = "mapped", MappedCodec()

    codec: Codec

    def __new__(cls, name: str, codec: Codec) -> Self:
        row = str.__new__(cls, name)
        row._value_ = name
        row.codec = codec
        return row


PAIR_FORMAT = PayloadFormat.FIELDS_VALUES.value

FORMS: tuple[Form, ...] = tuple(form for row in PayloadFormat for form in row.codec.forms)

TRIED_FORMATS: tuple[str, ...] = tuple(row.value for row in PayloadFormat if row is not PayloadFormat.MAPPED)
"""Formats that are tried on a body whose format nobody says."""

# Names of members that name their content are looked for first.
_FORMS_IN_ORDER = sorted(FORMS, key=lambda form: form.is_bare)


def get_codec(payload_format: str) -> Codec:
    return PayloadFormat(payload_format).codec  # type: ignore[call-arg]  # finds a row, and makes none


def bind_codec(endpoint: Endpoint) -> Codec:
    return get_codec(endpoint.payload_format).bind(endpoint)


def find_named_codec(name: str, endpoint: Endpoint | None) -> Codec:
    if name not in [*PayloadFormat]:
        raise InvalidInput("payload_format", f"must be one of {', '.join(PayloadFormat)}")
    if endpoint is not None and name == endpoint.payload_format:
        return bind_codec(endpoint)
    if name == PayloadFormat.MAPPED:
        raise InvalidInput(
            "payload_format",
            f"is {name}, but the deployment's endpoint has no mapping; give it one, or send records",
        )
    return get_codec(name)


def list_candidates(endpoint_codec: Codec | None, *, is_csv: bool) -> Iterator[Codec]:
    """The endpoint's first; CSV only if it is declared: almost any text can be read as CSV."""
    if endpoint_codec is not None:
        yield endpoint_codec
    for codec in map(get_codec, TRIED_FORMATS):
        if codec is not endpoint_codec and ("csv" in codec.content_type) == is_csv:
            yield codec


def find_form(sent: object) -> Form | None:
    return next((form for form in _FORMS_IN_ORDER if isinstance(sent, dict) and form.member in sent), None)


def find_codec_of_form(form: Form | None) -> Codec | None:
    return next((row.codec for row in PayloadFormat if form in row.codec.forms), None)
