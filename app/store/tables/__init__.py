"""One Row class a file, and the metadata that the migrations are checked against."""

from app.store.tables.alerts import AlertChannelRow, AlertRow, AlertRuleChannelRow, AlertRuleRow, NotificationRow
from app.store.tables.api_keys import ApiKeyRow
from app.store.tables.base import Row
from app.store.tables.checks import CheckRow, CheckTableRow, MeasurementRow
from app.store.tables.counterfactuals import CopyTargetRow, CounterfactualRow
from app.store.tables.deployments import DeploymentRow, DeploymentSchemaRow
from app.store.tables.mitigation import BiasDetectorRow, FlaggedRecordRow, MitigationProfileRow, MitigationSettingsRow
from app.store.tables.monitors import MonitorRow
from app.store.tables.payload import RECORD_NO_BLOCK, FeedbackRecordRow, PayloadKeyRow, PayloadRecordRow
from app.store.tables.people import ActivityRow, SessionRow, UserRow
from app.store.tables.training_data import TrainingCorrelationRow, TrainingDataRow, TrainingDistributionRow, TrainingTableRow
from app.store.tables.workers import WorkerRow

__all__ = [
    "RECORD_NO_BLOCK",
    "ActivityRow",
    "AlertChannelRow",
    "AlertRow",
    "AlertRuleChannelRow",
    "AlertRuleRow",
    "ApiKeyRow",
    "BiasDetectorRow",
    "CheckRow",
    "CheckTableRow",
    "CopyTargetRow",
    "CounterfactualRow",
    "DeploymentRow",
    "DeploymentSchemaRow",
    "FeedbackRecordRow",
    "FlaggedRecordRow",
    "MeasurementRow",
    "MitigationProfileRow",
    "MitigationSettingsRow",
    "MonitorRow",
    "NotificationRow",
    "PayloadKeyRow",
    "PayloadRecordRow",
    "Row",
    "SessionRow",
    "TrainingCorrelationRow",
    "TrainingDataRow",
    "TrainingDistributionRow",
    "TrainingTableRow",
    "UserRow",
    "WorkerRow",
]
