"""What a check is about: the deployment and its monitor, as they are when the check starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.checks.donors import GroupDonors, donors_of_groups, without_field
from app.checks.doubts import Doubts, doubts_of
from app.checks.grouping import Grouping
from app.domain.checks import CheckRun
from app.domain.deployments import Column, Deployment, FieldKind
from app.domain.mitigation import MitigationSettings
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.training_data import Association, Donors
from app.errors import InvalidInput, NotFound
from app.store.correlations import associations_of, donors_of
from app.store.deployments import Deployments, Sealer
from app.store.engine import Database
from app.store.mitigation import newest_profile, settings_of
from app.store.monitors import monitor_of


@dataclass(frozen=True, slots=True)
class Subject:
    """A check with the deployment and monitor it evaluates.

    `donors` are those of the meta fields that are watched through correlated features, as far as the training data hold them, and
    `associations` how strongly each feature goes together with them.
    `mitigation` is what is set, `profile_version` the newest that was learnt for it (None where nothing was yet).
    """

    check: CheckRun
    deployment: Deployment
    monitor: Monitor
    donors: Mapping[str, Donors] = field(default_factory=dict)
    associations: Mapping[str, tuple[Association, ...]] = field(default_factory=dict)
    mitigation: MitigationSettings = field(default_factory=MitigationSettings)
    profile_version: int | None = None

    @property
    def at(self) -> datetime:
        """The moment its measurements stand at: the end of its span."""
        return self.check.span.end

    def column(self, feature: str, member: str = "attributes") -> Column:
        """The schema's column of that name, which that member of the monitor names.

        Raises:
            InvalidInput: the schema was changed and has it no more.
        """
        column = self.deployment.schema.column(feature)
        if column is None:
            raise InvalidInput.of(
                member, f"{feature} is named by the monitor but no longer a column of {self.deployment.id}; change the monitor"
            )
        return column

    def is_feature(self, name: str) -> bool:
        """Whether the model sees the column; meta fields it does not."""
        return any(column.name == name for column in self.deployment.schema.features)

    def donors_for(self, grouping: Grouping) -> list[GroupDonors] | None:
        """Per group of the attribute the donors of its correlated features; None where it has none of these.

        Raises:
            InvalidInput: the training data do not hold them.
        """
        name = grouping.column.name
        features = next(one.correlated_features for one in self.monitor.attributes if one.feature == name)
        if not features:
            return None
        if name not in self.donors:
            raise InvalidInput.of(f"attributes.{name}.correlated_features", without_field(name))
        return donors_of_groups(self.donors[name], grouping.groups, grouping.column, self.deployment.schema, features)

    def doubts_about(self, attribute: MonitoredAttribute) -> Doubts:
        """Returns the doubts about the correlated features of a meta field."""
        return doubts_of(attribute.correlated_features, self.associations.get(attribute.feature, ()))

    def numeric_features(self) -> list[str]:
        """The features by which it can be told how alike two records are."""
        return [column.name for column in self.deployment.schema.features if column.kind is FieldKind.NUMERIC]

    def fixed(self, grouping: Grouping) -> MonitoredAttribute:
        """The attribute with the reference values that the payload window showed, so that labels are grouped alike."""
        values = {role: tuple(group.value for group in grouping.groups if group.role == role) for role in ("monitored", "reference")}
        return MonitoredAttribute(feature=grouping.column.name, monitored=values["monitored"], reference=values["reference"])


def read_subject(check: CheckRun, database: Database, sealer: Sealer) -> Subject:
    """The check's deployment and monitor.

    Raises:
        NotFound: one of them was deleted meanwhile.
    """
    with database.transaction() as session:
        deployment = Deployments(session, sealer).by_no(check.deployment_no)
        monitor = monitor_of(session, check.deployment_no)
        if monitor is None:
            raise NotFound("fairness monitor of deployment", check.deployment_id)
        through = [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
        donors = donors_of(session, check.deployment_no, through) if through else {}
        associations = associations_of(session, check.deployment_no, through) if through else {}
        settings, profile = settings_of(session, check.deployment_no), newest_profile(session, check.deployment_no)
    return Subject(check, deployment, monitor, donors, associations, settings, None if profile is None else profile.version)
