"""What a check is about: the deployment and its monitor, as they are when the check starts."""

from dataclasses import dataclass
from datetime import datetime

from app.checks.grouping import Grouping
from app.domain.checks import CheckRun
from app.domain.deployments import Column, Deployment, FieldKind
from app.domain.monitors import Monitor, MonitoredAttribute
from app.errors import InvalidInput, NotFound
from app.store.deployments import Deployments, Sealer
from app.store.engine import Database
from app.store.monitors import monitor_of


@dataclass(frozen=True, slots=True)
class Subject:
    """A check with the deployment and monitor it evaluates."""

    check: CheckRun
    deployment: Deployment
    monitor: Monitor

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
    return Subject(check, deployment, monitor)
