"""The OpenAPI entries of the gateway and of events."""

from ...base.errors import CallLoop, Conflict, EndpointRefused, NotFound, ScoringFailed, TooLarge
from ...payloads.registry import FORMS
from ...payloads.schema_parts import COUNT, NAMES, Schema, complete_object
from ..hot_routes.hot_route import PREFIX
from ..hot_routes.openapi_entries import DEPLOYMENT, describe_operation
from ..logging.decode_body import MAX_BODY_BYTES
from .call_events import BATCH, STRUCTURED
from .routes import AZURE_PATH, EVENTS, MAX_LOGGED_ANSWER_BYTES, PREDICTIONS

_FIELDS = ["Age", "Sex", "Owner"]
_VALUES = [[33, "female", True]]
_ID = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"}

_PREDICT = f"""The request goes to the deployment's endpoint as it is: body, content type, and the headers `Accept`, `Accept-Language`,
`Content-Encoding`, `Inference-Header-Content-Length`, `X-Request-Id`, `traceparent`, `tracestate` and `baggage`, with the endpoint's own
credentials and headers. The model's answer comes back as it is: status, body, content type, and `ce-…` headers. Callers of a model change
only the URL.

An answer with a status of 2xx is logged as payload, in any payload format of the model's server. It is kept on disk before the answer is
sent, and stored afterwards, so it is neither lost nor stored twice if the service is killed. While the database is away, keys and
deployments that were used since the start of the service still get answers. What cannot be read as records is counted in `intake-counts`,
what cannot be kept in `missing-records`.

The record's id is `Evenhand-Record-Id`, else `X-Request-Id`, else one is made; the answer has it in `Evenhand-Record-Id`. Several
records in one call are `{{id}}-1`, `{{id}}-2`, … The same id again is stored once.

The endpoint's `timeout_seconds` is the limit of a call; its rate limit, concurrency and page size are for checks only. A model that
does not answer gives 502. At most {MAX_BODY_BYTES // 2**20} MiB a request; an answer of more than
{MAX_LOGGED_ANSWER_BYTES // 2**20} MiB is passed on without being logged."""

_LOG_EVENTS = """Takes CloudEvents in binary mode (`ce-…` headers), structured mode, or a batch: those of KServe's logger
(`org.kubeflow.serving.inference.request` and `.response`), of Seldon (`io.seldon.serving.inference.…`), and those of Azure's collector
(`azureml.inference.model_inputs`, `.model_outputs`). The data are the body that the model's server got or answered.

The two halves of a call come in any order and are paired by `ce-requestid`, `ce-x-request-id` or `ce-id`, the first that is there. This id
is that of the record; several records in one call are `{id}-1`, `{id}-2`, … A half waits an hour for the other one.

The answer is always 200 once the key and the deployment are known: senders do not send again. `intake-counts` shows what became of the
events, with the reason of what was not used."""

_LOG_AZURE = """The address that the `azureml-ai-monitoring` package calls. Set `AZUREML_MDC_ENABLED=true`, `AZUREML_MDC_PORT`, and
`AZUREML_MDC_HOST=DEPLOYMENT:KEY@HOST`: the package then sends the deployment's id and the key by HTTP Basic. Otherwise the same as
`POST /v1/deployments/{deployment_id}/events`."""


def describe_gateway() -> Schema:
    return {
        f"{PREFIX}{{deployment_id}}/{PREDICTIONS}": {"post": _describe_predictions()},
        f"{PREFIX}{{deployment_id}}/{EVENTS}": {
            "post": _describe_events("logEvents", "Log calls by events", _LOG_EVENTS, [DEPLOYMENT])
        },
        AZURE_PATH: {
            "post": _describe_events(
                "logAzureModelData", "Log what Azure's collector collects", _LOG_AZURE, []
            )
        },
    }


def _describe_predictions() -> Schema:
    examples = {
        form.name: {"summary": form.title, "value": form.write_request(_FIELDS, _VALUES)} for form in FORMS
    }
    answers = {
        form.answer_name: {"summary": form.answer_title, "value": form.write_answer(["prediction"], [[1]])}
        for form in FORMS
    }
    identity = {"description": "The id of the call's record.", "schema": _ID}
    answer = {
        "headers": {"Evenhand-Record-Id": identity},
        "content": {"application/json": {"schema": {}, "examples": answers}, "*/*": {"schema": {}}},
    }
    return describe_operation(
        "predict",
        "Call the model, and log the call",
        _PREDICT,
        [DEPLOYMENT, {"name": "Evenhand-Record-Id", "in": "header", "schema": _ID}],
        {"application/json": {"schema": {}, "examples": examples}},
        {
            "200": {"description": "The model's own answer", **answer},
            "default": {
                "description": "The model's own answer of any other status",
                "content": {"*/*": {"schema": {}}},
            },
        },
        (NotFound, Conflict, TooLarge, EndpointRefused, ScoringFailed, CallLoop),
    )


def _describe_events(operation_id: str, summary: str, description: str, parameters: list[Schema]) -> Schema:
    data = FORMS[-1].write_request(_FIELDS, _VALUES)
    event = {
        "specversion": "1.0",
        "id": "c-1",
        "source": "http://localhost:9081/",
        "type": "org.kubeflow.serving.inference.request",
        "data": data,
    }
    document = complete_object(received=COUNT, ignored=COUNT, reasons=NAMES)
    example = {"received": 1, "ignored": 0, "reasons": []}
    answer = {
        "description": "The number of halves that are kept, and why others are not",
        "content": {"application/json": {"schema": document, "example": example}},
    }
    content = {
        STRUCTURED: {"schema": {}, "example": event},
        BATCH: {"schema": {}, "example": [event]},
        "application/json": {"schema": {}, "example": data},
    }
    return describe_operation(
        operation_id, summary, description, parameters, content, {"200": answer}, (NotFound,)
    )
