"""Routes of what Evenhand does not do: each answers a clear error, and none pretends to have done something."""

from fastapi import APIRouter

from ..errors import Conflict, NotFound
from ..web.access import AnyKey
from ..web.media import takes
from .bodies import Answer

router = APIRouter(tags=["not supported"])

UNSUPPORTED = {
    "explanation_tasks": "Explanations are",
    "integrated_systems": "Integrated systems are",
    "operational_spaces": "Operational spaces are",
    "user_preferences": "Preferences of users are",
    "ai_decision_coordinations": "Coordination of decisions is",
    "gen_ai_apps": "Monitoring of generative models is",
    "prompt_setup": "Monitoring of generative models is",
    "prompt_batch_setup": "Monitoring of generative models is",
    "ai_setup": "Monitoring of generative models is",
    "ml_deployments": "Listing the deployments of a machine learning service is",
    "spark_schemas": "Reading schemas with Spark is",
    "data_set_records": "A query over several data sets is",
    "monitoring_services": "Drift, explainability and model risk management are",
}
"""First parts of addresses under `/v2`, and what they are about."""

_ARCHIVES = ("application/octet-stream", "application/gzip", "multipart/form-data", "text/csv")
"""Content types of what the SDK uploads for monitors that there are none of."""

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


@router.api_route("/openscale/v2/subscriptions/{subscription_id}/risk_evaluation_status", methods=_METHODS, include_in_schema=False)
@router.api_route("/openscale/v2/subscriptions/{subscription_id}/configuration_synchronization", methods=_METHODS, include_in_schema=False)
async def refuse_parts_of_subscriptions(_principal: AnyKey) -> Answer:
    """Refuses: risk evaluation and synchronisation."""
    raise Conflict("Risk evaluation and synchronisation of a subscription are not supported by Evenhand.")


@router.api_route("/openscale/v2/{part}", methods=_METHODS, include_in_schema=False)
@router.api_route("/openscale/v2/{part}/{rest:path}", methods=_METHODS, include_in_schema=False)
@takes(*_ARCHIVES)
async def refuse_parts(part: str, _principal: AnyKey, rest: str = "") -> Answer:
    """Refuses: everything else of the API."""
    what = UNSUPPORTED.get(part)
    if what is None:
        raise NotFound("address", f"/v2/{ascii(part)[1:-1][:60]}{'/…' if rest else ''}")
    raise Conflict(f"{what} not supported by Evenhand.")
