"""Scans as they are shown."""

from typing import Any

import msgspec

from ...statistics.scan.scan_results import SearchResult, say_search
from .scan_queries import SubgroupScan

FOUND_BEFORE = "It found a group, which this version of Evenhand does not show. Request the scan again."
"""Words of a scan of an earlier version, whose result does not name its group."""


def read_result(scan: SubgroupScan) -> SearchResult | None:
    """Result of a scan; None unless it succeeded. That of an earlier version has no group."""
    stored = scan.result
    bins = scan.bins
    if stored is None or bins is None:
        return None
    defaults: dict[str, Any] = {
        "group": None,
        "features": [binned["feature"] for binned in bins],
        "direction": scan.direction,
    }
    return msgspec.convert(defaults | stored, SearchResult)


def say_scan(scan: SubgroupScan) -> str:
    if scan.state == "queued":
        return "The scan waits for a worker."
    if scan.state == "running":
        return "The scan is running."
    result = read_result(scan)
    if result is None:
        return scan.reason or "The scan failed."
    if scan.result is not None and "inside_records" in scan.result:
        return FOUND_BEFORE
    counted = [scan.result["counted"]["text"]] if scan.result is not None and "counted" in scan.result else []
    return " ".join([*counted, say_search(result, left_out=(scan.features or [])[len(result.features) :])])
