"""REST v1 as the caller of a request may use it, and the facts of subscriptions."""

import json
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request

from .facts import SUBSCRIPTION, Entity, Fact, change_subscription, list_facts
from .refused import Refused, conflict, forbidden, not_found, translated

if TYPE_CHECKING:
    from app.face import CallAnswer, Entry

PAGE = 1000
"""Items that are asked for at once; no list of the SDK holds more, because it knows no pages."""

MANAGE = "manage"

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_JOINED = re.compile(r"([a-z0-9_]{1,40})\.(.+)", re.DOTALL)

Json = dict[str, Any]

Document = Mapping[str, Any]
"""A JSON object that is only read."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A deployment of REST v1, and what its subscription adds; one that no SDK made has no facts."""

    deployment: Json
    fact: Fact | None

    @property
    def id(self) -> str:
        return str(self.deployment["id"])

    @property
    def entity(self) -> Document:
        return {} if self.fact is None else self.fact.entity

    @property
    def instances(self) -> Mapping[str, Json]:
        instances: Mapping[str, Json] = self.entity.get("instances", {})
        return instances

    @property
    def label_column(self) -> str:
        return str(self.entity.get("asset_properties", {}).get("label_column") or "label")


class V1:
    def __init__(self, request: Request) -> None:
        self.request = request
        self.entry: Entry = request.app.state.entry
        self._me: Json | None = None

    async def ask(
        self, method: str, path: str, *, query: Document | None = None, body: object = None, as_sent: Callable[[str], str] = str
    ) -> Any:  # noqa: ANN401 - JSON
        """Returns what REST v1 answers, or raises its refusal. `as_sent` translates the name of a field into that in the SDK's body."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"content-type": "application/json"}
        return answered(await self.entry.call(self.request, method, path, query=query, content=content, headers=headers), as_sent)

    async def pages(self, path: str, member: str, query: Document, *, limit: int = PAGE) -> AsyncIterator[list[Json]]:
        asked = {**query, "limit": limit}
        while True:
            page = await self.ask("GET", path, query=asked)
            yield page[member]
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]

    async def require(self, permission: str, *, of_all: bool = False) -> str:
        """Returns the caller's name; raises Refused without the permission, which is `of_all` for all deployments, not only for one."""
        me = self._me = self._me or await self.ask("GET", "/v1/me")
        if permission not in me["permissions"] or (of_all and me["deployment_id"] is not None):
            raise forbidden(permission)
        return str(me["actor"])

    async def find(self, subscription_id: str) -> Subscription:
        deployment = await self.ask_or_none(f"/v1/deployments/{subscription_id}") if _ID.fullmatch(subscription_id) else None
        if deployment is None:
            raise not_found("subscription", subscription_id)
        return Subscription(deployment, (await self.facts([subscription_id])).get(subscription_id))

    async def find_all(self) -> list[Subscription]:
        """Returns the subscriptions that the caller may read, oldest first, at most `PAGE`."""
        deployments = (await self.ask("GET", "/v1/deployments", query={"limit": PAGE}))["deployments"]
        facts = await self.facts([deployment["id"] for deployment in deployments])
        return [Subscription(deployment, facts.get(deployment["id"])) for deployment in deployments]

    async def facts(self, ids: list[str]) -> dict[str, Fact]:
        return await self.entry.transact(lambda session: list_facts(session, SUBSCRIPTION, ids))

    async def change(self, subscription: Subscription, change: Callable[[Entity], Entity]) -> Subscription:
        actor = await self.require(MANAGE)
        fact = await self.entry.transact(lambda session: change_subscription(session, subscription.id, change, actor=actor))
        return Subscription(subscription.deployment, fact)

    async def monitor(self, subscription_id: str) -> Json | None:
        monitor: Json | None = await self.ask_or_none(f"/v1/deployments/{subscription_id}/fairness-monitor")
        return monitor

    async def monitors(self) -> dict[str, Json]:
        page = await self.ask("GET", "/v1/fairness-monitors", query={"limit": PAGE})
        return {listed["deployment_id"]: listed["monitor"] for listed in page["fairness_monitors"]}

    async def ask_or_none(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """Returns what REST v1 answers to GET; None where there is nothing."""
        try:
            return await self.ask("GET", path)
        except Refused as error:
            if error.document["status"] != 404:  # noqa: PLR2004
                raise
            return None


V1In = Annotated[V1, Depends(V1)]


def answered(answer: "CallAnswer", as_sent: Callable[[str], str] = str) -> Any:  # noqa: ANN401 - JSON
    if answer.status >= 400:  # noqa: PLR2004
        raise translated(answer.json(), as_sent)
    return answer.json()


def quoted(identifier: str) -> str:
    return quote(identifier, safe="")


def joined_id(kind: str, subscription_id: str) -> str:
    return f"{kind}.{subscription_id}"


def split_id(identifier: str, kinds: Collection[str], noun: str) -> tuple[str, str]:
    """Returns the kind and the subscription's id that `joined_id` put together. Raises Refused for any other."""
    parts = _JOINED.fullmatch(identifier)
    if parts is None:
        raise not_found(noun, identifier)
    if parts[1] not in kinds:
        raise conflict(f"A {noun} of {parts[1]} is not supported by Evenhand, which has those of {', '.join(kinds)}.")
    return parts[1], parts[2]
