"""Plan of answering for one deployment: everything that it needs, read together and used for a moment."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Any

from ...base.clock import monotonic_seconds, utc_now
from ...base.errors import Conflict, InvalidInput
from ...base.values import frozen, frozen_arrays
from ...calls.scoring.ask_page import ModelKey
from ...database.engine import Database, Sealer
from ...deployments.mitigation_queries import find_usable_versions, read_mitigation_settings
from ...deployments.monitor.queries import find_monitor
from ...deployments.queries import Deployments
from ...domain.deployment import Deployment
from ...domain.mitigation import ONLY_DIRECT, AttributeProfile, DetectorUse, MitigationSettings, Mode, Profile
from ...domain.monitor import Monitor, Outcome
from ...domain.record import Prediction
from ...intake.logging.ingest_plan import IngestPlan
from ...intake.logging.service import Ingestion
from ...sources.arrays.favourable_scores import OutcomeClassifier
from ...sources.arrays.read_records import ListedGroups
from ..detector.bias_detector import DetectorChooser, LoadedDetectors
from ..detector.installed import explain_missing_packages
from ..profile_in_force import find_profile_in_force, list_mitigated_attributes
from ..rule import Judge, read_known_scores, write_probabilities
from .live_request import RequestRecords
from .substitute import (
    NO_COPIES,
    CopiedRecord,
    CopySet,
    Decider,
    MitigatedAnswer,
    MitigationResult,
    Row,
    find_copies,
)

FRESH_SECONDS = 1.0
"""Time in which a change of monitor, settings or endpoint may go unnoticed."""

_MAX_PLANS = 1000


@frozen
class MitigatedAttribute:
    """Attribute with its listed groups and its part of the profile."""

    listed: ListedGroups
    profile: AttributeProfile

    @property
    def name(self) -> str:
        return self.listed.column.name


@frozen_arrays
class ActivePlan:
    """One state of a deployment, its monitor, its settings and the profile fitted for them.

    `chooser` is None where every record that may need it gets a second call; otherwise `detector_version` is
    its training.
    """

    records: IngestPlan
    deployment: Deployment
    monitor: Monitor
    settings: MitigationSettings
    profile: Profile
    attributes: tuple[MitigatedAttribute, ...]
    copies_for: Callable[[tuple[str, ...]], CopySet]
    decider: Decider
    model: ModelKey
    chooser: DetectorChooser | None
    detector_version: int | None

    @property
    def facts(self) -> dict[str, Any]:
        """Versions that an answer names, so that it can be computed again."""
        return {
            "mode": self.settings.mode.value,
            "settings_version": self.settings.version,
            "profile_version": self.profile.version,
            "bias_detector_version": self.detector_version,
        }

    def list_notes(self) -> list[str]:
        notes = [ONLY_DIRECT]
        if (
            self.settings.bias_detector is DetectorUse.CHOOSE
            and (reason := explain_missing_packages()) is not None
        ):
            notes.append(
                f"Every monitored record gets its second call, for the bias detector is left out: {reason}."
            )
        if self.profile.is_provisional:
            notes.append(
                f"The profile is provisional: it was fitted to {self.profile.records:,} payload records, "
                f"and the monitor asks for {self.monitor.min_records:,}."
            )
        return notes + [
            f"{attribute.name} is not mitigated: {attribute.profile.reason}."
            for attribute in self.attributes
            if not attribute.profile.stand_ins
        ]


class ActivePlans:
    """Plans of one process, read again after `FRESH_SECONDS`. Belongs to one event loop."""

    def __init__(self, ingestion: Ingestion, read: Callable[[IngestPlan], ActivePlan]) -> None:
        self._ingestion = ingestion
        self._read = read
        self._plans: dict[str, tuple[ActivePlan, float]] = {}
        self._running: dict[str, asyncio.Task[ActivePlan]] = {}

    async def find_plan(self, deployment_id: str) -> ActivePlan:
        """Returns the deployment's plan, at most `FRESH_SECONDS` old; callers that wait for one share one
        look-up.

        Raises:
            NotFound: there is no such deployment.
            Conflict: it has no endpoint or no monitor, or nothing of it is mitigated.
            Unavailable: the database does not answer.
        """
        cached = self._plans.get(deployment_id)
        if cached is not None and monotonic_seconds() < cached[1]:
            return cached[0]
        task = self._running.get(deployment_id)
        if task is None:
            task = self._running[deployment_id] = asyncio.create_task(self._read_current(deployment_id))
            task.add_done_callback(lambda ended: self._forget_task(deployment_id, ended))
        # A caller that goes away must not end the look-up for the others.
        return await asyncio.shield(task)

    def forget(self, deployment_id: str) -> None:
        self._plans.pop(deployment_id, None)
        self._running.pop(deployment_id, None)

    async def _read_current(self, deployment_id: str) -> ActivePlan:
        asked_at = monotonic_seconds()
        # The row's version is read first: any change while the rest is read makes the later write fail, and
        # the request start again.
        plan = await asyncio.to_thread(self._read, await self._ingestion.read_current_plan(deployment_id))
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[deployment_id] = (plan, asked_at + FRESH_SECONDS)
        return plan

    def _forget_task(self, deployment_id: str, task: "asyncio.Task[ActivePlan]") -> None:
        if not task.cancelled():
            task.exception()  # also where every caller has gone, or asyncio logs it
        # After `forget` another look-up may have taken its place.
        if self._running.get(deployment_id) is task:
            del self._running[deployment_id]


def read_plan(database: Database, sealer: Sealer, loaded: LoadedDetectors, records: IngestPlan) -> ActivePlan:
    """Blocks; safe to be called from several threads. Raises Conflict."""
    with database.transaction() as session:
        deployment = Deployments(session, sealer).get(records.target.id)
        monitor = find_monitor(session, deployment.no)
        settings = read_mitigation_settings(session, deployment.no)
    if deployment.endpoint is None:
        raise Conflict(
            f"Deployment {deployment.id} has no endpoint, so its model cannot be asked; give it one."
        )
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor, which says whose outcomes are "
            "mitigated; put one first."
        )
    mitigated = list_mitigated_attributes(settings, monitor)
    if not mitigated:
        raise Conflict(
            f"The mitigation settings of {deployment.id} leave no attribute of its fairness monitor; "
            "change them."
        )
    try:
        profile = find_profile_in_force(database, deployment, monitor, settings, now=utc_now())
    except InvalidInput as error:
        raise Conflict(
            f"The fairness monitor of {deployment.id} cannot be applied to what was logged. {error}"
        ) from error
    attributes = []
    for attribute in monitor.attributes:
        if attribute.feature not in mitigated:
            continue
        column = deployment.schema.column(attribute.feature)
        fitted = profile.attribute(attribute.feature)
        if column is None or fitted is None:
            raise Conflict(
                f"{attribute.feature} is named by the monitor but no longer a column of "
                f"{deployment.id}; change the monitor."
            )
        attributes.append(MitigatedAttribute(ListedGroups.of(attribute, column), fitted))
    features = tuple(column.name for column in deployment.schema.features)
    chooser = detector_version = None
    if settings.bias_detector is DetectorUse.CHOOSE and explain_missing_packages() is None:
        with database.transaction() as session:
            versions = find_usable_versions(session, deployment.no, profile.basis)
            if detectors := loaded.load(session, deployment.no, versions):
                chooser = DetectorChooser(detectors)
                detector_version = max(versions[attribute] for attribute in detectors)
    return ActivePlan(
        records=records,
        deployment=deployment,
        monitor=monitor,
        settings=settings,
        profile=profile,
        attributes=tuple(attributes),
        copies_for=cache(partial(find_copies, [attribute.profile for attribute in attributes], features)),
        decider=Decider(
            Judge.of(monitor.outcomes, profile), settings.mode, OutcomeClassifier(monitor.outcomes)
        ),
        model=ModelKey(
            deployment.endpoint,
            deployment.outputs,
            features,
            tuple(column.type for column in deployment.schema.features),
        ),
        chooser=chooser,
        detector_version=detector_version,
    )


Roles = dict[str, str]
"""Roles of one record's groups by attribute, in the order of the monitor's."""

MAX_EARLY_COPIES = 20
"""Copies that may be scored together with fewer records; else at most as many as there are records."""


@dataclass
class Case:
    """One record of a request: the model's own answer, its copies, and the decision once there is one."""

    row: Row
    own: Prediction
    outcome: Outcome
    attributes: tuple[str, ...]
    decided: MitigatedAnswer | None = None
    copies: CopySet = NO_COPIES


def find_roles(plan: ActivePlan, request_records: RequestRecords) -> list[Roles]:
    """Attributes of which a record is in no group are absent."""
    all_roles: list[Roles] = [{} for _ in request_records.features]
    features, meta = (
        [column.name for column in columns]
        for columns in (plan.deployment.schema.features, plan.deployment.schema.meta)
    )
    for attribute in plan.attributes:
        is_feature = attribute.name in features
        rows = request_records.features if is_feature else request_records.meta
        place = (features if is_feature else meta).index(attribute.name)
        values = [None if row is None else row[place] for row in rows]
        for roles, group in zip(all_roles, attribute.listed.find(values), strict=True):
            if group is not None:
                _, roles[attribute.name] = group
    return all_roles


def pick_early_copies(
    plan: ActivePlan, request_records: RequestRecords, roles: Sequence[Roles]
) -> dict[int, CopySet]:
    """Copies, by position of the record, if they are few enough to be scored together with the records: a
    separate call takes longer than scoring some needless copies.

    Empty where a chooser first needs the model's answers.
    """
    if plan.chooser is not None:
        return {}
    picked = {}
    for position, record_roles in enumerate(roles):
        copies = plan.copies_for(_list_monitored(record_roles))
        if copies.count:
            picked[position] = copies
    count = sum(copies.count for copies in picked.values())
    page_size = plan.model.endpoint.page_size
    return (
        picked
        if count <= max(len(request_records), MAX_EARLY_COPIES) and len(request_records) + count <= page_size
        else {}
    )


def open_cases(
    plan: ActivePlan,
    request_records: RequestRecords,
    roles: Sequence[Roles],
    predictions: Sequence[Prediction],
) -> list[Case]:
    """Cases that need no answers to copies are decided at once."""
    cases = []
    for row, own, record_roles in zip(request_records.features, predictions, roles, strict=True):
        case = Case(row, own, plan.decider.classify(own.outcome_value), _list_monitored(record_roles))
        if not case.attributes:
            case.decided = MitigatedAnswer(
                own, MitigationResult.REFERENCE if record_roles else MitigationResult.IN_NO_GROUP
            )
        elif case.outcome is Outcome.UNCLASSIFIED:
            case.decided = MitigatedAnswer(own, MitigationResult.UNCLASSIFIED)
        elif case.outcome is Outcome.FAVOURABLE and plan.settings.mode is Mode.LIFT_ONLY:
            case.decided = MitigatedAnswer(own, MitigationResult.NOT_NEEDED)
        else:
            case.copies = plan.copies_for(case.attributes)
            case.decided = None if case.copies.count else MitigatedAnswer(own, MitigationResult.UNDECIDED)
        cases.append(case)

    # A chooser knows unfavourable records only; the others get their copies.
    asked_about = [case for case in find_waiting(cases) if case.outcome is Outcome.UNFAVOURABLE]
    if plan.chooser is not None and asked_about:
        scores = read_known_scores(
            write_probabilities(case.own.probability for case in asked_about), plan.profile.reading
        )
        chosen = plan.chooser.choose(
            [case.row for case in asked_about], scores, [case.attributes for case in asked_about]
        )
        for case, is_chosen in zip(asked_about, chosen, strict=True):
            case.decided = None if is_chosen else MitigatedAnswer(case.own, MitigationResult.NOT_CHOSEN)
    return cases


def _list_monitored(roles: Roles) -> tuple[str, ...]:
    return tuple(attribute for attribute, role in roles.items() if role == "monitored")


def find_waiting(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.decided is None]


def copy_rows(waiting: Sequence[Case]) -> list[Row]:
    return [row for case in waiting for row in case.copies.list_rows(case.row)]


def split_answers(answers: Sequence[Prediction], copies: Iterable[CopySet]) -> list[Sequence[Prediction]]:
    remaining = iter(answers)
    return [list(islice(remaining, copy_set.count)) for copy_set in copies]


def decide(plan: ActivePlan, waiting: Sequence[Case], answers: Sequence[Sequence[Prediction]]) -> None:
    records = [
        CopiedRecord(case.own, case.outcome, case.copies, case_answers)
        for case, case_answers in zip(waiting, answers, strict=True)
    ]
    for case, mitigated in zip(waiting, plan.decider.decide_answers(records), strict=True):
        case.decided = mitigated
