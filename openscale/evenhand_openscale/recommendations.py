"""Routes of recommended features: proposals from training data or payload, as REST v1 makes them."""

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from ..domain.outcomes import OutcomeRule
from ..recommendations.looking import recommend_for
from ..store.deployments.monitors import monitor_of
from .bodies import Answer, Sent
from .callers import Caller, CallerIn
from .fairness import listed

router = APIRouter(prefix="/openscale/v2/monitoring_services/fairness/subscriptions/{subscription_id}", tags=["recommendations"])


class DetectIn(Sent):
    """Outcomes to recommend for."""

    favourable_class: list[Any] = Field(default_factory=list)
    unfavourable_class: list[Any] = Field(default_factory=list)


@router.post("/auto_detect", status_code=202)
def start_detection(subscription_id: str, body: DetectIn, caller: CallerIn) -> Answer:
    """Looks for features, which are there at once. Outcomes that were sent are those that rates are counted by."""
    rule = OutcomeRule(favourable=tuple(body.favourable_class), unfavourable=tuple(body.unfavourable_class))
    return _answer(subscription_id, caller, rule if rule.favourable and rule.unfavourable else None)


@router.get("/auto_detect")
def read_detection(subscription_id: str, caller: CallerIn) -> Answer:
    """Returns the features that a fairness monitor should watch. A proposal is a guess for a person to judge."""
    return _answer(subscription_id, caller, None)


def _answer(subscription_id: str, caller: Caller, rule: OutcomeRule | None) -> Answer:
    deployment = caller.find(subscription_id)
    found = recommend_for(caller.session, deployment, monitor_of(caller.session, deployment.no), rule)
    features = [
        {
            "feature": one.feature,
            "recommended_majority": listed(one.choice.reference or ()),
            "recommended_minority": listed(one.choice.monitored),
            "recommended_threshold": one.threshold,
        }
        for one in found.proposals
    ]
    return {"subscription_id": deployment.id, "parameters": {"recommendation_status": "finished", "features": features}}
