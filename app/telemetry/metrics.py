"""Prometheus metrics of one machine's processes."""

import os

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from .allocated import allocate_before_writing

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client reads it at import."""

allocate_before_writing()

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

http_requests = Counter("evenhand_http_requests", "Answers sent, by route template and status.", ["method", "route", "status"])
http_seconds = Histogram("evenhand_http_seconds", "Time from request to answer.", ["route"], buckets=_SECONDS)

ingest_records = Counter("evenhand_ingest_records", "Records sent to us: accepted, duplicate or rejected.", ["kind", "outcome"])
flush_records = Histogram("evenhand_flush_records", "Records that shared one commit.", buckets=(1, 2, 5, 10, 25, 50, 100, 250, 1000, 10000))
flush_seconds = Histogram("evenhand_flush_seconds", "Time of one durable write, commit included.", buckets=_SECONDS)

checks = Counter("evenhand_checks", "Checks that ended, by their final state.", ["state"])
check_seconds = Histogram("evenhand_check_seconds", "Time of one check.", buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600))

model_calls = Counter("evenhand_model_calls", "Requests to model endpoints: answered, retried or failed.", ["outcome"])
model_seconds = Histogram(
    "evenhand_model_seconds",
    "Time of one attempt to get an answer of a model's endpoint, by caller and outcome.",
    ["caller", "outcome"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
model_rows = Counter("evenhand_model_rows", "Rows that models were asked to score.")

debiased_records = Counter(
    "evenhand_debiased_records", "Records answered with a debiased prediction, by what became of them.", ["debiasing"]
)

refused_requests = Counter("evenhand_refused_requests", "Requests that were refused because a limit of their key was reached.", ["limit"])

erased_rows = Counter("evenhand_erased_rows", "Rows that were erased, by cause: age, or a request about a person.", ["cause"])

spool_entries = Counter(
    "evenhand_spool_entries", "Calls and events that were kept in the spool, or dropped because it is full.", ["outcome"]
)

notifications = Counter("evenhand_notifications", "Attempts to deliver notifications: sent, retried or given up.", ["kind", "outcome"])


def exposition() -> tuple[bytes, str]:
    """All numbers as text: of every process that shares the folder, else of this one."""
    if SHARED_FOLDER not in os.environ:
        return generate_latest(REGISTRY), CONTENT_TYPE_LATEST
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry), CONTENT_TYPE_LATEST
