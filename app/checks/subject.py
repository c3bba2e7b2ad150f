"""Subject of a check: deployment and monitor as the check starts."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from ..base.errors import InvalidInput, NotFound
from ..base.values import frozen
from ..database.engine import Database, Sealer
from ..deployments.mitigation_queries import newest_profile, read_mitigation_settings
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import Deployments
from ..deployments.training.queries import Association, Donors, read_associations, read_donors
from ..deployments.training.unseen_groups import GroupDonors, describe_missing_field, donors_of_groups
from ..domain.check import CheckRun
from ..domain.deployment import Column, Deployment, FieldKind
from ..domain.mitigation import MitigationSettings
from ..domain.monitor import Comparison, Monitor, MonitoredAttribute, list_comparisons
from ..sources.arrays.read_records import Grouping
from .result_queries import EarlierCheck, newest_success_before

EQUAL_CHECKS = "checks_with_equal_answers"
"""Checks in a row in which no record got another answer when it was asked again."""


@frozen
class Subject:
    """`donors` are those of meta fields watched through correlated features, as far as the training data hold
    them, `associations` the strength of these.

    `profile_version` is the newest fitted for the mitigation. The monitor has no `unmeasured` comparison,
    each with why. `last` is the newest success with the model's answers.
    """

    check: CheckRun
    deployment: Deployment
    monitor: Monitor
    donors: Mapping[str, Donors] = field(default_factory=dict)
    associations: Mapping[str, tuple[Association, ...]] = field(default_factory=dict)
    mitigation: MitigationSettings = MitigationSettings()
    profile_version: int | None = None
    unmeasured: Mapping[Comparison, str] = field(default_factory=dict)
    last: EarlierCheck | None = None

    @property
    def equal_checks(self) -> int:
        if self.last is None or self.last.model_revision != self.deployment.model_revision:
            return 0
        return int(self.last.window.get(EQUAL_CHECKS, 0))

    @property
    def at(self) -> datetime:
        return self.check.span.end

    def without(self, reasons: Mapping[Comparison, str]) -> "Subject":
        """Without comparisons that cannot be measured.

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

    def columns(self) -> list[str]:
        """Of the attributes and of the strata.

        Raises:
            InvalidInput: the changed schema no longer has one.
        """
        names = require_attributes(self.deployment, self.monitor.attributes)
        strata = self.monitor.strata
        return names if strata is None else [*names, require_column(self.deployment, strata, "strata").name]

    def is_feature(self, name: str) -> bool:
        return any(column.name == name for column in self.deployment.schema.features)

    def donors_for(self, grouping: Grouping) -> list[GroupDonors] | None:
        """Per group, of the attribute's correlated features; None without these.

        Raises:
            InvalidInput: the training data do not hold them.
        """
        name = grouping.column.name
        features = self.attribute(grouping).correlated_features
        if not features:
            return None
        if name not in self.donors:
            raise InvalidInput(f"attributes.{name}.correlated_features", describe_missing_field(name))
        return donors_of_groups(
            self.donors[name], grouping.groups, grouping.column, self.deployment.schema, features
        )

    def numeric_features(self) -> list[str]:
        return [column.name for column in self.deployment.schema.features if column.kind is FieldKind.NUMERIC]

    def fixed(self, grouping: Grouping) -> MonitoredAttribute:
        """With the reference values that the payload window showed, for grouping labels alike."""
        return replace(
            self.attribute(grouping),
            reference=tuple(group.value for group in grouping.groups if group.role == "reference"),
        )

    def attribute(self, grouping: Grouping) -> MonitoredAttribute:
        return next(
            attribute for attribute in self.monitor.attributes if attribute.feature == grouping.column.name
        )


def require_attributes(deployment: Deployment, attributes: Sequence[MonitoredAttribute]) -> list[str]:
    return [require_column(deployment, name).name for attribute in attributes for name in attribute.columns]


def require_column(deployment: Deployment, feature: str, member: str = "attributes") -> Column:
    """That `member` of the monitor names it.

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
    """Raises NotFound: deployment or monitor was deleted meanwhile."""
    with database.transaction() as session:
        deployment = Deployments(session, sealer).by_no(check.deployment_no)
        monitor = find_monitor(session, check.deployment_no)
        if monitor is None:
            raise NotFound("fairness monitor of deployment", check.deployment_id)
        through = [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
        donors = read_donors(session, check.deployment_no, through) if through else {}
        associations = read_associations(session, check.deployment_no, through) if through else {}
        settings = read_mitigation_settings(session, check.deployment_no)
        profile = newest_profile(session, check.deployment_no)
        last = newest_success_before(session, check.deployment_no, check.span.end)
    version = profile.version if profile else None
    subject = Subject(check, deployment, monitor, donors, associations, settings, version, last=last)
    unmeasurable = {}
    for comparison in list_comparisons(monitor):
        try:
            require_attributes(deployment, comparison.members(monitor))
        except InvalidInput as error:
            unmeasurable[comparison] = error.problems[0].message
    return subject.without(unmeasurable)
