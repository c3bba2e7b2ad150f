"""Routes of monitor instances: the fairness monitor of a deployment, and what is measured with it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from ..api.checks import post_check
from ..api.monitors import delete_fairness_monitor, put_fairness_monitor
from ..api.schemas.monitors import MonitorIn, MonitorOut
from ..checks.picking import picked_on
from ..domain.checks import DataSet
from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..errors import Conflict, InvalidInput, NotFound
from ..security.principals import Permission
from ..store.deployments.monitors import monitor_of
from ..store.openscale.marts import DEFAULT_MART, find_mart, find_provider
from ..store.openscale.subscriptions import (
    StoredInstance,
    delete_instance,
    instances_of,
    put_instance,
    subscriptions_of,
)
from .bodies import Answer, Operation, Sent, active, fields_named, is_among, patched, read_as, resource, without_none
from .callers import Caller, CallerIn, joined_id, split_id
from .custom_figures import require_postable
from .data_sets import TargetIn
from .fairness import (
    FairnessIn,
    ScheduleIn,
    StatedFairness,
    ThresholdIn,
    features_with_upper_limit,
    monitor_field_as_sent,
    monitor_json,
    parameters_of,
    schedule_of,
    thresholds_of,
)
from .monitor_definitions import FAIRNESS, MEASURED, PERFORMANCE, QUALITY, find_custom, require_instantiable
from .quality import catalogue_keys

router = APIRouter(prefix="/openscale/v2/monitor_instances", tags=["monitor instances"])

PRE_PRODUCTION = "pre_production"
"""The `operational_space_id` of providers whose models are only tried out."""

_OF_MONITOR = {*FairnessIn.model_fields}
"""Parameters that the fairness monitor itself holds."""


class InstanceIn(Sent):
    """A monitor instance."""

    data_mart_id: str | None = Field(default=None, max_length=100)
    monitor_definition_id: str = Field(max_length=100)
    target: TargetIn
    parameters: dict[str, Any] = Field(default_factory=dict)
    thresholds: list[ThresholdIn] = Field(default_factory=list)
    schedule: ScheduleIn | None = None
    managed_by: str | None = Field(default=None, max_length=200)

    def fairness(self) -> StatedFairness:
        """Returns what an instance of fairness states.

        Raises:
            InvalidInput: the parameters are not those of fairness.
        """
        return StatedFairness(read_as(FairnessIn, self.parameters, "parameters"), self.thresholds)


@router.get("")
def read_instances(
    caller: CallerIn,
    data_mart_id: str | None = None,
    monitor_definition_id: str | None = None,
    target_id: Annotated[str | None, Query(alias="target.target_id")] = None,
    target_type: Annotated[str | None, Query(alias="target.target_type")] = None,
) -> Answer:
    """Returns the instances that all filters let through; one for each fairness monitor, those set over REST v1 included."""
    if not is_among(target_type, "subscription"):
        return {"monitor_instances": []}
    deployments = [one for one in caller.seen() if is_among(target_id, one.id)]
    stored = {(one.deployment_no, one.definition_id): one for one in instances_of(caller.session, [one.no for one in deployments])}
    found = []
    for deployment in deployments:
        monitor = monitor_of(caller.session, deployment.no)
        kinds = [kind for kind in MEASURED if (deployment.no, kind) in stored or (kind == FAIRNESS and monitor is not None)]
        kinds += [kind for no, kind in stored if no == deployment.no and kind not in MEASURED]
        found += [
            _answer(caller, deployment, kind, monitor, stored.get((deployment.no, kind)))
            for kind in kinds
            # An instance of fairness whose monitor was deleted over REST v1 does not exist.
            if kind != FAIRNESS or monitor is not None
        ]
    wanted = [one for one in found if is_among(data_mart_id, one["entity"]["data_mart_id"])]
    return {"monitor_instances": [one for one in wanted if is_among(monitor_definition_id, one["entity"]["monitor_definition_id"])]}


@router.post("", status_code=201)
def add_instance(body: InstanceIn, caller: CallerIn, *, skip_scheduler: bool = False) -> Answer:
    """Adds an instance. A fairness instance is the deployment's fairness monitor; to one of a custom monitor scripts post figures.

    Unless the provider is of pre-production, the first check of a fairness instance begins at once: published scripts wait for its run.
    """
    name, kind = require_instantiable(caller, body.monitor_definition_id), body.monitor_definition_id
    if body.target.target_type != "subscription":
        raise InvalidInput.of("target.target_type", "must be subscription: Evenhand monitors nothing else")
    deployment = caller.find(body.target.target_id, Permission.MANAGE)
    if body.data_mart_id:
        find_mart(caller.session, ascii(body.data_mart_id)[1:-1])
    # The SDK adds one of performance with every subscription, and scripts add it again.
    if any(one.definition_id == kind for one in instances_of(caller.session, [deployment.no])) and kind != PERFORMANCE:
        raise Conflict(f"There is a monitor instance of {name} for {deployment.id} already. Change it, or delete it first.")
    if kind == FAIRNESS:
        if monitor_of(caller.session, deployment.no) is not None:
            raise Conflict(f"{deployment.id} has a fairness monitor already. Change its instance, or delete it first.")
        _put_monitor(caller, deployment, body.fairness(), is_scheduled=not skip_scheduler and _is_enabled(body.schedule))
    _keep(caller, deployment, kind, body)
    _measure_quality(caller, deployment)
    # Records in files are checked when files come.
    if kind == FAIRNESS and not skip_scheduler and deployment.payload is None and not _is_of_pre_production(caller, deployment):
        post_check(deployment, caller.session, caller.principal, Response())
    return _find_answer(caller, deployment, kind)


@router.get("/{monitor_instance_id}")
def read_instance(monitor_instance_id: str, caller: CallerIn) -> Answer:
    """Returns one instance."""
    kind, deployment = find_instance(caller, monitor_instance_id)
    return _find_answer(caller, deployment, kind)


@router.patch("/{monitor_instance_id}")
def change_instance(monitor_instance_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Changes an instance by a JSON patch."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    before = _find_answer(caller, deployment, kind)["entity"]
    changed = read_as(InstanceIn, patched(before, body))
    if (changed.monitor_definition_id, changed.target.target_id) != (kind, deployment.id):
        raise InvalidInput.of("target", "cannot be changed, nor can monitor_definition_id; add another instance")
    if kind == FAIRNESS:
        # An instance without a schedule in its answer has none; a patch of something else must not start one.
        was_scheduled = before.get("schedule") is not None
        is_sent = any(one.path.strip("/").startswith("schedule") for one in body)
        _put_monitor(
            caller,
            deployment,
            changed.fairness().since(read_as(InstanceIn, before).fairness()),
            is_scheduled=_is_enabled(changed.schedule) and changed.schedule is not None if is_sent else was_scheduled,
        )
    _keep(caller, deployment, kind, changed)
    _measure_quality(caller, deployment)
    return _find_answer(caller, deployment, kind)


@router.delete("/{monitor_instance_id}", status_code=202)
def remove_instance(monitor_instance_id: str, caller: CallerIn) -> Answer:
    """Deletes an instance, and the fairness monitor if it is one. Measurements of checks stay, imported ones go."""
    kind, deployment = find_instance(caller, monitor_instance_id, Permission.MANAGE)
    if kind == FAIRNESS:
        delete_fairness_monitor(deployment, caller.session, caller.principal)
    delete_instance(caller.session, deployment.no, kind)
    return {}


def find_instance(caller: Caller, instance_id: str, permission: Permission = Permission.READ) -> tuple[str, Deployment]:
    """Returns the definition's id and the deployment of an instance.

    Raises:
        NotFound: there is none of that id, as far as the caller may know.
        Forbidden: the caller's role lacks the permission.
    """
    kind, subscription_id = split_id(instance_id, None, "monitor instance")
    try:
        deployment = caller.find(subscription_id, permission)
    except NotFound as error:
        raise NotFound("monitor instance", instance_id) from error
    if kind == FAIRNESS:
        is_there = monitor_of(caller.session, deployment.no) is not None
    else:
        is_there = any(one.definition_id == kind for one in instances_of(caller.session, [deployment.no]))
    if not is_there:
        raise NotFound("monitor instance", instance_id)
    return kind, deployment


def _put_monitor(caller: Caller, deployment: Deployment, stated: StatedFairness, *, is_scheduled: bool) -> None:
    """Sets the fairness monitor. What an instance does not know of it stays: groups by rules, intersections, metrics, evidence, names."""
    written = monitor_json(stated.parameters, stated.thresholds, is_scheduled=is_scheduled)
    before = monitor_of(caller.session, deployment.no)
    if before is not None:
        from_before = MonitorIn.model_fields.keys() - written.keys()
        stored = MonitorOut.of(before).model_dump(mode="json")
        by_rule = [attribute for attribute in stored["attributes"] if attribute["rule"] is not None]
        kept = {name: value for name, value in stored.items() if name in from_before}
        written = {**kept, **written, "attributes": [*written["attributes"], *by_rule]}
        # A side that nobody is to watch has no limit to read: a patch of something else must not start watching it.
        one_sided = {one.feature for one in before.attributes if one.upper_threshold is None}
        for attribute in written["attributes"]:
            if attribute["feature"] in one_sided:
                attribute.setdefault("upper_threshold", None)
    with fields_named(monitor_field_as_sent):
        put_fairness_monitor(read_as(MonitorIn, written), deployment, caller.session, caller.principal, validate_only=False)


def _measure_quality(caller: Caller, deployment: Deployment) -> None:
    """Lets the checks measure the metrics of quality, too, if there is an instance of it and a monitor to measure them."""
    monitor = monitor_of(caller.session, deployment.no)
    has_quality = any(one.definition_id == QUALITY for one in instances_of(caller.session, [deployment.no]))
    if monitor is None or not has_quality:
        return
    measured = {metric.key for data in DataSet for metric in picked_on(monitor, data)}
    missing = catalogue_keys(deployment.problem_type) - measured
    if missing:
        members = MonitorIn.model_fields.keys()
        written = MonitorOut.of(monitor).model_dump(mode="json", include=set(members)) | {"metrics": sorted(measured | missing)}
        put_fairness_monitor(read_as(MonitorIn, written), deployment, caller.session, caller.principal, validate_only=False)


def _keep(caller: Caller, deployment: Deployment, kind: str, body: InstanceIn) -> None:
    """Stores what only the instance knows: parameters that the monitor does not hold, limits, schedule and manager."""
    if kind not in MEASURED:
        require_postable(find_custom(caller, kind).entity, body.parameters, body.thresholds, body.schedule)
    parameters = {name: value for name, value in body.parameters.items() if kind != FAIRNESS or name not in _OF_MONITOR}
    entity = {
        "parameters": parameters,
        "managed_by": body.managed_by,
        "data_mart_id": body.data_mart_id,
        "thresholds": [] if kind == FAIRNESS else [one.model_dump(exclude_none=True) for one in body.thresholds],
        "upper_limits": features_with_upper_limit(body.fairness().parameters, body.thresholds) if kind == FAIRNESS else None,
        "schedule": None if kind == FAIRNESS or body.schedule is None else body.schedule.model_dump(exclude_none=True),
    }
    put_instance(caller.session, deployment.no, kind, without_none(entity), created_by=caller.principal.actor)


def _find_answer(caller: Caller, deployment: Deployment, kind: str) -> Answer:
    stored = next((one for one in instances_of(caller.session, [deployment.no]) if one.definition_id == kind), None)
    return _answer(caller, deployment, kind, monitor_of(caller.session, deployment.no), stored)


def _answer(caller: Caller, deployment: Deployment, kind: str, monitor: Monitor | None, stored: StoredInstance | None) -> Answer:
    kept: Mapping[str, Any] = {} if stored is None else stored.entity
    subscription = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
    mart = kept.get("data_mart_id") or (DEFAULT_MART if subscription is None else subscription.data_mart_id)
    parameters: Mapping[str, Any] = kept.get("parameters", {})
    thresholds: Sequence[Any] = kept.get("thresholds", [])
    schedule = kept.get("schedule")
    if kind == FAIRNESS and monitor is not None:
        parameters, thresholds, schedule = (
            parameters_of(monitor, parameters),
            thresholds_of(monitor, kept.get("upper_limits", ())),
            schedule_of(monitor),
        )
    entity = {
        "data_mart_id": mart,
        "monitor_definition_id": kind,
        "target": {"target_type": "subscription", "target_id": deployment.id},
        "parameters": parameters,
        "thresholds": thresholds,
        "managed_by": kept.get("managed_by") or "user",
        **({} if schedule is None else {"schedule": schedule, "schedule_id": f"schedule.{deployment.id}"}),
    }
    identifier = joined_id(kind, deployment.id)
    created_at: datetime = deployment.created_at if stored is None else stored.created_at
    created_by = "evenhand" if stored is None else stored.created_by
    return resource(identifier, f"/v2/monitor_instances/{identifier}", active(entity), created_at=created_at, created_by=created_by)


def _is_of_pre_production(caller: Caller, deployment: Deployment) -> bool:
    stored = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
    if stored is None or stored.provider_id is None:
        return False
    provider = find_provider(caller.session, caller.services.secret_box, stored.provider_id)
    return provider.entity.get("operational_space_id") == PRE_PRODUCTION


def _is_enabled(schedule: ScheduleIn | None) -> bool:
    return schedule is None or (schedule.status or "enabled") != "disabled"
