"""Routes of data marts. A data mart is a name: whatever database it states, the data are in Evenhand's own."""

import uuid
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from ..api.deployments import delete_deployment
from ..errors import Conflict
from ..security.principals import Permission
from ..store.openscale.marts import (
    DEFAULT_MART,
    StoredMart,
    add_mart,
    change_mart,
    delete_mart,
    deployments_of_mart,
    find_mart,
    list_marts,
)
from .bodies import Answer, Operation, Sent, active, patched, read_as, resource, without_none
from .callers import CallerIn

router = APIRouter(prefix="/openscale/v2/data_marts", tags=["data marts"])


class DataMartIn(Sent):
    """A data mart. Credentials of a database are neither used nor stored."""

    name: str | None = Field(default=None, max_length=200)
    description: str | None = Field(default=None, max_length=2000)
    internal_database: bool | None = None
    database_configuration: dict[str, Any] | None = None
    service_instance_crn: str | None = Field(default=None, max_length=500)
    database_discovery: str | None = Field(default=None, max_length=100)

    def to_entity(self) -> Answer:
        """Returns what is stored."""
        kept = without_none(self.model_dump(include={"name", "description", "service_instance_crn", "database_discovery"}))
        return {"name": "Evenhand", **kept, "internal_database": True}


@router.get("")
def read_data_marts(caller: CallerIn) -> Answer:
    """Returns the data marts."""
    caller.require(Permission.READ)
    return {"data_marts": [_answer(mart) for mart in list_marts(caller.session)]}


@router.post("", status_code=201)
def add_data_mart(body: DataMartIn, caller: CallerIn, response: Response) -> Answer:
    """Adds a data mart."""
    caller.principal.require(Permission.MANAGE)
    marts = list_marts(caller.session)
    # The zero id where it was deleted: scripts that name no mart look for that one.
    mart_id = str(uuid.uuid4()) if any(mart.id == DEFAULT_MART for mart in marts) else DEFAULT_MART
    stored = add_mart(caller.session, mart_id, body.to_entity(), created_by=caller.principal.actor)
    response.headers["Location"] = f"/v2/data_marts/{mart_id}"
    return _answer(stored)


@router.get("/{data_mart_id}")
def read_data_mart(data_mart_id: str, caller: CallerIn) -> Answer:
    """Returns one data mart."""
    caller.require(Permission.READ)
    return _answer(find_mart(caller.session, _known(data_mart_id)))


@router.patch("/{data_mart_id}")
def change_data_mart(data_mart_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Changes a data mart by a JSON patch."""
    caller.principal.require(Permission.MANAGE)
    stored = find_mart(caller.session, _known(data_mart_id))
    changed = read_as(DataMartIn, patched(stored.entity, body))
    return _answer(change_mart(caller.session, stored.id, changed.to_entity()))


@router.delete("/{data_mart_id}", status_code=202)
def remove_data_mart(data_mart_id: str, caller: CallerIn, *, force: bool = False) -> Answer:
    """Deletes a data mart; with `force` also the subscriptions that were added to it, with all their records and measurements."""
    caller.principal.require(Permission.MANAGE)
    stored = find_mart(caller.session, _known(data_mart_id))
    numbers = deployments_of_mart(caller.session, stored.id)
    if numbers and not force:
        raise Conflict(f"{len(numbers)} subscriptions are in the data mart {stored.id}. Delete them first, or delete it with force=True.")
    deployments = caller.deployments
    for number in numbers:
        delete_deployment(deployments.by_no(number), deployments, caller.session, caller.principal)
    delete_mart(caller.session, stored.id)
    return {}


def _known(mart_id: str) -> str:
    """Returns the id in a form that the database takes, whatever was sent."""
    return ascii(mart_id)[1:-1][:100]


def _answer(mart: StoredMart) -> Answer:
    entity = active(mart.entity)
    return resource(mart.id, f"/v2/data_marts/{mart.id}", entity, created_at=mart.created_at, created_by=mart.created_by)
