"""Live records as payload: the model's own answers, and next to each the debiased one."""

from collections.abc import Sequence

from ...domain.records import Prediction
from ...errors import ScoringFailed
from ...ingest.cells import CellRefused, probability, scalar
from ...ingest.checked import CheckedPayload
from .debiasing import Debiased
from .plan import ActivePlan
from .requests import Asked


def build_payload(plan: ActivePlan, asked: Asked, own: Sequence[Prediction], debiased: Sequence[Debiased]) -> CheckedPayload:
    """Returns the records as they are stored, with both outcomes."""
    check = plan.records.prediction
    try:
        predictions = [check(one.prediction) for one in own]
    except CellRefused as error:
        raise ScoringFailed(f"The model's endpoint gave a prediction that this deployment cannot have: it {error}.") from error
    probabilities = [list(one.probability) if isinstance(one.probability, tuple) else one.probability for one in own]
    count = len(asked)
    return CheckedPayload(
        sent=count,
        indexes=list(range(count)),
        ids=asked.ids,
        times=[None] * count,
        features=list(asked.features),
        meta=list(asked.meta),
        labels=[None if one.label is None else scalar(one.label) for one in own],
        predictions=predictions,
        probabilities=[None if one is None else probability(one) for one in probabilities],
        debiased=[
            {
                "prediction": one.answer.prediction,
                "probability": one.answer.probability,
                "label": one.answer.label,
                "changed": one.changed,
                "changed_by": one.changed_by,
                "debiasing": one.debiasing.value,
                "mode": plan.settings.mode.value,
                "settings_version": plan.settings.version,
                "profile_version": plan.profile.version,
                "bias_detector_version": plan.detector_version,
            }
            for one in debiased
        ],
    )
