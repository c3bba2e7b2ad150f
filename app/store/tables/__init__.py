"""One Row class a file, and the metadata for the migrations."""

from .alerts import AlertChannelRow, AlertCommentRow, AlertRow, AlertRuleChannelRow, AlertRuleRow, NotificationRow
from .api_keys import ApiKeyRow
from .arrivals import ArrivalRow, RejectionCountRow
from .attributions import AttributionAnswerRow, AttributionRow
from .audit import AuditEventRow
from .base import Row
from .check_days import CheckDayRow, TableDayRow
from .checks import CheckRow, CheckTableRow, FigureDayRow, MeasurementRow
from .counterfactuals import CopyTargetRow, CounterfactualRow
from .deployments import DeploymentRow, DeploymentSchemaRow, EndpointFailureRow
from .evidence import (
    ChangedHourRow,
    EvidenceClosureRow,
    EvidenceEraRow,
    EvidenceFigureRow,
    EvidenceHourRow,
    EvidenceLateLabelRow,
    EvidencePersonRow,
)
from .intake import CallHalfRow, IntakeCountRow
from .key_limits import KeyLimitsRow, KeyUseRow
from .listed_files import ListedFileRow
from .missing_records import MissingRecordRow
from .mitigation import BiasDetectorRow, FlaggedRecordRow, MitigationProfileRow, MitigationSettingsRow
from .monitors import MonitorRow
from .openscale import OpenScaleFactRow
from .payload import RECORD_NO_BLOCK, FeedbackRecordRow, PayloadKeyRow, PayloadRecordRow, RecordCountRow
from .people import ActivityRow, SessionRow, UsedLogInRow, UserRow
from .reports import KeptReportFileRow, KeptReportRow, ReportScheduleChannelRow, ReportScheduleRow
from .retention import ErasedHourRow, ErasedIdRow, ErasureRow, LegalHoldRow, RetentionPolicyRow
from .subgroups import SubgroupScanRow
from .training_data import TrainingCorrelationRow, TrainingDataRow, TrainingDistributionRow, TrainingTableRow
from .workers import ListenerRow, WorkerRow

__all__ = [
    "RECORD_NO_BLOCK",
    "ActivityRow",
    "AlertChannelRow",
    "AlertCommentRow",
    "AlertRow",
    "AlertRuleChannelRow",
    "AlertRuleRow",
    "ApiKeyRow",
    "ArrivalRow",
    "AttributionAnswerRow",
    "AttributionRow",
    "AuditEventRow",
    "BiasDetectorRow",
    "CallHalfRow",
    "ChangedHourRow",
    "CheckDayRow",
    "CheckRow",
    "CheckTableRow",
    "CopyTargetRow",
    "CounterfactualRow",
    "DeploymentRow",
    "DeploymentSchemaRow",
    "EndpointFailureRow",
    "ErasedHourRow",
    "ErasedIdRow",
    "ErasureRow",
    "EvidenceClosureRow",
    "EvidenceEraRow",
    "EvidenceFigureRow",
    "EvidenceHourRow",
    "EvidenceLateLabelRow",
    "EvidencePersonRow",
    "FeedbackRecordRow",
    "FigureDayRow",
    "FlaggedRecordRow",
    "IntakeCountRow",
    "KeptReportFileRow",
    "KeptReportRow",
    "KeyLimitsRow",
    "KeyUseRow",
    "LegalHoldRow",
    "ListedFileRow",
    "ListenerRow",
    "MeasurementRow",
    "MissingRecordRow",
    "MitigationProfileRow",
    "MitigationSettingsRow",
    "MonitorRow",
    "NotificationRow",
    "OpenScaleFactRow",
    "PayloadKeyRow",
    "PayloadRecordRow",
    "RecordCountRow",
    "RejectionCountRow",
    "ReportScheduleChannelRow",
    "ReportScheduleRow",
    "RetentionPolicyRow",
    "Row",
    "SessionRow",
    "SubgroupScanRow",
    "TableDayRow",
    "TrainingCorrelationRow",
    "TrainingDataRow",
    "TrainingDistributionRow",
    "TrainingTableRow",
    "UsedLogInRow",
    "UserRow",
    "WorkerRow",
]
