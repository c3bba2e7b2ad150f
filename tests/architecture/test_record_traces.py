from collections import Counter

from app.database.tables import Row
from app.retention import record_traces

HOLDS_NO_RECORD = {
    "deployments": "facts about the model",
    "deployment_schemas": "names of columns",
    "monitors": "settings",
    "retention_policies": "settings",
    "legal_holds": "orders",
    "erasures": "receipts; the selector of a person is emptied at the end",
    "erased_ids": "digests of ids, so that they are not stored again",
    "erased_hours": "hours",
    "training_data": "counts of training data",
    "training_distributions": "counts of training data",
    "training_tables": "counts of training data",
    "training_correlations": "parts of training rows without an id; replaced or deleted with the training data",
    "mitigation_settings": "settings",
    "mitigation_profiles": "shares of groups",
    "bias_detectors": "weights of a model that was fitted to many records",
    "record_counts": "numbers of records",
    "arrivals": "numbers of records",
    "rejection_counts": "numbers of records",
    "missing_records": "numbers of records",
    "changed_hours": "hours",
    "endpoint_failures": "sentences of ours",
    "attributions": "shares in gaps, and sentences of ours",
    "subgroup_scans": "figures of groups, and sentences of ours",
    "alerts": "figures of groups",
    "alert_figures": "figures of groups",
    "notifications": "figures of groups, and what receivers answered",
    "check_tables": "counts of groups",
    "check_days": "numbers of checks; a trigger empties the reason when that of a check of the day changes",
    "table_days": "counts of groups",
    "measurements": "figures of groups",
    "figure_days": "figures of groups",
    "copy_targets": "kinds of copies",
    "listed_files": "names, sizes and times of files",
    "report_schedules": "settings",
    "report_schedule_channels": "settings",
    "kept_reports": "periods and states of reports",
    "kept_report_files": "reports that never change: figures of groups and sentences about them",
    "attribution_answers": "outcomes without ids, deleted at the end of the attribution",
    "evidence_eras": "hours and versions",
    "evidence_hours": "counts of groups",
    "evidence_late_labels": "numbers of labels",
    "evidence_figures": "states of figures",
    "evidence_closures": "decisions of people at work",
    "alert_channels": "receivers of alerts",
    "alert_rules": "settings",
    "alert_rule_channels": "settings",
    "alert_comments": "what people at work wrote",
    "workers": "heartbeats",
    "listener": "the address of the service",
    "users": "people at work",
    "used_log_ins": "digests of log-ins at an issuer; they expire",
    "sessions": "log-ins of people at work; they expire",
    "api_keys": "hashes of keys",
    "key_limits": "settings",
    "key_use": "numbers of requests, records and bytes",
    "activities": "changes that people at work made",
    "audit_events": "who read which record: append-only, kept as the proof of access; it may name a record's id, never a value",
    "openscale_facts": "settings",
}
"""Tables that name no record, and what they hold."""


def test_every_table_says_what_it_holds_of_a_record() -> None:
    declared = [
        *record_traces.ERASED_WITH_A_RECORD,
        *record_traces.QUOTES_RECORDS,
        *HOLDS_NO_RECORD,
    ]
    wrong = {table: count for table, count in Counter(declared).items() if count != 1 or table not in Row.metadata.tables}
    missing = set(Row.metadata.tables) - set(declared)

    assert not wrong
    assert not missing, f"declare these in app/retention/record_traces.py if they hold a record, else here: {sorted(missing)}"


def test_tables_with_the_number_of_a_record_are_erased_with_it() -> None:
    numbered = {
        name for name, table in Row.metadata.tables.items() if {"record_no", "record_id", "feedback_id"} & set(table.columns.keys())
    }

    assert numbered <= set(record_traces.ERASED_WITH_A_RECORD)
