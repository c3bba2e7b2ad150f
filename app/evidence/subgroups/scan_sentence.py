"""Sentence of a subgroup scan."""

from ...statistics.scan.scan_results import say_search
from .scan_queries import SubgroupScan, read_result

FOUND_BEFORE = "It found a group, which this version of Evenhand does not show. Request the scan again."


def say_scan(scan: SubgroupScan) -> str:
    if scan.state == "queued":
        return "The scan waits for a worker."
    if scan.state == "running":
        return "The scan is running."
    result = read_result(scan)
    if result is None:
        return scan.reason or "The scan failed."
    stored_result = scan.result or {}
    if "inside_records" in stored_result:
        return FOUND_BEFORE
    read_features = scan.features or []
    sentence = say_search(result, left_out=read_features[len(result.features) :])
    if "counted" in stored_result:
        return f"{stored_result['counted']['text']} {sentence}"
    return sentence
