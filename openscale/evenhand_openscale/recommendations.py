"""Routes of recommended features: proposals from training data or payload, as REST v1 makes them."""

from fastapi import APIRouter

from .fairness import listed
from .v1 import Json, V1In

router = APIRouter(prefix="/openscale/v2/monitoring_services/fairness/subscriptions/{subscription_id}", tags=["recommendations"])


@router.post("/auto_detect", status_code=202)
@router.get("/auto_detect")
async def read_detection(subscription_id: str, v1: V1In) -> Json:
    """Returns the features that a fairness monitor should watch, which are there at once. A proposal is a guess for a person to judge."""
    subscription = await v1.find(subscription_id)
    recommended = await v1.ask("GET", f"/v1/deployments/{subscription.id}/recommended-monitors")
    features = [
        {
            "feature": proposal["feature"],
            "recommended_majority": listed(proposal["reference"] or ()),
            "recommended_minority": listed(proposal["monitored"]),
            "recommended_threshold": proposal["threshold"],
        }
        for proposal in recommended["proposals"]
    ]
    return {"subscription_id": subscription.id, "parameters": {"recommendation_status": "finished", "features": features}}
