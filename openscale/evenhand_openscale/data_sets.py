"""Routes of data sets: each subscription has one of payload and one of feedback, from its beginning."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from ..domain.deployments import Deployment
from ..errors import Conflict, InvalidInput, NotFound
from ..security.principals import Permission
from ..store.openscale.marts import DEFAULT_MART, find_mart
from ..store.openscale.subscriptions import StoredSubscription, put_subscription, subscriptions_of
from .assets import output_schema, schema_of, target_field
from .bodies import Answer, Operation, Sent, active, is_among, patched, read_as, resource, without_none
from .callers import Caller, CallerIn, joined_id, split_id

router = APIRouter(prefix="/openscale/v2", tags=["data sets"])

PAYLOAD, FEEDBACK = "payload_logging", "feedback"
KINDS = (PAYLOAD, FEEDBACK)

_CHANGEABLE = ("name", "description")

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
    pairs = [(one, kind) for one in deployments for kind in kinds]
    return {"data_sets": [_answer(one, stored.get(one.no), kind) for one, kind in pairs if not _own(stored.get(one.no), kind).is_deleted]}


class TargetIn(Sent):
    """The subscription that a data set or monitor instance is of."""

    target_type: str = Field(max_length=100)
    target_id: str = Field(max_length=200)


class OwnOfDataSet(Sent):
    """Facts of a data set that its subscription does not say. One that was deleted keeps its records."""

    name: str | None = Field(default=None, min_length=1, max_length=200)
    description: str | None = Field(default=None, max_length=2000)
    is_deleted: bool = False


class DataSetIn(Sent):
    """A data set."""

    target: TargetIn
    type: str = Field(max_length=100)
    data_schema: dict[str, Any] | None = None


@router.post("/data_sets", status_code=201)
def add_data_set(body: DataSetIn, caller: CallerIn) -> Answer:
    """Returns the subscription's data set of that type, which is there already or deleted; other types are not supported."""
    deployment = caller.find(body.target.target_id, Permission.MANAGE)
    if body.type not in KINDS:
        raise InvalidInput.of(
            "type", f"{body.type!r:.60} is not supported by Evenhand, which keeps data sets of the types {', '.join(KINDS)}"
        )
    return _restored(caller, deployment, body.type)


@router.get("/data_sets/{data_set_id}")
def read_data_set(data_set_id: str, caller: CallerIn) -> Answer:
    """Returns one data set."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    return _kept(caller, caller.find(subscription_id), kind, data_set_id)


@router.patch("/data_sets/{data_set_id}")
def change_data_set(data_set_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Changes the name or the description of a data set by a JSON patch; its columns are those of the subscription."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    deployment = caller.find(subscription_id, Permission.MANAGE)
    before = _kept(caller, deployment, kind, data_set_id)["entity"]
    changed = patched(before, body)
    for name in sorted(before.keys() | changed.keys()):
        if name not in _CHANGEABLE and changed.get(name) != before.get(name):
            advice = "patch /asset_properties of its subscription" if name == "data_schema" else f"only {' and '.join(_CHANGEABLE)} can be"
            raise InvalidInput.of(name, f"of a data set cannot be changed in Evenhand: {advice}")
    own = read_as(OwnOfDataSet, {name: changed.get(name) for name in _CHANGEABLE})
    _put(caller, deployment, kind, own)
    return _kept(caller, deployment, kind, data_set_id)


@router.delete("/data_sets/{data_set_id}", status_code=202)
def remove_data_set(data_set_id: str, caller: CallerIn, *, force: bool = False) -> Answer:
    """Deletes a data set, but not its records, as OpenScale does: added again, it has them again. With `force` it refuses."""
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    deployment = caller.find(subscription_id, Permission.MANAGE)
    _kept(caller, deployment, kind, data_set_id)
    if force:
        raise Conflict(
            "Deleting a data set with its records (force=True) is not supported by Evenhand: they are evidence of past checks."
            " Delete it without force, which keeps them; or set a retention period; or delete the subscription."
        )
    stored = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
    _put(caller, deployment, kind, _own(stored, kind).model_copy(update={"is_deleted": True}))
    return {}


@router.post("/subscriptions/{subscription_id}/tables/{dataset_type}")
def add_table(subscription_id: str, dataset_type: str, caller: CallerIn) -> Answer:
    """Returns the subscription's data set of that type, whose table is there already."""
    deployment = caller.find(subscription_id, Permission.MANAGE)
    if dataset_type not in KINDS:
        raise InvalidInput.of("dataset_type", f"{ascii(dataset_type)[1:-1]:.60} is not supported by Evenhand: send {' or '.join(KINDS)}")
    return _restored(caller, deployment, dataset_type)


def require_kept(stored: StoredSubscription | None, kind: str, data_set_id: str) -> None:
    """Returns if the subscription's data set of that kind was not deleted.

    Raises:
        NotFound: it was.
    """
    if _own(stored, kind).is_deleted:
        raise NotFound("data set", data_set_id)


def label_column_of(stored: StoredSubscription | None) -> str:
    """Returns the name of the label's column in feedback."""
    kept = {} if stored is None else stored.entity.get("asset_properties", {})
    return str(kept.get("label_column") or "label")


def _kept(caller: Caller, deployment: Deployment, kind: str, data_set_id: str) -> Answer:
    stored = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
    require_kept(stored, kind, data_set_id)
    return _answer(deployment, stored, kind)


def _restored(caller: Caller, deployment: Deployment, kind: str) -> Answer:
    own = _own(subscriptions_of(caller.session, [deployment.no]).get(deployment.no), kind)
    if own.is_deleted:
        _put(caller, deployment, kind, own.model_copy(update={"is_deleted": False}))
    return _kept(caller, deployment, kind, joined_id(kind, deployment.id))


def _own(stored: StoredSubscription | None, kind: str) -> OwnOfDataSet:
    known = {} if stored is None else stored.entity.get("data_sets", {})
    return OwnOfDataSet.model_validate(known.get(kind, {}))


def _put(caller: Caller, deployment: Deployment, kind: str, own: OwnOfDataSet) -> None:
    stored = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
    if stored is None:
        # Registered over REST v1, it is in the mart that every installation begins with.
        find_mart(caller.session, DEFAULT_MART)
        stored = StoredSubscription(
            deployment_no=deployment.no, data_mart_id=DEFAULT_MART, provider_id=None, entity={}, created_by=caller.principal.actor
        )
    known = {**stored.entity.get("data_sets", {}), kind: without_none(own.model_dump())}
    put_subscription(caller.session, replace(stored, entity={**stored.entity, "data_sets": known}))


def _answer(deployment: Deployment, stored: StoredSubscription | None, kind: str) -> Answer:
    identifier = joined_id(kind, deployment.id)
    label = target_field(label_column_of(stored), deployment)
    schema, own = deployment.schema, _own(stored, kind)
    entity = {
        "data_mart_id": DEFAULT_MART if stored is None else stored.data_mart_id,
        "name": own.name or f"{_NAMES[kind]} of {deployment.name}",
        **without_none({"description": own.description}),
        "type": kind,
        "target": {"target_type": "subscription", "target_id": deployment.id},
        "schema_update_mode": "none",
        "data_schema": output_schema(deployment) if kind == PAYLOAD else schema_of(schema.features, schema.meta, [label]),
        "location": {"table_name": "payload_records" if kind == PAYLOAD else "feedback_records"},
        "managed_by": "Evenhand",
    }
    return resource(identifier, f"/v2/data_sets/{identifier}", active(entity), created_at=deployment.created_at)
