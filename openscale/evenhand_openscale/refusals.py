"""Routes of what Evenhand does not do: each answers a clear error, and none pretends to have done something."""

from fastapi import APIRouter

from .refused import conflict, not_found
from .v1 import Json

router = APIRouter(tags=["not supported"])

UNSUPPORTED = {
    "explanation_tasks": "Explanations are",
    "integrated_systems": "Integrated systems are",
    "operational_spaces": "Operational spaces are",
    "user_preferences": "Preferences of users are",
    "ai_decision_coordinations": "Coordination of decisions is",
    **dict.fromkeys(("gen_ai_apps", "prompt_setup", "prompt_batch_setup", "ai_setup"), "Monitoring of generative models is"),
    "ml_deployments": "Listing the deployments of a machine learning service is",
    "spark_schemas": "Reading schemas with Spark is",
    "data_set_records": "A query over several data sets is",
    "monitoring_services": "Drift, explainability and model risk management are",
}

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_CHANGING = ["POST", "PUT", "PATCH", "DELETE"]


def _refuse(methods: list[str], message: str, *paths: str) -> None:
    async def refuse() -> Json:
        raise conflict(message)

    for path in paths:
        router.add_api_route(f"/openscale/v2/{path}", refuse, methods=methods)


_refuse(
    _CHANGING,
    "Custom monitors are not supported by Evenhand, and its own definitions are fixed.",
    "monitor_definitions",
    "monitor_definitions/{monitor_definition_id}",
)
_refuse(
    ["POST"],
    "Posting figures is not supported by Evenhand, whose series hold only what it measured."
    " Log the past records with is_historical_data=True, and ask for checks of these hours.",
    "monitor_instances/{monitor_instance_id}/measurements",
)
_refuse(
    _METHODS,
    "Distributions of a data set are not supported by Evenhand. The sources of a measurement have counts.",
    "data_sets/{data_set_id}/distributions",
    "data_sets/{data_set_id}/distributions/{distribution_id}",
)
_refuse(
    ["PATCH", "DELETE"],
    "Changing or deleting the data mart is not supported by Evenhand, which has one.",
    "data_marts/{data_mart_id}",
)
_refuse(
    _METHODS,
    "Risk evaluation and synchronisation of a subscription are not supported by Evenhand.",
    "subscriptions/{subscription_id}/risk_evaluation_status",
    "subscriptions/{subscription_id}/configuration_synchronization",
)


@router.api_route("/openscale/v2/{part}", methods=_METHODS)
@router.api_route("/openscale/v2/{part}/{rest:path}", methods=_METHODS)
async def refuse_parts(part: str, rest: str = "") -> Json:
    if part not in UNSUPPORTED:
        raise not_found("address", f"/v2/{part[:60]}{'/…' if rest else ''}")
    raise conflict(f"{UNSUPPORTED[part]} not supported by Evenhand.")
