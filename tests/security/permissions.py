"""Who may call each operation of the API, written by hand from `docs/concepts/keys.md`: the code is held to it, not the other way round."""

from dataclasses import dataclass
from enum import StrEnum

from app.access.principals import Role


class Needed(StrEnum):
    """The least that a caller must be for an operation; `log` and `read` are two branches, `manage` is both."""

    NOTHING = "nothing"
    ANY_KEY = "any key"
    LOG = "log"
    READ = "read"
    RECORDS = "records"
    ACKNOWLEDGE = "acknowledge"
    MANAGE = "manage"
    ADMIN = "admin"


class Reach(StrEnum):
    """Where an operation acts, which decides the answer to a caller that is bound to one deployment.

    `deployment`: on the deployment in its address; a caller bound to another one gets 404.
    `whole`: on the installation; a bound caller gets 403.
    `seen`: on what the caller sees; a bound caller gets an answer about its own deployment only.
    """

    DEPLOYMENT = "deployment"
    WHOLE = "whole"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class Caller:
    """One kind of caller. `is_known` is false of one without a key; `bound_to` is `own`, `other`, or None for all deployments."""

    name: str
    role: Role | None
    bound_to: str | None = None


BINDABLE = (Role.INGEST, Role.AGGREGATES, Role.READ, Role.MANAGE)
"""Roles that may be bound to one deployment."""

CALLERS = (
    Caller("without a key", None),
    *(Caller(role.value, role) for role in Role),
    *(Caller(f"{role.value}, bound to it", role, "own") for role in BINDABLE),
    *(Caller(f"{role.value}, bound elsewhere", role, "other") for role in BINDABLE),
)

_MAY: dict[Needed, frozenset[Role]] = {
    Needed.ANY_KEY: frozenset(Role),
    Needed.LOG: frozenset({Role.INGEST, Role.MANAGE, Role.ADMIN}),
    Needed.READ: frozenset({Role.AGGREGATES, Role.READ, Role.MANAGE, Role.ADMIN}),
    Needed.RECORDS: frozenset({Role.READ, Role.MANAGE, Role.ADMIN}),
    Needed.ACKNOWLEDGE: frozenset({Role.READ, Role.MANAGE, Role.ADMIN}),
    Needed.MANAGE: frozenset({Role.MANAGE, Role.ADMIN}),
    Needed.ADMIN: frozenset({Role.ADMIN}),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one operation asks of its caller."""

    needed: Needed
    reach: Reach

    def refusal(self, caller: Caller) -> int | None:
        """Returns the status that refuses the caller: 401, 403 or 404; None for a caller that is let in."""
        if self.needed is Needed.NOTHING:
            return None
        if caller.role is None:
            return 401
        if caller.role not in _MAY[self.needed]:
            return 403
        if self.reach is Reach.WHOLE and caller.bound_to is not None:
            return 403
        return 404 if self.reach is Reach.DEPLOYMENT and caller.bound_to == "other" else None


_RULES: dict[Rule, tuple[str, ...]] = {
    Rule(Needed.NOTHING, Reach.SEEN): ("live", "ready", "logIn"),
    Rule(Needed.ANY_KEY, Reach.SEEN): ("readMe", "listMetrics", "readMetric"),
    Rule(Needed.LOG, Reach.SEEN): ("logAzureModelData",),
    Rule(Needed.LOG, Reach.DEPLOYMENT): (
        "logPayloadRecords",
        "logFeedbackRecords",
        "testRecords",
        "putMissingRecords",
        "importRecords",
        "predictMitigated",
        "predict",
        "logEvents",
    ),
    Rule(Needed.READ, Reach.SEEN): (
        *("readOverview", "listDeployments", "listAlerts", "readAlert", "listAlertComments", "readWorkers"),
        "listFairnessMonitors",
    ),
    Rule(Needed.READ, Reach.WHOLE): ("readTelemetry", "listActivities"),
    Rule(Needed.READ, Reach.DEPLOYMENT): (
        *("readDeployment", "readFairnessMonitor", "listRecommendedMonitors", "listDeploymentActivities", "countCorrections"),
        *(
            "listMissingRecords",
            "readIngestion",
            "listIntakeCounts",
            "readTrainingData",
            "measureTrainingData",
            "listCorrelatedFeatures",
        ),
        *(
            "listChecks",
            "readCheck",
            "listCheckMeasurements",
            "listCheckTables",
            "listCheckViews",
            "readCheckView",
            "listMeasurements",
            "readEvidence",
            "listEvidenceHours",
        ),
        *("listAttributions", "readAttribution"),
        *("readEvidencePlan", "planEvidence"),
        *("listSubgroupScans", "readSubgroupScan"),
        *("chartSeries", "chartVolume", "chartCheck"),
        *("reportCheck", "reportPeriod", "reportToRegulator", "readReportPresets"),
        *("listReportSchedules", "readReportSchedule", "listKeptReports", "readKeptReport", "downloadKeptReport"),
        *("exportCheckMeasurements", "exportCheckTrace", "exportMeasurements"),
        *("readRetention", "listErasures", "readErasure"),
        *("readMitigation", "readMitigationProfile", "listBiasDetectors"),
        *(
            "listAlertRules",
            "readAlertRule",
            "listAlertsOfDeployment",
        ),
    ),
    Rule(Needed.RECORDS, Reach.DEPLOYMENT): (
        *(
            "listLoggingSnippets",
            "listPayloadRecords",
            "readPayloadRecord",
            "listFeedbackRecords",
            "readFeedbackRecord",
            "listCorrections",
            "listFlaggedRecords",
        ),
        *("exportFlaggedRecords", "exportPayloadRecords"),
    ),
    Rule(Needed.MANAGE, Reach.DEPLOYMENT): (
        *("changeDeployment", "deleteDeployment", "putFairnessMonitor", "deleteFairnessMonitor", "watchBothSides"),
        *("acceptRecommendedMonitors", "putTrainingData", "deleteTrainingData", "requestCheck", "cancelCheck", "requestAttribution"),
        *("cancelAttribution", "deleteAttribution", "requestSubgroupScan", "watchFoundGroup"),
        *("putRetention", "putLegalHold", "requestErasure", "makePseudonyms", "correctRecords"),
        *("putMitigation", "fitMitigationProfile", "putAlertRule", "deleteAlertRule", "sendOpenAlertsOfRule", "testEndpoint"),
        *("putReportSchedule", "deleteReportSchedule", "requestKeptReport"),
    ),
    Rule(Needed.ACKNOWLEDGE, Reach.SEEN): ("acknowledgeAlert", "acknowledgeAlerts", "assignAlert", "assignAlerts", "putAlertComment"),
    Rule(Needed.MANAGE, Reach.SEEN): (
        "closeAlert",
        "closeAlerts",
    ),
    Rule(Needed.MANAGE, Reach.WHOLE): (
        *("createDeployment", "testNewEndpoint", "putAlertChannel", "readAlertChannel", "deleteAlertChannel", "testAlertChannel"),
        *("listAlertChannels", "sendOpenAlerts", "listNotifications", "readNotification"),
    ),
    Rule(Needed.ADMIN, Reach.DEPLOYMENT): ("deleteLegalHold",),
    Rule(Needed.ADMIN, Reach.WHOLE): (
        *("createApiKey", "listApiKeys", "rotateApiKey", "revokeApiKey", "createUser", "listUsers", "changeUser", "listAuditEvents"),
        *("readKeyLimits", "putKeyLimits", "listKeyUse"),
    ),
}

RULES = {operation: rule for rule, operations in _RULES.items() for operation in operations}
"""The rule of every operation, by its id in the OpenAPI document."""
