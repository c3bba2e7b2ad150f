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
from ..copies.copy_outcomes import REPEATS_DIFFER

TEST_SECONDS = 10.0

MAX_TEST_RECORDS = 10

REPEATS_WARNING = (
    f"{REPEATS_DIFFER} from the first. Checks ask some records again; flips count beyond that, and mitigated "
    "figures get no verdict."
)

_MAX_SHOWN_CHARACTERS = 200


@frozen_by_name
class Question:
    """Rows of a test, in the order of `features`; no `rule` without a monitor.

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
    """Result of a test. `fault` says why there are no predictions; no `outcomes` without a monitor.

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

    Otherwise returns the test of the first format that gave predictions, else of the first whose answer could
    not be read, else of the own one.
    """
    deadline = monotonic_seconds() + TEST_SECONDS
    configured = question.endpoint.payload_format
    tried: list[EndpointTest] = []
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
    """Sends the records, then as many again as a test may have, within `TEST_SECONDS`.

    The result holds no endpoint of the endpoint, even if that repeats it.
    """
    began = monotonic_seconds()
    endpoint = question.endpoint
    codec = bind_codec(question.endpoint)
    count = "1 record" if len(question.rows) == 1 else f"{len(question.rows)} records"
    sent = f"{count} as {codec.label}, {codec.content_type}: {codec.shown_request}"
    test = EndpointTest(payload_format=str(question.endpoint.payload_format), sent=sent, seconds=0.0)
    names = tuple(column.name for column in question.features)
    types = tuple(column.type for column in question.features)
    try:
        # A new connection: the test has to show that one can be made now.
        model = LiveModel(ModelKey(question.endpoint, question.outputs, names, types), policy)
        try:
            until = deadline or began + TEST_SECONDS
            answer = await model.score(question.rows, deadline=until, attempts=1)
            seconds = monotonic_seconds() - began
            again = answer.predictions
            with suppress(ScoringFailed):  # a slow model has answered already
                repeated = [*question.rows] * (MAX_TEST_RECORDS // len(question.rows))
                again = (await model.score(repeated, deadline=until, attempts=1)).predictions
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

    predictions = answer.predictions
    outcomes = (
        None
        if question.rule is None
        else tuple(question.rule.classify(prediction.outcome_value) for prediction in predictions)
    )
    redact = tuple(
        replace(
            prediction,
            prediction=_redact(prediction.prediction, endpoint),
            label=None if prediction.label is None else _redact(prediction.label, endpoint),
        )
        for prediction in predictions
    )
    differ = sum(not _is_same(now, before) for now, before in zip(again, cycle(predictions), strict=False))
    repeats = [REPEATS_WARNING.format(differ=differ, asked=len(again))] if differ else []
    same_as_logged = _is_same(predictions[0], question.logged) if question.logged else None
    return replace(
        test,
        seconds=seconds,
        predictions=redact,
        outcomes=outcomes,
        same_as_logged=same_as_logged,
        warnings=(*_list_warnings(question, redact, outcomes, same_as_logged=same_as_logged), *repeats),
    )


def _is_complete(test: EndpointTest, outputs: OutputFields) -> bool:
    return test.ok and (
        outputs.probability is None
        or all(prediction.probability is not None for prediction in test.predictions)
    )


def _redact(value: Scalar, endpoint: Endpoint) -> Scalar:
    if not isinstance(value, str):
        return value
    text = redact_secrets(value, endpoint)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + "…"


def _is_same(now: Prediction, logged: Prediction) -> bool:
    if describe_outcome(now.prediction) != describe_outcome(logged.prediction):
        return False
    if (
        now.label is not None
        and logged.label is not None
        and describe_outcome(now.label) != describe_outcome(logged.label)
    ):
        return False
    if now.probability is None or logged.probability is None:
        return True
    present = _as_list(now.probability)
    past = _as_list(logged.probability)
    return len(present) == len(past) and all(
        math.isclose(a, b, abs_tol=MAX_ROUNDING) for a, b in zip(present, past, strict=True)
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
    is_regression = question.problem_type is ProblemType.REGRESSION
    if is_regression:
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
    likely = (
        ""
        if prediction.probability is None
        else " with the probability "
        f"{', '.join(f'{probability:.6g}' for probability in _as_list(prediction.probability))}"
    )
    return f"{describe_outcome(prediction.prediction)}{label}{likely}"
