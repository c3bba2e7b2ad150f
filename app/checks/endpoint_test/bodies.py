"""A test of a model's endpoint, as a body."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from ...deployments.bodies import DeploymentIn
from ...payloads.registry import PayloadFormat
from ...sources.stored.record_queries import StoredRecord
from ...web.body import In, Out, example
from .endpoint_test import MAX_TEST_RECORDS, EndpointTest

_RECORD = {"Age": 31, "LoanAmount": 4200.5, "Sex": "female"}
_DEPLOYMENT = {
    "name": "Credit risk",
    "problem_type": "binary",
    "features": [{"name": "Age", "type": "integer"}, {"name": "Sex", "type": "string"}],
    "endpoint": {"url": "http://127.0.0.1:9000/score"},
}
_ANSWER = {"prediction": 0, "probability": 0.9, "label": "No Risk"}

NO_MONITOR = "There is no fairness monitor, which says which predictions are favourable."

# Cells are checked against the deployment's columns, which gives better words.
Cell = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
Records = Annotated[
    list[dict[str, Cell]],
    Field(
        min_length=1,
        max_length=MAX_TEST_RECORDS,
        description="Every feature by name; a missing value is null.",
    ),
]

_FIND_FORMAT = (
    "Try the payload formats one after the other until the answer has all outputs. Nothing is changed: "
    "set the format that was found."
)


class EndpointTestIn(In):
    """The records with which to test a stored deployment's endpoint."""

    model_config = example({"records": [_RECORD]})

    records: Records | None = None
    """Left out: the payload record that was logged last."""

    find_format: bool = Field(default=False, description=_FIND_FORMAT)


class NewEndpointTestIn(In):
    """A deployment that is not stored yet, and the records with which to test its endpoint."""

    model_config = example({"deployment": _DEPLOYMENT, "records": [{"Age": 31, "Sex": "female"}]})

    deployment: DeploymentIn
    records: Records
    find_format: bool = Field(default=False, description=_FIND_FORMAT)


class TestedOutcome(StrEnum):
    """The outcome of a prediction under the fairness monitor."""

    UNFAVOURABLE = "unfavourable"
    FAVOURABLE = "favourable"
    UNCLASSIFIED = "unclassified"


class TestedPredictionOut(Out):
    """The model's answer to one record, as it was read."""

    prediction: str | int | float | bool
    probability: float | list[float] | None
    label: str | int | float | bool | None
    outcome: TestedOutcome | None
    """Null where there is no fairness monitor; `outcome_reason` says so."""


class LoggedAnswerOut(Out):
    """The newest logged record, and the model's answer at the time."""

    id: str
    model_revision: str
    prediction: str | int | float | bool
    probability: float | list[float] | None
    label: str | int | float | bool | None


class TriedFormatOut(Out):
    """A format that was tried, and why it was not the one."""

    payload_format: PayloadFormat
    sent: str
    read: str | None
    fault: str | None


class EndpointTestOut(Out):
    """The result of a test. A model that cannot be asked is a result: `ok` is false and `fault` says why,
    as a check would.
    """

    model_config = example(
        {
            "ok": True,
            "seconds": 0.021,
            "fault": None,
            "predictions": [{**_ANSWER, "outcome": "favourable"}],
            "outcome_reason": None,
            "logged": {"id": "application-1", "model_revision": "2026-07-01", **_ANSWER},
            "same_as_logged": True,
            "warnings": [],
            "payload_format": "fields_values",
            "sent": '1 record as fields and values, application/json: {"fields": […], "values": [[…]]}',
            "read": "Of the first record the prediction 0 (No Risk) with the probability 0.9.",
            "tried": [],
        }
    )

    ok: bool
    seconds: float
    fault: str | None
    predictions: list[TestedPredictionOut]
    """In the order of the records; empty where the test failed."""

    outcome_reason: str | None
    """Why no outcome is given."""

    logged: LoggedAnswerOut | None
    """The logged record that was asked about; null where records were sent."""

    same_as_logged: bool | None
    """Null where records were sent or the test failed."""

    warnings: list[str]
    """Faults to fix although the model answered."""

    payload_format: PayloadFormat
    """The format of the request; with `find_format` the one that was found."""

    sent: str
    """The request, in words."""

    read: str | None
    """The part of the answer that was read, in words; null where the test failed."""

    tried: list[TriedFormatOut]
    """The other formats that were tried, in order; empty without `find_format`."""

    @classmethod
    def of(cls, test: EndpointTest, newest: StoredRecord | None, *, has_monitor: bool) -> "EndpointTestOut":
        """Body of a test, which asked about `newest` where no records were sent."""
        outcomes = test.outcomes or (None,) * len(test.predictions)
        predictions = [
            TestedPredictionOut.from_object(
                prediction, outcome=None if outcome is None else TestedOutcome[outcome.name]
            )
            for prediction, outcome in zip(test.predictions, outcomes, strict=True)
        ]
        logged = newest and LoggedAnswerOut.from_object(
            newest.answer, id=newest.record_id, model_revision=newest.model_revision
        )
        no_monitor = None if has_monitor else NO_MONITOR
        return cls.from_object(
            test,
            seconds=round(test.seconds, 6),
            predictions=predictions,
            outcome_reason=no_monitor,
            logged=logged,
            tried=[TriedFormatOut.from_object(attempt) for attempt in test.tried],
        )
