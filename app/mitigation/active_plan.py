"""Everything that answering for one deployment needs, read together and kept for a moment: it is used for every request."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.checks.classifying import OutcomeClassifier
from app.clock import monotonic_seconds, utc_now
from app.domain.deployments import Column, Deployment, ProblemType
from app.domain.groups import NEITHER, Group, positions
from app.domain.mitigation import AttributeProfile, DetectorUse, MitigationSettings, Mode, Profile
from app.domain.mitigation_rules import mitigated_attributes, notes_of
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.values import Scalar, label_of
from app.errors import Conflict, InvalidInput
from app.ingest import Ingestion
from app.ingest.plan import Plan
from app.mitigation.choosing import Chooser
from app.mitigation.copies import CopySets
from app.mitigation.debiasing import Decider
from app.mitigation.deciding import Judge
from app.mitigation.detector_choosing import DetectorChooser
from app.mitigation.detector_loading import LoadedDetectors
from app.mitigation.profiles import current_profile
from app.scoring.live import ModelKey
from app.store.bias_detectors import usable_versions
from app.store.deployments import Deployments, Sealer
from app.store.engine import Database
from app.store.mitigation import settings_of
from app.store.monitors import monitor_of

KEPT_SECONDS = 1.0
"""How long a change of monitor, settings or endpoint may go unnoticed."""

_MOST_PLANS = 1000


@dataclass(frozen=True, slots=True)
class MitigatedAttribute:
    """One attribute whose monitored records are mitigated. Without listed reference values every other value is one."""

    column: Column
    groups: tuple[Group, ...]
    others_are_reference: bool
    learnt: AttributeProfile

    def groups_of(self, values: Sequence[Scalar | None]) -> list[tuple[str, str] | None]:
        """The role and label of each value's group; None for a value in neither."""
        found: list[tuple[str, str] | None] = [None] * len(values)
        places = [place for place, value in enumerate(values) if value is not None]
        present = [value for value in values if value is not None]
        for place, group in zip(places, positions(self.groups, self.column, present), strict=True):
            if group != NEITHER:
                found[place] = (self.groups[group].role, self.groups[group].label)
            elif self.others_are_reference:
                found[place] = ("reference", "")
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ActivePlan:
    """One state of a deployment, its monitor, its settings and what was learnt for them.

    `chooser` is None where every record that may need it gets a second call; otherwise `detector_version` is the training it is of.
    """

    records: Plan
    deployment: Deployment
    monitor: Monitor
    settings: MitigationSettings
    profile: Profile
    attributes: tuple[MitigatedAttribute, ...]
    copy_sets: CopySets
    decider: Decider
    model: ModelKey
    chooser: Chooser | None
    detector_version: int | None

    def notes(self) -> list[str]:
        """What has to be said beside its answers."""
        found = [*notes_of(self.settings.mode)]
        if self.profile.is_provisional:
            found.append(
                f"The profile is provisional: it was learnt from {self.profile.records:,} payload records, and the monitor asks for"
                f" {self.monitor.min_records:,}."
            )
        for attribute in self.attributes:
            name, learnt = attribute.column.name, attribute.learnt
            if self.settings.mode is Mode.PARITY:
                found += [f"{name} {group} has no threshold and keeps its outcomes: {reason}." for group, reason in learnt.untouched]
            elif not learnt.stand_ins:
                found.append(f"{name} is not mitigated: {learnt.reason}.")
        if self.settings.mode is Mode.PARITY and self.profile.favourable is None:
            found.append("Nothing is lifted: the model has not given a favourable answer yet.")
        return found


class ActivePlans:
    """The plans of one process. Belongs to one event loop."""

    def __init__(self, ingestion: Ingestion, read: Callable[[Plan], ActivePlan]) -> None:
        self._ingestion = ingestion
        self._read = read
        self._kept: dict[str, tuple[ActivePlan, float]] = {}
        self._under_way: dict[str, asyncio.Task[ActivePlan]] = {}

    async def current(self, deployment_id: str) -> ActivePlan:
        """The deployment's plan, at most `KEPT_SECONDS` old; those who wait for one share one look-up.

        Raises:
            NotFound: there is no such deployment.
            Conflict: it has no endpoint or no monitor, or nothing of it is mitigated.
            Unavailable: the database does not answer.
        """
        found = self._kept.get(deployment_id)
        if found is not None and monotonic_seconds() < found[1]:
            return found[0]
        task = self._under_way.get(deployment_id)
        if task is None:
            task = self._under_way[deployment_id] = asyncio.create_task(self._looked_up(deployment_id))
            task.add_done_callback(lambda ended: self._has_ended(deployment_id, ended))
        return await asyncio.shield(task)

    def forget(self, deployment_id: str) -> None:
        """Makes the next request read anew."""
        self._kept.pop(deployment_id, None)
        self._under_way.pop(deployment_id, None)

    async def is_outdated(self, plan: ActivePlan) -> bool:
        """Whether the deployment has changed since: refusals must not rest on an old schema.

        Raises:
            NotFound: it was deleted.
            Unavailable: the database does not answer.
        """
        return await self._ingestion.current_plan(plan.deployment.id) is not plan.records

    async def _looked_up(self, deployment_id: str) -> ActivePlan:
        asked_at = monotonic_seconds()
        # The row's version first: whatever changes while the rest is read makes the write behind it fail, and everything start anew.
        records = await self._ingestion.current_plan(deployment_id)
        plan = await asyncio.to_thread(self._read, records)
        if len(self._kept) >= _MOST_PLANS:
            self._kept.clear()
        self._kept[deployment_id] = (plan, asked_at + KEPT_SECONDS)
        return plan

    def _has_ended(self, deployment_id: str, task: "asyncio.Task[ActivePlan]") -> None:
        if not task.cancelled():
            task.exception()  # seen, also where everyone who waited has gone
        if self._under_way.get(deployment_id) is task:
            del self._under_way[deployment_id]


class PlanReader:
    """Reads plans from the database; blocks. Safe to be called from several threads."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database = database
        self._sealer = sealer
        self._detectors = LoadedDetectors()

    def read(self, records: Plan) -> ActivePlan:
        """The plan of the deployment that these records are of.

        Raises:
            NotFound, Conflict, Unavailable: as `ActivePlans.current`.
        """
        with self._database.transaction() as session:
            deployment = Deployments(session, self._sealer).get(records.target.id)
            monitor, settings = monitor_of(session, deployment.no), settings_of(session, deployment.no)
        if deployment.endpoint is None:
            raise Conflict(f"Deployment {deployment.id} has no endpoint, so its model cannot be asked; give it one.")
        if monitor is None:
            raise Conflict(f"Deployment {deployment.id} has no fairness monitor, which says whose outcomes are mitigated; put one first.")
        mitigated = mitigated_attributes(settings, monitor)
        if not mitigated:
            raise Conflict(f"The mitigation settings of {deployment.id} leave no attribute of its fairness monitor; change them.")
        try:
            profile = current_profile(self._database, deployment, monitor, settings, now=utc_now())
        except InvalidInput as error:
            raise Conflict(f"The fairness monitor of {deployment.id} cannot be applied to what was logged. {error}") from error
        attributes = [_attribute(attribute, deployment, profile) for attribute in monitor.attributes if attribute.feature in mitigated]
        features = tuple(column.name for column in deployment.schema.features)
        chooser, detector_version = self._chooser(deployment, settings, profile)
        judge = Judge.of(monitor.outcomes, profile)
        return ActivePlan(
            records=records,
            deployment=deployment,
            monitor=monitor,
            settings=settings,
            profile=profile,
            attributes=tuple(attributes),
            copy_sets=CopySets([attribute.learnt for attribute in attributes], features),
            decider=Decider(judge, settings.mode, deployment.problem_type is ProblemType.REGRESSION, OutcomeClassifier(monitor.outcomes)),
            model=ModelKey(deployment.endpoint, deployment.outputs, features),
            chooser=chooser,
            detector_version=detector_version,
        )

    def _chooser(self, deployment: Deployment, settings: MitigationSettings, profile: Profile) -> tuple[Chooser | None, int | None]:
        """What chooses, and the newest training that it is of: every later one that is of use raises it."""
        if settings.bias_detector is not DetectorUse.CHOOSE:
            return None, None
        with self._database.transaction() as session:
            versions = usable_versions(session, deployment.no, profile.basis)
            detectors = self._detectors.of_versions(session, deployment.no, versions)
        if not detectors:
            return None, None
        return DetectorChooser(detectors), max(versions[attribute] for attribute in detectors)


def _attribute(attribute: MonitoredAttribute, deployment: Deployment, profile: Profile) -> MitigatedAttribute:
    column, learnt = deployment.schema.column(attribute.feature), profile.attribute(attribute.feature)
    if column is None or learnt is None:
        raise Conflict(f"{attribute.feature} is named by the monitor but no longer a column of {deployment.id}; change the monitor.")
    monitored = [Group(label_of(value), "monitored", value) for value in attribute.monitored]
    reference = [Group(label_of(value), "reference", value) for value in attribute.reference or ()]
    return MitigatedAttribute(column, (*monitored, *reference), attribute.reference is None, learnt)
