"""Tests a model's endpoint with one request, as a check would send it, and its answers with a second one.

Nothing is stored. A test that fails is a result, not an error.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import cycle

from ...base.clock import monotonic_seconds
from ...base.errors import ScoringFailed
from ...base.values import Scalar, frozen_by_name, read_number, spelled
from ...calls.credentials import redact_secrets
from ...calls.egress_policy import EgressPolicy
from ...calls.scoring.ask_page import ModelKey
from ...calls.scoring.live_model import LiveModel
from ...domain.deployment import Column, Endpoint, OutputFields, ProblemType
from ...domain.monitor import Outcome, OutcomeRule, describe_outcome
from ...domain.record import MAX_ROUNDING, Prediction
from ...payloads.registry import TRIED_FORMATS, bind_codec
from ...payloads.wire import Rows
from ..copies.repeats import REPEATS_DIFFER

TEST_SECONDS = 10.0
"""Time that a test may take, in all formats together."""

MAX_TEST_RECORDS = 10

REPEATS_WARNING = (
    f"{REPEATS_DIFFER} from the first. Checks ask some records again; flips count beyond that, and mitigated "
    "figures get no verdict."
)

_MAX_SHOWN_CHARACTERS = 200


@frozen_by_name
class Question:
    """An endpoint, and the rows that a test sends, in the order of `features`; `rule` None: no monitor.

    `logged` is the logged answer to the only row, by revision `logged_revision`.
    """

    endpoint: Endpoint
    outputs: OutputFields
    problem_type: ProblemType
    features: tuple[Column, ...]
    rows: Rows
    rule: OutcomeRule | None = None
    logged: Prediction | None = None
    logged_revision: str | None = None


@frozen_by_name
class EndpointTest:
    """Result of a test. `fault` says why there are no predictions; `outcomes` None: no monitor.

    `sent` describes the request in words. `has_answered`: the model took the request. `tried` are the tests
    in other formats.
    """

    payload_format: str
    sent: str
    seconds: float
    fault: str | None = None
    has_answered: bool = True
    predictions: tuple[Prediction, ...] = ()
    outcomes: tuple[Outcome, ...] | None = None
    same_as_logged: bool | None = None
    warnings: tuple[str, ...] = ()
    tried: tuple["EndpointTest", ...] = ()

    @property
    def read(self) -> str | None:
        if not self.predictions:
            return None
        further = "" if len(self.predictions) == 1 else f", and of {len(self.predictions) - 1} more"
        return f"Of the first record the prediction {_describe(self.predictions[0])}{further}."

    @property
    def ok(self) -> bool:
        return self.fault is None


async def find_format(question: Question, policy: EgressPolicy) -> EndpointTest:
    """Sends the records in one format after the other until an answer has all outputs, within `TEST_SECONDS`
    in all.

    If no answer has, returns the test of the first format that gave predictions, else of the first whose
    answer could not be read, else of the configured one.
    """
    deadline = monotonic_seconds() + TEST_SECONDS
    configured = question.endpoint.payload_format
    tried = []
    for name in sorted(TRIED_FORMATS, key=lambda name: name != configured):
        if monotonic_seconds() >= deadline:
            break
        attempt = replace(question, endpoint=replace(question.endpoint, payload_format=name, mapping=None))
        tried.append(await try_endpoint(attempt, policy, deadline=deadline))
        if _is_complete(tried[-1], question.outputs):
            break
    best = min(
        tried, key=lambda test: (not _is_complete(test, question.outputs), not test.ok, not test.has_answered)
    )
    return replace(best, tried=tuple(test for test in tried if test is not best))


async def try_endpoint(
    question: Question, policy: EgressPolicy, *, deadline: float | None = None
) -> EndpointTest:
    """Sends the records, then again as often as a test may have records, within `TEST_SECONDS`.

    The result holds no secret of the endpoint, even if the model repeats it.
    """
    began = monotonic_seconds()
    endpoint = question.endpoint
    codec = bind_codec(endpoint)
    count = "1 record" if len(question.rows) == 1 else f"{len(question.rows)} records"
    sent = f"{count} as {codec.label}, {codec.content_type}: {codec.shown_request}"
    test = EndpointTest(payload_format=str(endpoint.payload_format), sent=sent, seconds=0.0)
    names = tuple(column.name for column in question.features)
    types = tuple(column.type for column in question.features)
    try:
        # A new connection: the test has to show that one can be made now.
        model = LiveModel(ModelKey(endpoint, question.outputs, names, types), policy)
        try:
            deadline = deadline or began + TEST_SECONDS
            predictions = (await model.score(question.rows, deadline=deadline, attempts=1)).predictions
            seconds = monotonic_seconds() - began
            repeats = predictions
            with suppress(ScoringFailed):  # a slow model has answered already
                rows = [*question.rows] * (MAX_TEST_RECORDS // len(question.rows))
                repeats = (await model.score(rows, deadline=deadline, attempts=1)).predictions
        finally:
            await model.close()
    except ScoringFailed as error:
        # An answer that cannot be read is the cause of the error.
        has_answered = isinstance(error.__cause__, ScoringFailed)
        return replace(
            test,
            seconds=monotonic_seconds() - began,
            fault=redact_secrets(error.quoting, endpoint),
            has_answered=has_answered,
        )

    outcomes = None
    if question.rule is not None:
        outcomes = tuple(question.rule.classify(prediction.outcome_value) for prediction in predictions)
    redacted = tuple(
        replace(
            prediction,
            prediction=_redact(prediction.prediction, endpoint),
            label=None if prediction.label is None else _redact(prediction.label, endpoint),
        )
        for prediction in predictions
    )
    same_as_logged = _is_same(predictions[0], question.logged) if question.logged else None
    warnings = list(_list_warnings(question, redacted, outcomes, same_as_logged=same_as_logged))
    pairs = zip(repeats, cycle(predictions), strict=False)
    different_repeats = sum(not _is_same(repeat, first) for repeat, first in pairs)
    if different_repeats:
        warnings.append(REPEATS_WARNING.format(differ=different_repeats, asked=len(repeats)))
    return replace(
        test,
        seconds=seconds,
        predictions=redacted,
        outcomes=outcomes,
        same_as_logged=same_as_logged,
        warnings=tuple(warnings),
    )


def _is_complete(test: EndpointTest, outputs: OutputFields) -> bool:
    return test.ok and (
        outputs.probability is None
        or all(prediction.probability is not None for prediction in test.predictions)
    )


def _redact(answer: Scalar, endpoint: Endpoint) -> Scalar:
    if not isinstance(answer, str):
        return answer
    redacted = redact_secrets(answer, endpoint)
    return redacted if len(redacted) <= _MAX_SHOWN_CHARACTERS else redacted[:_MAX_SHOWN_CHARACTERS] + "…"


def _is_same(first: Prediction, second: Prediction) -> bool:
    if describe_outcome(first.prediction) != describe_outcome(second.prediction):
        return False
    labels = {describe_outcome(label) for label in (first.label, second.label) if label is not None}
    if len(labels) > 1:
        return False
    if first.probability is None or second.probability is None:
        return True
    probabilities = _as_list(first.probability)
    others = _as_list(second.probability)
    return len(probabilities) == len(others) and all(
        math.isclose(probability, other, abs_tol=MAX_ROUNDING)
        for probability, other in zip(probabilities, others, strict=True)
    )


def _as_list(probability: float | Sequence[float]) -> Sequence[float]:
    return (probability,) if isinstance(probability, int | float) else probability


def _list_warnings(
    question: Question,
    predictions: Sequence[Prediction],
    outcomes: Sequence[Outcome] | None,
    *,
    same_as_logged: bool | None,
) -> Iterator[str]:
    if question.problem_type is ProblemType.REGRESSION:
        for value in _list_distinct(
            prediction.prediction
            for prediction in predictions
            if isinstance(prediction.prediction, bool | str) or read_number(prediction.prediction) is None
        ):
            yield f"The prediction {value} is not a number, as that of a regression must be: such records cannot be logged."
    elif any(prediction.probability is None for prediction in predictions):
        yield "The answer holds no probability. Metrics that need one stay without a value; name the column in outputs.probability."
    unclassified = (
        prediction.outcome_value
        for prediction, outcome in zip(predictions, outcomes or (), strict=False)
        if outcome is Outcome.UNCLASSIFIED
    )
    for value in _list_distinct(unclassified):
        yield f"{value} is in neither outcome list of the fairness monitor: such records are unclassified and take part in no rate."
    if same_as_logged is False and question.logged:
        yield (
            f"The model now answers {_describe(predictions[0])} where {_describe(question.logged)} was "
            "logged, under the model revision"
            f" {question.logged_revision}. If it is another model, set the deployment's model_revision."
        )


def _list_distinct(values: Iterator[Scalar]) -> list[str]:
    return list(dict.fromkeys(spelled(value) for value in values))


def _describe(prediction: Prediction) -> str:
    label = "" if prediction.label is None else f" ({describe_outcome(prediction.label)})"
    with_probability = ""
    if prediction.probability is not None:
        numbers = ", ".join(f"{probability:.6g}" for probability in _as_list(prediction.probability))
        with_probability = f" with the probability {numbers}"
    return f"{describe_outcome(prediction.prediction)}{label}{with_probability}"
