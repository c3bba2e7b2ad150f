"""Routes of data sets: each subscription has one of payload and one of feedback, from its beginning."""

from typing import Annotated

from fastapi import APIRouter, Query

from .assets import output_schema, schema_of, target_field
from .bodies import Operation, Sent, active, is_among, patched, read_as, resource, without_none
from .facts import Entity
from .marts import THE_MART
from .refused import conflict, invalid, not_found
from .v1 import MANAGE, V1, Json, Subscription, V1In, joined_id, split_id

router = APIRouter(prefix="/openscale/v2", tags=["data sets"])

PAYLOAD, FEEDBACK = "payload_logging", "feedback"
KINDS = (PAYLOAD, FEEDBACK)

TargetId = Annotated[str | None, Query(alias="target.target_id")]
TargetType = Annotated[str | None, Query(alias="target.target_type")]

_CHANGEABLE = ("name", "description")

_NAMES = {PAYLOAD: "Payload", FEEDBACK: "Feedback"}


@router.get("/data_sets")
async def read_data_sets(
    v1: V1In,
    target_id: TargetId = None,
    target_type: TargetType = None,
    type: str | None = None,  # noqa: A002 - the name in the address
    managed_by: str | None = None,
) -> Json:
    if not is_among(target_type, "subscription") or managed_by:
        return {"data_sets": []}
    subscriptions = [subscription for subscription in await v1.find_all() if is_among(target_id, subscription.id)]
    pairs = [(subscription, kind) for subscription in subscriptions for kind in KINDS if is_among(type, kind)]
    return {"data_sets": [_answer(subscription, kind) for subscription, kind in pairs if not _own(subscription, kind).is_deleted]}


class TargetIn(Sent):
    target_type: str
    target_id: str


class OwnOfDataSet(Sent):
    """Facts of a data set that its subscription does not say. One that was deleted keeps its records."""

    name: str | None = None
    description: str | None = None
    is_deleted: bool = False


class DataSetIn(Sent):
    target: TargetIn
    type: str


@router.post("/data_sets", status_code=201)
async def add_data_set(body: DataSetIn, v1: V1In) -> Json:
    """Returns the subscription's data set of that type, which is there already or deleted; other types are not supported."""
    return await _restored(v1, body.target.target_id, body.type, "type")


@router.get("/data_sets/{data_set_id}")
async def read_data_set(data_set_id: str, v1: V1In) -> Json:
    return _answer(*await find_data_set(v1, data_set_id))


@router.patch("/data_sets/{data_set_id}")
async def change_data_set(data_set_id: str, body: list[Operation], v1: V1In) -> Json:
    """Changes the name or the description of a data set by a JSON patch; its columns are those of the subscription."""
    await v1.require(MANAGE)
    subscription, kind = await find_data_set(v1, data_set_id)
    before = _answer(subscription, kind)["entity"]
    changed = patched(before, body)
    for name in sorted(before.keys() | changed.keys()):
        if name not in _CHANGEABLE and changed.get(name) != before.get(name):
            advice = "patch /asset_properties of its subscription" if name == "data_schema" else f"only {' and '.join(_CHANGEABLE)} can be"
            raise invalid(name, f"of a data set cannot be changed in Evenhand: {advice}")
    own = read_as(OwnOfDataSet, {name: changed.get(name) for name in _CHANGEABLE})
    return _answer(await _put(v1, subscription, kind, own), kind)


@router.delete("/data_sets/{data_set_id}", status_code=202)
async def remove_data_set(data_set_id: str, v1: V1In, *, force: bool = False) -> Json:
    """Deletes a data set, but not its records, as OpenScale does: added again, it has them again. With `force` it refuses."""
    await v1.require(MANAGE)
    subscription, kind = await find_data_set(v1, data_set_id)
    if force:
        raise conflict(
            "Deleting a data set with its records (force=True) is not supported by Evenhand: they are evidence of past checks."
            " Delete it without force, which keeps them; or set a retention period; or delete the subscription."
        )
    await _put(v1, subscription, kind, _own(subscription, kind).model_copy(update={"is_deleted": True}))
    return {}


@router.post("/subscriptions/{subscription_id}/tables/{dataset_type}")
async def add_table(subscription_id: str, dataset_type: str, v1: V1In) -> Json:
    """Returns the subscription's data set of that type, whose table is there already."""
    return await _restored(v1, subscription_id, dataset_type, "dataset_type")


async def find_data_set(v1: V1, data_set_id: str) -> tuple[Subscription, str]:
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    subscription = await v1.find(subscription_id)
    if _own(subscription, kind).is_deleted:
        raise not_found("data set", data_set_id)
    return subscription, kind


async def _restored(v1: V1, subscription_id: str, kind: str, field: str) -> Json:
    await v1.require(MANAGE)
    subscription = await v1.find(subscription_id)
    if kind not in KINDS:
        raise invalid(field, f"{kind!r:.60} is not supported by Evenhand, which keeps data sets of the types {', '.join(KINDS)}")
    own = _own(subscription, kind)
    if own.is_deleted:
        subscription = await _put(v1, subscription, kind, own.model_copy(update={"is_deleted": False}))
    return _answer(subscription, kind)


def _own(subscription: Subscription, kind: str) -> OwnOfDataSet:
    return OwnOfDataSet.model_validate(subscription.entity.get("data_sets", {}).get(kind, {}))


async def _put(v1: V1, subscription: Subscription, kind: str, own: OwnOfDataSet) -> Subscription:
    def change(entity: Entity) -> Entity:
        return {**entity, "data_sets": {**entity.get("data_sets", {}), kind: without_none(own.model_dump())}}

    return await v1.change(subscription, change)


def _answer(subscription: Subscription, kind: str) -> Json:
    identifier, deployment, own = joined_id(kind, subscription.id), subscription.deployment, _own(subscription, kind)
    label = target_field(subscription.label_column, deployment)
    entity = {
        "data_mart_id": THE_MART,
        "name": own.name or f"{_NAMES[kind]} of {deployment['name']}",
        **without_none({"description": own.description}),
        "type": kind,
        "target": {"target_type": "subscription", "target_id": subscription.id},
        "schema_update_mode": "none",
        "data_schema": output_schema(deployment) if kind == PAYLOAD else schema_of(deployment, [label]),
        "location": {"table_name": "payload_records" if kind == PAYLOAD else "feedback_records"},
        "managed_by": "Evenhand",
    }
    return resource(identifier, f"/v2/data_sets/{identifier}", active(entity), created_at=deployment["created_at"])
