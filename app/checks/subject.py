"""Subject of a check: deployment and monitor as the check starts, and the model as the check calls it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from datetime import datetime
from functools import partial

from ..base.errors import EndpointDown, EndpointRefused, InvalidInput, NotFound, ScoringFailed
from ..base.values import frozen
from ..calls.egress_policy import EgressPolicy
from ..calls.scoring.ask_page import name_model
from ..calls.scoring.scoring_client import OnScored, Scored, ScoringClient
from ..database.engine import Database, Sealer
from ..deployments.mitigation_queries import find_newest_profile, read_mitigation_settings
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import Deployments, record_answer, record_no_answer
from ..deployments.training.queries import Association, Donors, read_associations, read_donors
from ..deployments.training.unseen_groups import GroupDonors, describe_missing_field, find_donors_of_groups
from ..domain.check import CheckRun, Progress, Trigger
from ..domain.deployment import BreakerState, Column, Deployment, Endpoint, FieldKind
from ..domain.mitigation import MitigationSettings
from ..domain.monitor import Comparison, Monitor, MonitoredAttribute, list_comparisons
from ..payloads.wire import Rows
from ..sources.arrays.read_records import Grouping
from .result_queries import find_newest_success

EQUAL_CHECKS = "checks_with_equal_answers"
"""Checks in a row in which no record got another answer when it was asked again."""

Report = Callable[[Progress], None]
"""Raises when the check must stop."""

Waiting = Callable[[], AbstractContextManager[None]]
"""Entered while the model is called."""

Egress = Callable[[], EgressPolicy]
"""Reads which addresses may be called now."""


@frozen
class Subject:
    """A check with its deployment and monitor.

    `donors` are training records for meta fields watched through correlated features, as far as the training
    data hold them, `associations` the strength of these features, `profile_version` that of the newest
    profile of the mitigation. `unmeasured` comparisons, each with the reason, are not in the monitor any
    more. `newest_success` is the newest earlier check with the model's answers.
    """

    check: CheckRun
    deployment: Deployment
    monitor: Monitor
    donors: Mapping[str, Donors] = field(default_factory=dict)
    associations: Mapping[str, tuple[Association, ...]] = field(default_factory=dict)
    mitigation: MitigationSettings = MitigationSettings()
    profile_version: int | None = None
    unmeasured: Mapping[Comparison, str] = field(default_factory=dict)
    newest_success: CheckRun | None = None

    @property
    def equal_checks(self) -> int:
        """Checks in a row, up to `newest_success`, in which the present model repeated all answers."""
        success = self.newest_success
        if success is None or success.model_revision != self.deployment.model_revision:
            return 0
        return int((success.window or {}).get(EQUAL_CHECKS, 0))

    @property
    def at(self) -> datetime:
        return self.check.span.end

    def without(self, reasons: Mapping[Comparison, str]) -> "Subject":
        """Returns the subject without attributes and intersections that cannot be measured.

        Raises:
            InvalidInput: no attribute is left.
        """
        monitor = self.monitor
        attributes = tuple(
            attribute for attribute in monitor.attributes if Comparison((attribute.feature,)) not in reasons
        )
        if not attributes:
            raise InvalidInput("attributes", next(iter(reasons.values())))
        intersections = tuple(
            features for features in monitor.intersections if Comparison(features) not in reasons
        )
        monitor = replace(monitor, attributes=attributes, intersections=intersections)
        return replace(self, monitor=monitor, unmeasured={**self.unmeasured, **reasons})

    def list_columns(self) -> list[str]:
        """Lists the columns of the attributes and of the strata.

        Raises:
            InvalidInput: the changed schema no longer has one of them.
        """
        names = require_attributes(self.deployment, self.monitor.attributes)
        strata = self.monitor.strata
        return names if strata is None else [*names, require_column(self.deployment, strata, "strata").name]

    def is_feature(self, name: str) -> bool:
        return any(column.name == name for column in self.deployment.schema.features)

    def find_donors(self, grouping: Grouping) -> list[GroupDonors] | None:
        """Finds the donors of each group; None if the attribute has no correlated features.

        Raises:
            InvalidInput: the training data do not hold the attribute.
        """
        name = grouping.column.name
        features = self.find_attribute(grouping).correlated_features
        if not features:
            return None
        if name not in self.donors:
            raise InvalidInput(f"attributes.{name}.correlated_features", describe_missing_field(name))
        return find_donors_of_groups(
            self.donors[name], grouping.groups, grouping.column, self.deployment.schema, features
        )

    def list_numeric_features(self) -> list[str]:
        return [column.name for column in self.deployment.schema.features if column.kind is FieldKind.NUMERIC]

    def fix_reference(self, grouping: Grouping) -> MonitoredAttribute:
        """Returns the attribute with the payload window's reference values: labels are grouped alike."""
        return replace(
            self.find_attribute(grouping),
            reference=tuple(group.value for group in grouping.groups if group.role == "reference"),
        )

    def find_attribute(self, grouping: Grouping) -> MonitoredAttribute:
        return next(
            attribute for attribute in self.monitor.attributes if attribute.feature == grouping.column.name
        )


def require_attributes(deployment: Deployment, attributes: Sequence[MonitoredAttribute]) -> list[str]:
    """Lists the columns of the attributes. Raises InvalidInput as `require_column`."""
    return [require_column(deployment, name).name for attribute in attributes for name in attribute.columns]


def require_column(deployment: Deployment, feature: str, member: str = "attributes") -> Column:
    """Finds a column that `member` of the monitor names.

    Raises:
        InvalidInput: the changed schema no longer has it.
    """
    column = deployment.schema.column(feature)
    if column is None:
        raise InvalidInput(
            member,
            f"{feature} is named by the monitor but no longer a column of {deployment.id}; change the "
            "monitor",
        )
    return column


def read_subject(check: CheckRun, database: Database, sealer: Sealer) -> Subject:
    """Reads deployment and monitor. Raises NotFound if one was deleted meanwhile."""
    with database.transaction() as session:
        deployment = Deployments(session, sealer).get_by_no(check.deployment_no)
        monitor = find_monitor(session, check.deployment_no)
        if monitor is None:
            raise NotFound("fairness monitor of deployment", check.deployment_id)
        meta_fields = [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
        donors = read_donors(session, check.deployment_no, meta_fields) if meta_fields else {}
        associations = read_associations(session, check.deployment_no, meta_fields) if meta_fields else {}
        settings = read_mitigation_settings(session, check.deployment_no)
        profile = find_newest_profile(session, check.deployment_no)
        newest_success = find_newest_success(session, check.deployment_no, check.span.end)
    version = profile.version if profile else None
    subject = Subject(
        check, deployment, monitor, donors, associations, settings, version, newest_success=newest_success
    )
    unmeasurable = {}
    for comparison in list_comparisons(monitor):
        try:
            require_attributes(deployment, comparison.members(monitor))
        except InvalidInput as error:
            unmeasurable[comparison] = error.problems[0].message
    return subject.without(unmeasurable)


@frozen
class Calls:
    egress: Egress
    report: Report
    waiting: Waiting


class ModelOfCheck:
    """The model as a check calls it: reports progress, and notes whether the endpoint answers.

    Raises:
        EndpointRefused: the URL or model is not an allowed one.
        ScoringFailed: credentials cannot be sent.
    """

    def __init__(
        self,
        trigger: Trigger,
        deployment: Deployment,
        endpoint: Endpoint,
        *,
        database: Database,
        calls: Calls,
    ) -> None:
        self._trigger = trigger
        self._deployment_no = deployment.no
        self._health = deployment.health
        self._database = database
        self.calls = calls
        features = deployment.schema.features
        self._client = ScoringClient(
            endpoint,
            deployment.outputs,
            [column.name for column in features],
            types=[column.type for column in features],
            policy=calls.egress(),
        )
        self._host = name_model(endpoint)
        self._has_answered = False

    def score(self, rows: Rows, progress: Progress, on_scored: OnScored | None = None) -> list[Scored]:
        """Asks for a prediction or refusal of each row; `progress` is the state before the first.

        `on_scored` gets each page before the progress is reported: the report may end the check.

        Raises:
            ScoringFailed: no usable answer, or not called because earlier checks got none.
        """

        def on_page(scored: int, _total: int) -> None:
            refused = f" ({self._client.refused:,} refused by it)" if self._client.refused else ""
            self.calls.report(replace(progress, step=progress.step + refused, done=progress.done + scored))

        def should_stop() -> None:  # about once a second, also while a slow model keeps a page waiting
            self.calls.report(progress)

        ask = partial(self._client.score, rows, on_page=on_page, should_stop=should_stop, on_scored=on_scored)
        return self.call_if_healthy(ask, rows, should_stop) if rows else []

    def call_if_healthy(
        self, ask: Callable[[], list[Scored]], rows: Rows, should_stop: Callable[[], None]
    ) -> list[Scored]:
        """Calls `ask`, which asks about the rows from here or elsewhere, if the endpoint's health allows it.
        Raises as `score`.
        """
        # For other triggers the endpoint is called: a person may know that it is back.
        if self._trigger is Trigger.SCHEDULE and not self._has_answered:
            self._require_health()
        with self.calls.waiting():
            try:
                if not self._has_answered and self._health.state is not BreakerState.CLOSED:
                    self._try_first(rows[:1], should_stop)
                answers = ask()
            except EndpointDown as error:
                with self._database.transaction() as session:
                    record_no_answer(session, self._deployment_no, str(error))
                raise
            except EndpointRefused:
                raise
            except ScoringFailed:  # an unusable answer: the endpoint is there
                self._note_answer()
                raise
            self._note_answer()
        return answers

    def close(self) -> None:
        self._client.close()

    def _require_health(self) -> None:
        health = self._health
        if health.state is not BreakerState.OPEN:
            return
        at = "" if health.failed_at is None else f", the last time at {health.failed_at:%Y-%m-%d %H:%M} UTC"
        until = "" if health.tried_again_at is None else f" before {health.tried_again_at:%H:%M} UTC"
        raise ScoringFailed(
            f"The model's endpoint {self._host} was not asked: it gave no answer to {health.failures} "
            f"checks in a row{at}, and is not called again{until}. Last fault: {health.reason} When it "
            "is fixed, request a check: that calls the endpoint at once."
        )

    def _try_first(self, rows: Rows, should_stop: Callable[[], None]) -> None:
        try:
            self._client.score(rows, should_stop=should_stop, attempts=1)
        except EndpointDown:
            raise
        except ScoringFailed:  # it answers; a fault in the answer shows when all rows are sent
            pass

    def _note_answer(self) -> None:
        if not self._has_answered and self._health.failures:
            with self._database.transaction() as session:
                record_answer(session, self._deployment_no)
        self._has_answered = True
