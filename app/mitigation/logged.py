"""Live records as payload: the model's own answers, and beside each what mitigation made of it. Writes nothing."""

from collections.abc import Sequence
from typing import Any

from app.domain.records import Prediction
from app.errors import ScoringFailed
from app.ingest.cells import CellRefused, probability, scalar
from app.ingest.checked import CheckedPayload
from app.mitigation.active_plan import ActivePlan
from app.mitigation.debiasing import Debiased
from app.mitigation.requests import Asked


def payload_of(plan: ActivePlan, asked: Asked, own: Sequence[Prediction], debiased: Sequence[Debiased]) -> CheckedPayload:
    """The records as they are stored, both outcomes beside each other.

    Raises:
        ScoringFailed: the model's answer is nothing that may be logged of this deployment.
    """
    check = plan.records.prediction
    try:
        predictions = [check(one.prediction) for one in own]
    except CellRefused as error:
        raise ScoringFailed(f"The model's endpoint gave a prediction that this deployment cannot have: it {error}.") from error
    count = len(asked)
    return CheckedPayload(
        sent=count,
        indexes=list(range(count)),
        ids=asked.ids,
        times=[None] * count,
        features=list(asked.features),
        meta=list(asked.meta),
        labels=[_stored_label(one) for one in own],
        predictions=predictions,
        probabilities=[_stored_probability(one) for one in own],
        debiased=[_stored(plan, one) for one in debiased],
    )


def _stored(plan: ActivePlan, debiased: Debiased) -> dict[str, Any]:
    return {
        "prediction": debiased.answer.prediction,
        "probability": debiased.answer.probability,
        "label": debiased.answer.label,
        "changed": debiased.changed,
        "changed_by": debiased.changed_by,
        "debiasing": debiased.debiasing.value,
        "mode": plan.settings.mode.value,
        "settings_version": plan.settings.version,
        "profile_version": plan.profile.version,
        "bias_detector_version": plan.detector_version,
    }


def _stored_label(one: Prediction) -> Any:  # noqa: ANN401 - as the model gave it
    return None if one.label is None else scalar(one.label)


def _stored_probability(one: Prediction) -> Any:  # noqa: ANN401 - as the model gave it
    return (
        None if one.probability is None else probability(list(one.probability) if isinstance(one.probability, tuple) else one.probability)
    )
