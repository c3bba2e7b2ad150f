"""Routes of data sets: each subscription has one of payload and one of feedback, from its beginning."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from ..domain.deployments import Deployment
from ..errors import Conflict, InvalidInput
from ..security.principals import Permission
from ..store.openscale.marts import DEFAULT_MART
from ..store.openscale.subscriptions import StoredSubscription, subscriptions_of
from .assets import output_schema, schema_of, target_field
from .bodies import Answer, Sent, active, is_among, resource
from .callers import Caller, CallerIn, joined_id, split_id

router = APIRouter(prefix="/openscale/v2", tags=["data sets"])

PAYLOAD, FEEDBACK = "payload_logging", "feedback"
KINDS = (PAYLOAD, FEEDBACK)

_NAMES = {PAYLOAD: "Payload", FEEDBACK: "Feedback"}


@router.get("/data_sets")
def read_data_sets(
    caller: CallerIn,
    target_id: Annotated[str | None, Query(alias="target.target_id")] = None,
    target_type: Annotated[str | None, Query(alias="target.target_type")] = None,
    type: str | None = None,  # noqa: A002 - the name in the address
    managed_by: str | None = None,
) -> Answer:
    """Returns the data sets that all filters let through."""
    if not is_among(target_type, "subscription") or managed_by:
        return {"data_sets": []}
    deployments = [one for one in caller.seen() if is_among(target_id, one.id)]
    stored = subscriptions_of(caller.session, [one.no for one in deployments])
    kinds = [kind for kind in KINDS if is_among(type, kind)]
    return {"data_sets": [_answer(one, stored.get(one.no), kind) for one in deployments for kind in kinds]}


class TargetIn(Sent):
    """The subscription that a data set or monitor instance is of."""

    target_type: str = Field(max_length=100)
    target_id: str = Field(max_length=200)


class DataSetIn(Sent):
    """A data set."""

    target: TargetIn
    type: str = Field(max_length=100)
    data_schema: dict[str, Any] | None = None


@router.post("/data_sets", status_code=201)
def add_data_set(body: DataSetIn, caller: CallerIn) -> Answer:
    """Returns the subscription's data set of that type, which is there already; other types are not supported."""
    deployment = caller.find(body.target.target_id, Permission.MANAGE)
    if body.type not in KINDS:
        raise InvalidInput.of(
            "type", f"{body.type!r:.60} is not supported by Evenhand, which keeps data sets of the types {', '.join(KINDS)}"
        )
    return _read(caller, deployment, body.type)


@router.get("/data_sets/{data_set_id}")
def read_data_set(data_set_id: str, caller: CallerIn) -> Answer:
    """Returns one data set."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    return _read(caller, caller.find(subscription_id), kind)


@router.patch("/data_sets/{data_set_id}")
def change_data_set(data_set_id: str, caller: CallerIn) -> Answer:
    """Refuses: the columns of a data set are those of its subscription."""
    _, subscription_id = split_id(data_set_id, KINDS, "data set")
    caller.find(subscription_id, Permission.MANAGE)
    raise Conflict("Changing a data set is not supported by Evenhand: its columns are those of the subscription. Change that instead.")


@router.delete("/data_sets/{data_set_id}")
def remove_data_set(data_set_id: str, caller: CallerIn) -> Answer:
    """Refuses: a data set lives as long as its subscription."""
    _, subscription_id = split_id(data_set_id, KINDS, "data set")
    caller.find(subscription_id, Permission.MANAGE)
    raise Conflict("Deleting a data set is not supported by Evenhand: it lives as long as its subscription. Delete that instead.")


@router.post("/subscriptions/{subscription_id}/tables/{dataset_type}")
def add_table(subscription_id: str, dataset_type: str, caller: CallerIn) -> Answer:
    """Returns the subscription's data set of that type, whose table is there already."""
    deployment = caller.find(subscription_id, Permission.MANAGE)
    if dataset_type not in KINDS:
        raise InvalidInput.of("dataset_type", f"{ascii(dataset_type)[1:-1]:.60} is not supported by Evenhand: send {' or '.join(KINDS)}")
    return _read(caller, deployment, dataset_type)


def label_column_of(stored: StoredSubscription | None) -> str:
    """Returns the name of the label's column in feedback."""
    kept = {} if stored is None else stored.entity.get("asset_properties", {})
    return str(kept.get("label_column") or "label")


def _read(caller: Caller, deployment: Deployment, kind: str) -> Answer:
    return _answer(deployment, subscriptions_of(caller.session, [deployment.no]).get(deployment.no), kind)


def _answer(deployment: Deployment, stored: StoredSubscription | None, kind: str) -> Answer:
    identifier = joined_id(kind, deployment.id)
    label = target_field(label_column_of(stored), deployment)
    schema = deployment.schema
    entity = {
        "data_mart_id": DEFAULT_MART if stored is None else stored.data_mart_id,
        "name": f"{_NAMES[kind]} of {deployment.name}",
        "type": kind,
        "target": {"target_type": "subscription", "target_id": deployment.id},
        "schema_update_mode": "none",
        "data_schema": output_schema(deployment) if kind == PAYLOAD else schema_of(schema.features, schema.meta, [label]),
        "location": {"table_name": "payload_records" if kind == PAYLOAD else "feedback_records"},
        "managed_by": "Evenhand",
    }
    return resource(identifier, f"/v2/data_sets/{identifier}", active(entity), created_at=deployment.created_at)
