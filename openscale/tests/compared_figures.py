"""Figures that the OpenScale SDK reads, compared with those of the check that they are of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand_openscale.monitor_definitions import DIFFERENCES
from evenhand_openscale.quality import QUALITY_METRICS

EXACT = 1e-9
"""Max difference of a figure from the check's own, before OpenScale's rounding."""

QUALITY = {
    name: {metrics[name] for metrics in QUALITY_METRICS.values() if name in metrics} for one in QUALITY_METRICS.values() for name in one
}
"""Keys of the catalogue under which a metric of quality is measured, by the kind of model another one."""

A4 = {
    "fairness_value": 94.69999999999999,
    "payload_fairness_value": 86.94105691056909,
    "perfect_equality": 76.0,
    "acceptable_fav_class_percent": 74.48,
    "fav_class_percent": 72.0,
    "payload_fav_class_percent": 70.73170731707317,
    "is_biased": True,
}
"""Figures that OpenScale itself printed for the hour of the binary tutorial (its published samples, Sex)."""


def find_differences(values: Mapping[str, Sequence[Mapping[str, Any]]], check: Mapping[str, Any]) -> Iterator[str]:
    """Yields every figure of the SDK's measurements, by instance, that is not the check's own; `check` as REST v1 answers it."""
    for kind, found in values.items():
        if not found:
            yield f"{kind}: no values"
        for value in found:
            tags = {tag["id"]: tag["value"] for tag in value["tags"]}
            group = tags.get("feature_value")
            for metric in value["metrics"]:
                expected = list(_expected(kind, metric["id"], group, check["measurements"]))
                # A fairness value is rounded; what it is rounded from is the check's own.
                if not any(abs(one - metric["value"]) <= EXACT for one in expected):
                    yield f"{kind}: {metric['id']} of {group or 'everybody'} is {metric['value']}, the check has {expected}"


def _expected(kind: str, metric: str, group: str | None, measurements: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    for one in measurements:
        if one["value"] is None or one["group"] != group:
            continue
        place = (one["metric"], one["data"])
        if kind == "quality" and one["scope"] == "overall" and one["metric"] in QUALITY[metric] and one["data"] == "feedback":
            yield one["value"]
        if kind == "fairness" and metric in DIFFERENCES and one["metric"] == metric and one["data"] in ("payload", "feedback"):
            yield one["value"]
        if (
            kind == "fairness"
            and metric == "fairness_value"
            and place in (("openscale_fairness", "payload_perturbed"), ("disparate_impact", "payload"))
        ):
            yield round(one["value"], 3) * 100


def find_differences_from_published(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the figures of the binary tutorial's summary that are not those which OpenScale printed."""
    summary = next(one["data"] for one in sources if one["id"] == "bias_detection_summary")["summary"]
    (group,) = summary[0]["minority"]["values"]
    return [f"{name} is {group[name]}, OpenScale printed {printed}" for name, printed in A4.items() if abs(group[name] - printed) > EXACT]
