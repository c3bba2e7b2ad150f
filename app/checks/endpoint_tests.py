"""One question to a model's endpoint, asked as a check would ask it, and what is to be said of the answer.

Nothing is stored. A test that fails is a result, and not an error.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.clock import monotonic_seconds
from app.domain.deployments import Credentials, Endpoint, OutputFields, ProblemType
from app.domain.outcomes import Outcome, OutcomeRule, outcome_label
from app.domain.records import Prediction
from app.domain.values import Scalar, number_of, spelled
from app.errors import ScoringFailed
from app.scoring.credentials import redacted
from app.scoring.egress import EgressPolicy
from app.scoring.formats.wire import Rows
from app.scoring.live import LiveModel, ModelKey

TEST_SECONDS = 10.0
"""For the whole test; a person waits for it."""

MOST_TEST_RECORDS = 10

_SAME_PROBABILITY = 1e-6
"""Models that compute in single precision differ by less from one call to the next."""

_SHOWN_CHARACTERS = 200
"""As many as a class value may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: the rows are in the order of `columns`. Without a monitor there is no `rule`.

    `logged` is what the model said of the only row when it was logged, under `logged_revision`.
    """

    endpoint: Endpoint
    outputs: OutputFields
    problem_type: ProblemType
    columns: tuple[str, ...]
    rows: Rows
    rule: OutcomeRule | None = None
    logged: Prediction | None = None
    logged_revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTest:
    """What came of it. `fault` says why there are no predictions; `outcomes` is None without a monitor."""

    seconds: float
    fault: str | None = None
    predictions: tuple[Prediction, ...] = ()
    outcomes: tuple[Outcome, ...] | None = None
    same_as_logged: bool | None = None
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the model answered with predictions that can be read."""
        return self.fault is None


async def try_endpoint(question: Question, policy: EgressPolicy) -> EndpointTest:
    """Asks once, within `TEST_SECONDS`. What comes back holds no secret of the endpoint, even if the endpoint says it aloud."""
    began = monotonic_seconds()
    secret = question.endpoint.credentials
    try:
        found = await _asked(question, policy, began + TEST_SECONDS)
    except ScoringFailed as error:
        return EndpointTest(seconds=monotonic_seconds() - began, fault=redacted(str(error), secret))
    seconds = monotonic_seconds() - began
    outcomes = None if question.rule is None else tuple(question.rule.classify(one.outcome_value) for one in found)
    shown = tuple(_shown(one, secret) for one in found)
    same = None if question.logged is None else _is_same(found[0], question.logged)
    return EndpointTest(
        seconds=seconds,
        predictions=shown,
        outcomes=outcomes,
        same_as_logged=same,
        warnings=tuple(_warnings(question, shown, outcomes, same_as_logged=same)),
    )


async def _asked(question: Question, policy: EgressPolicy, deadline: float) -> list[Prediction]:
    # A connection of its own: what is to be shown is that one can be made now.
    model = LiveModel(ModelKey(question.endpoint, question.outputs, question.columns), policy)
    try:
        answer = await model.score(question.rows, deadline=deadline, attempts=1)
    finally:
        await model.close()
    return answer.predictions


def _shown(one: Prediction, secret: Credentials | None) -> Prediction:
    label = None if one.label is None else _safe(one.label, secret)
    return replace(one, prediction=_safe(one.prediction, secret), label=label)


def _safe(value: Scalar, secret: Credentials | None) -> Scalar:
    if not isinstance(value, str):
        return value
    text = redacted(value, secret)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _is_same(now: Prediction, logged: Prediction) -> bool:
    if outcome_label(now.prediction) != outcome_label(logged.prediction):
        return False
    if now.label is not None and logged.label is not None and outcome_label(now.label) != outcome_label(logged.label):
        return False
    if now.probability is None or logged.probability is None:
        return True
    one, other = _listed(now.probability), _listed(logged.probability)
    return len(one) == len(other) and all(math.isclose(a, b, abs_tol=_SAME_PROBABILITY) for a, b in zip(one, other, strict=True))


def _listed(probability: float | Sequence[float]) -> Sequence[float]:
    return (probability,) if isinstance(probability, int | float) else probability


def _warnings(
    question: Question, found: Sequence[Prediction], outcomes: Sequence[Outcome] | None, *, same_as_logged: bool | None
) -> Iterator[str]:
    is_regression = question.problem_type is ProblemType.REGRESSION
    if is_regression:
        for value in _distinct(
            one.prediction for one in found if isinstance(one.prediction, bool | str) or number_of(one.prediction) is None
        ):
            yield f"The prediction {value} is not a number, as that of a regression must be: such records cannot be logged."
    elif any(one.probability is None for one in found):
        yield "The answer holds no probability. What rests on probabilities stays without a value; name the column in outputs.probability."
    unclassified = (one.outcome_value for one, outcome in zip(found, outcomes or (), strict=False) if outcome is Outcome.UNCLASSIFIED)
    for value in _distinct(unclassified):
        yield f"{value} is in neither outcome list of the fairness monitor: such records are unclassified and take part in no rate."
    if same_as_logged is False and question.logged is not None:
        yield (
            f"The model now answers {_words(found[0])} where {_words(question.logged)} was logged, under the model revision"
            f" {question.logged_revision}. If it is another model, set the deployment's model_revision."
        )


def _distinct(values: Iterator[Scalar]) -> list[str]:
    return list(dict.fromkeys(spelled(value) for value in values))


def _words(one: Prediction) -> str:
    label = "" if one.label is None else f" ({outcome_label(one.label)})"
    likely = "" if one.probability is None else f" with the probability {', '.join(f'{part:.6g}' for part in _listed(one.probability))}"
    return f"{outcome_label(one.prediction)}{label}{likely}"
