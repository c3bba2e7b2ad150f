"""Routes of monitor instances: the fairness monitor of a deployment, and what is measured with it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import Field

from .bodies import Operation, Sent, active, is_among, patched, read_as, resource, without_none
from .data_sets import TargetId, TargetIn, TargetType
from .facts import Entity
from .fairness import (
    FairnessIn,
    StatedFairness,
    ThresholdIn,
    features_with_upper_limit,
    monitor_field_as_sent,
    monitor_json,
    parameters_of,
    schedule_of,
    thresholds_of,
)
from .marts import THE_MART, require_mart
from .monitor_definitions import FAIRNESS, MEASURED, PERFORMANCE, QUALITY, require_measured
from .providers import find_provider_or_none
from .quality import catalogue_keys, require_quality
from .refused import conflict, invalid, not_found
from .v1 import MANAGE, V1, Document, Json, Subscription, V1In, joined_id, split_id

router = APIRouter(prefix="/openscale/v2/monitor_instances", tags=["monitor instances"])

PRE_PRODUCTION = "pre_production"
"""The `operational_space_id` of providers whose models are only tried out."""

_OF_MONITOR = {*FairnessIn.model_fields}

_NOT_SET = {"version", "warnings", "measured_metrics"}


class InstanceIn(Sent):
    data_mart_id: str | None = None
    monitor_definition_id: str
    target: TargetIn
    parameters: Json = Field(default_factory=dict)
    thresholds: list[ThresholdIn] = Field(default_factory=list)
    schedule: Json | None = None
    managed_by: str | None = None

    def fairness(self) -> StatedFairness:
        return StatedFairness(read_as(FairnessIn, self.parameters, "parameters"), self.thresholds)

    def kept(self, before: Document, actor: str) -> Json:
        """Returns what only the instance knows: parameters that the monitor does not hold, limits, schedule and manager."""
        is_fairness = self.monitor_definition_id == FAIRNESS
        own = {
            "parameters": {name: value for name, value in self.parameters.items() if not is_fairness or name not in _OF_MONITOR},
            "managed_by": self.managed_by,
            "thresholds": [] if is_fairness else [threshold.model_dump(exclude_none=True) for threshold in self.thresholds],
            "upper_limits": features_with_upper_limit(self.fairness().parameters, self.thresholds) if is_fairness else None,
            "schedule": None if is_fairness else self.schedule,
            "created_at": before.get("created_at") or datetime.now(UTC).isoformat(),
            "created_by": before.get("created_by") or actor,
        }
        return without_none(own)


@dataclass(frozen=True, slots=True)
class Instance:
    """One monitor instance: its definition's id, its subscription, and the present fairness monitor."""

    kind: str
    subscription: Subscription
    monitor: Json | None

    @property
    def id(self) -> str:
        return joined_id(self.kind, self.subscription.id)

    @property
    def kept(self) -> Document:
        return self.subscription.instances.get(self.kind, {})

    @property
    def is_there(self) -> bool:
        """Whether it exists. One of fairness is the monitor."""
        return self.monitor is not None if self.kind == FAIRNESS else self.kind in self.subscription.instances

    def answer(self) -> Json:
        parameters, thresholds = self.kept.get("parameters", {}), self.kept.get("thresholds", [])
        schedule = self.kept.get("schedule")
        if self.kind == FAIRNESS and self.monitor is not None:
            parameters, schedule = parameters_of(self.monitor, parameters), schedule_of(self.monitor)
            thresholds = thresholds_of(self.monitor, self.kept.get("upper_limits", ()))
        entity = {
            "data_mart_id": THE_MART,
            "monitor_definition_id": self.kind,
            "target": {"target_type": "subscription", "target_id": self.subscription.id},
            "parameters": parameters,
            "thresholds": thresholds,
            "managed_by": self.kept.get("managed_by") or "user",
            **({} if schedule is None else {"schedule": schedule, "schedule_id": f"schedule.{self.subscription.id}"}),
        }
        created_at = self.kept.get("created_at") or self.subscription.deployment["created_at"]
        url, created_by = f"/v2/monitor_instances/{self.id}", self.kept.get("created_by") or "evenhand"
        return resource(self.id, url, active(entity), created_at=created_at, created_by=created_by)


@router.get("")
async def read_instances(
    v1: V1In,
    data_mart_id: str | None = None,
    monitor_definition_id: str | None = None,
    target_id: TargetId = None,
    target_type: TargetType = None,
) -> Json:
    """Returns the instances that all filters let through; one for each fairness monitor, those set over REST v1 included."""
    if not is_among(target_type, "subscription") or not is_among(data_mart_id, THE_MART):
        return {"monitor_instances": []}
    monitors = await v1.monitors()
    instances = [
        Instance(kind, subscription, monitors.get(subscription.id))
        for subscription in await v1.find_all()
        if is_among(target_id, subscription.id)
        for kind in MEASURED
        if is_among(monitor_definition_id, kind)
    ]
    return {"monitor_instances": [instance.answer() for instance in instances if instance.is_there]}


@router.post("", status_code=201)
async def add_instance(body: InstanceIn, v1: V1In, *, skip_scheduler: bool = False) -> Json:
    """Adds an instance. A fairness instance is the deployment's fairness monitor.

    Unless the provider is of pre-production, the first check of a fairness instance begins at once: published scripts wait for its run.
    """
    name, kind = require_measured(body.monitor_definition_id), body.monitor_definition_id
    if body.target.target_type != "subscription":
        raise invalid("target.target_type", "must be subscription: Evenhand monitors nothing else")
    await v1.require(MANAGE)
    subscription = await v1.find(body.target.target_id)
    if body.data_mart_id:
        require_mart(body.data_mart_id)
    before = Instance(kind, subscription, await v1.monitor(subscription.id))
    # The SDK adds one of performance with every subscription, and scripts add it again.
    if before.is_there and kind != PERFORMANCE:
        raise conflict(f"There is a monitor instance of {name} for {subscription.id} already. Change it, or delete it first.")
    if kind == FAIRNESS:
        await _put_monitor(v1, before, body.fairness(), is_scheduled=not skip_scheduler and _is_enabled(body.schedule))
    instance = await _keep(v1, subscription, kind, body)
    # Records in files are checked when files come.
    is_checked = kind == FAIRNESS and not skip_scheduler and subscription.deployment["payload"] is None
    if is_checked and not await _is_of_pre_production(v1, subscription):
        await v1.ask("POST", f"/v1/deployments/{subscription.id}/checks")
    return instance.answer()


@router.get("/{monitor_instance_id}")
async def read_instance(monitor_instance_id: str, v1: V1In) -> Json:
    return (await find_instance(v1, monitor_instance_id)).answer()


@router.patch("/{monitor_instance_id}")
async def change_instance(monitor_instance_id: str, body: list[Operation], v1: V1In) -> Json:
    await v1.require(MANAGE)
    instance = await find_instance(v1, monitor_instance_id)
    before = instance.answer()["entity"]
    changed = read_as(InstanceIn, patched(before, body))
    if (changed.monitor_definition_id, changed.target.target_id) != (instance.kind, instance.subscription.id):
        raise invalid("target", "cannot be changed, nor can monitor_definition_id; add another instance")
    if instance.kind == FAIRNESS:
        # An instance without a schedule in its answer has none; a patch of something else must not start one.
        was_scheduled = before.get("schedule") is not None
        is_sent = any(operation.path.strip("/").startswith("schedule") for operation in body)
        stated = changed.fairness().since(read_as(InstanceIn, before).fairness())
        is_scheduled = _is_enabled(changed.schedule) and changed.schedule is not None if is_sent else was_scheduled
        await _put_monitor(v1, instance, stated, is_scheduled=is_scheduled)
    return (await _keep(v1, instance.subscription, instance.kind, changed)).answer()


@router.delete("/{monitor_instance_id}", status_code=202)
async def remove_instance(monitor_instance_id: str, v1: V1In) -> Json:
    """Deletes an instance, and the fairness monitor if it is one. Measurements of checks stay."""
    await v1.require(MANAGE)
    instance = await find_instance(v1, monitor_instance_id)
    if instance.kind == FAIRNESS:
        await v1.ask("DELETE", f"/v1/deployments/{instance.subscription.id}/fairness-monitor")

    def change(entity: Entity) -> Entity:
        others = {kind: kept for kind, kept in entity.get("instances", {}).items() if kind != instance.kind}
        return {**entity, "instances": others}

    await v1.change(instance.subscription, change)
    return {}


async def find_instance(v1: V1, instance_id: str) -> Instance:
    """Returns the instance of that id, unless it is one of a custom monitor."""
    kind, subscription_id = split_id(instance_id, MEASURED, "monitor instance")
    subscription = await v1.find(subscription_id)
    instance = Instance(kind, subscription, await v1.monitor(subscription_id))
    if not instance.is_there:
        raise not_found("monitor instance", instance_id)
    return instance


async def _put_monitor(v1: V1, instance: Instance, stated: StatedFairness, *, is_scheduled: bool) -> None:
    """Sets the fairness monitor. What an instance does not know of it stays: groups by rules, intersections, metrics, evidence, names."""
    written = monitor_json(stated.parameters, stated.thresholds, is_scheduled=is_scheduled)
    before = instance.monitor
    if before is not None:
        by_rule = [attribute for attribute in before["attributes"] if attribute["rule"] is not None]
        kept = {name: value for name, value in before.items() if name not in _NOT_SET}
        written = {**kept, **written, "attributes": [*written["attributes"], *by_rule]}
        # A side that nobody is to watch has no limit to read: a patch of something else must not start watching it.
        one_sided = {attribute["feature"] for attribute in before["attributes"] if attribute["upper_threshold"] is None}
        for attribute in written["attributes"]:
            if attribute["feature"] in one_sided:
                attribute.setdefault("upper_threshold", None)
    path = f"/v1/deployments/{instance.subscription.id}/fairness-monitor"
    await v1.ask("PUT", path, body=written, as_sent=monitor_field_as_sent)


async def _keep(v1: V1, subscription: Subscription, kind: str, body: InstanceIn) -> Instance:
    """Stores what only the instance knows, and lets the checks measure the metrics of quality, if there is an instance of it."""
    actor = await v1.require(MANAGE)
    if kind == QUALITY:
        require_quality(subscription.deployment["problem_type"], [threshold.metric_id for threshold in body.thresholds])

    def change(entity: Entity) -> Entity:
        instances = entity.get("instances", {})
        return {**entity, "instances": {**instances, kind: body.kept(instances.get(kind, {}), actor)}}

    changed = await v1.change(subscription, change)
    monitor = await v1.monitor(subscription.id)
    if monitor is not None and QUALITY in changed.instances:
        missing = catalogue_keys(subscription.deployment["problem_type"]) - set(monitor["measured_metrics"])
        if missing:
            written = {name: value for name, value in monitor.items() if name not in _NOT_SET}
            written["metrics"] = sorted({*monitor["measured_metrics"], *missing})
            monitor = await v1.ask("PUT", f"/v1/deployments/{subscription.id}/fairness-monitor", body=written)
    return Instance(kind, changed, monitor)


async def _is_of_pre_production(v1: V1, subscription: Subscription) -> bool:
    provider_id = subscription.entity.get("provider_id")
    provider = await find_provider_or_none(v1, provider_id) if provider_id else None
    return provider is not None and provider.entity.get("operational_space_id") == PRE_PRODUCTION


def _is_enabled(schedule: Json | None) -> bool:
    return schedule is None or schedule.get("status") != "disabled"
