"""Routes of what Evenhand does not do: each answers a clear error, and none pretends to have done something."""

from fastapi import APIRouter

from .refused import conflict, not_found, printable
from .v1 import Json

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

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_CHANGING = ["POST", "PUT", "PATCH", "DELETE"]


@router.api_route("/openscale/v2/monitor_definitions", methods=_CHANGING)
@router.api_route("/openscale/v2/monitor_definitions/{monitor_definition_id}", methods=_CHANGING)
async def refuse_custom_monitors() -> Json:
    """Refuses: definitions of custom monitors, and changes of Evenhand's own."""
    raise conflict("Custom monitors are not supported by Evenhand, and its own definitions are fixed.")


@router.post("/openscale/v2/monitor_instances/{monitor_instance_id}/measurements")
async def refuse_imports(monitor_instance_id: str) -> Json:
    raise conflict(
        f"Posting figures to {printable(monitor_instance_id)} is not supported by Evenhand, whose series hold only what it measured."
        " Log the past records with is_historical_data=True, and ask for checks of these hours."
    )


@router.api_route("/openscale/v2/data_sets/{data_set_id}/distributions", methods=_METHODS)
@router.api_route("/openscale/v2/data_sets/{data_set_id}/distributions/{distribution_id}", methods=_METHODS)
async def refuse_distributions(data_set_id: str) -> Json:
    raise conflict(f"Distributions of {printable(data_set_id)} are not supported by Evenhand. The sources of a measurement have counts.")


@router.api_route("/openscale/v2/data_marts/{data_mart_id}", methods=["PATCH", "DELETE"])
async def refuse_mart_changes(data_mart_id: str) -> Json:
    raise conflict(f"Changing or deleting the data mart {printable(data_mart_id)} is not supported by Evenhand, which has one.")


@router.api_route("/openscale/v2/subscriptions/{subscription_id}/risk_evaluation_status", methods=_METHODS)
@router.api_route("/openscale/v2/subscriptions/{subscription_id}/configuration_synchronization", methods=_METHODS)
async def refuse_parts_of_subscriptions() -> Json:
    """Refuses: risk evaluation and synchronisation."""
    raise conflict("Risk evaluation and synchronisation of a subscription are not supported by Evenhand.")


@router.api_route("/openscale/v2/{part}", methods=_METHODS)
@router.api_route("/openscale/v2/{part}/{rest:path}", methods=_METHODS)
async def refuse_parts(part: str, rest: str = "") -> Json:
    """Refuses: everything else of the API."""
    if part not in UNSUPPORTED:
        raise not_found("address", f"/v2/{part[:60]}{'/…' if rest else ''}")
    raise conflict(f"{UNSUPPORTED[part]} not supported by Evenhand.")
