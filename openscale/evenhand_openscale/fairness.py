"""Parameters and thresholds of a fairness instance as a fairness monitor, and back."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from .bodies import Sent, without_none
from .monitor_definitions import DIFFERENCES, FAIRNESS_VALUE
from .refused import invalid
from .v1 import Document, Json

LOWER, UPPER = "lower_limit", "upper_limit"


class FeatureIn(Sent):
    """One watched feature. `threshold` is a fraction; above 1 it is taken for percent."""

    feature: str
    majority: list[Any] | None = None
    minority: list[Any]
    threshold: float | None = None


class FairnessIn(Sent):
    features: list[FeatureIn] = Field(min_length=1)
    favourable_class: list[Any]
    unfavourable_class: list[Any]
    min_records: int | None = None
    max_records: int | None = None


class AppliesIn(Sent):
    type: str = "tag"
    key: str = "feature"
    value: str


class SpecificIn(Sent):
    value: float
    applies_to: list[AppliesIn]


class ThresholdIn(Sent):
    """One limit. `fairness_value` is in percent, everything else a fraction."""

    metric_id: str
    type: Literal["lower_limit", "upper_limit"]
    value: float | None = None
    specific_values: list[SpecificIn] | None = None


@dataclass(frozen=True, slots=True)
class StatedFairness:
    """A fairness instance as a script states it. The lowest fair ratio is there twice: as a feature's `threshold`, and among the limits."""

    parameters: FairnessIn
    thresholds: Sequence[ThresholdIn]

    def since(self, before: "StatedFairness") -> "StatedFairness":
        """Returns it without the lowest ratios that a patch left as they were read: they would outweigh those that it changed."""
        if self.thresholds == before.thresholds:
            changed = [threshold for threshold in self.thresholds if (threshold.metric_id, threshold.type) != (FAIRNESS_VALUE, LOWER)]
            return StatedFairness(self.parameters, changed)
        known = {feature.feature: feature.threshold for feature in before.parameters.features}
        features = [
            feature.model_copy(update={"threshold": None})
            if feature.threshold == known.get(feature.feature)
            and _limit(self.thresholds, FAIRNESS_VALUE, LOWER, feature.feature) is not None
            else feature
            for feature in self.parameters.features
        ]
        return StatedFairness(self.parameters.model_copy(update={"features": features}), self.thresholds)


def monitor_json(sent: FairnessIn, thresholds: Sequence[ThresholdIn], *, is_scheduled: bool) -> Json:
    """Returns the monitor as REST v1 takes it. Raises Refused for a limit of a metric that it does not have."""
    for place, threshold in enumerate(thresholds):
        if threshold.metric_id not in (FAIRNESS_VALUE, *DIFFERENCES):
            raise invalid(f"thresholds[{place}].metric_id", f"{threshold.metric_id!r:.60} is no metric of the fairness monitor")
    return {
        "favourable": sent.favourable_class,
        "unfavourable": sent.unfavourable_class,
        "attributes": [_attribute_json(feature, thresholds) for feature in sent.features],
        **without_none({"min_records": sent.min_records, "max_records": sent.max_records}),
        "schedule": "hourly" if is_scheduled else "off",
    }


def monitor_field_as_sent(field: str) -> str:
    """Returns the path of a monitor's field as a path in what the SDK sends; one that it does not send stays."""
    found = re.sub(r"^attributes\b", "parameters.features", field)
    if found != field:
        return found.replace(".monitored", ".minority").replace(".reference", ".majority")
    found = re.sub(r"^(un)?favourable\b", r"parameters.\1favourable_class", field)
    return re.sub(r"^(m(?:in|ax)_records)\b", r"parameters.\1", found)


def parameters_of(monitor: Json, kept: Document) -> Json:
    """Returns the parameters of a monitor; `kept` are others that were sent with it."""
    return {
        **kept,
        "features": [
            without_none(
                {
                    "feature": attribute["feature"],
                    "majority": None if attribute["reference"] is None else listed(attribute["reference"]),
                    "minority": listed(attribute["monitored"]),
                    "threshold": attribute["threshold"],
                }
            )
            for attribute in monitor["attributes"]
            if attribute["rule"] is None
        ],
        "favourable_class": listed(monitor["favourable"]),
        "unfavourable_class": listed(monitor["unfavourable"]),
        "min_records": monitor["min_records"],
        "max_records": monitor["max_records"],
    }


def features_with_upper_limit(sent: FairnessIn, thresholds: Sequence[ThresholdIn]) -> list[str]:
    return [feature.feature for feature in sent.features if _limit(thresholds, FAIRNESS_VALUE, UPPER, feature.feature) is not None]


def upper_limit_of(feature: str, lower: float | None, upper: float | None, stated: Collection[str]) -> float | None:
    """Returns the highest fair ratio of a feature that is to be read as a limit; `stated` are features whose limit a script stated.

    The mirror of the lowest ratio is watched without being asked for: to a script it is no limit.
    """
    is_mirror = lower is not None and upper is not None and math.isclose(upper * lower, 1.0)
    return None if is_mirror and feature not in stated else upper


def thresholds_of(monitor: Json, stated: Collection[str]) -> list[Json]:
    """Returns the limits of a monitor, by feature; `stated` are the features whose upper limit a script stated."""
    limits: dict[tuple[str, str], list[Json]] = {}
    for attribute in (attribute for attribute in monitor["attributes"] if attribute["rule"] is None):
        upper = upper_limit_of(attribute["feature"], attribute["threshold"], attribute["upper_threshold"], stated)
        for metric, limit, value in _limits_of(attribute, upper):
            applies = [{"type": "tag", "key": "feature", "value": attribute["feature"]}]
            limits.setdefault((metric, limit), []).append({"value": value, "applies_to": applies})
    return [
        {"metric_id": metric, "type": limit, "value": own[0]["value"], "specific_values": own} for (metric, limit), own in limits.items()
    ]


def schedule_of(monitor: Json) -> Json | None:
    """Returns the schedule that checks really have; None where none is set, and for files, which no schedule of IBM's names."""
    unit = {"hourly": "hour", "daily": "day"}.get(monitor["schedule"])
    if unit is None:
        return None
    return {"repeat_interval": 1, "repeat_unit": unit, "repeat_type": unit, "status": "enabled", "start_time": {"type": "relative"}}


def listed(values: Sequence[Any]) -> list[Any]:
    """Returns values and ranges of REST v1 as the SDK sends them."""
    return [[_as_sent(end) for end in value] if isinstance(value, list) else value for value in values]


def label_of(value: object) -> str:
    if isinstance(value, list):
        return "-".join(label_of(end) for end in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{Decimal(repr(_as_sent(value))):f}"
    return str(value)


def _attribute_json(feature: FeatureIn, thresholds: Sequence[ThresholdIn]) -> Json:
    lower, upper = (_limit(thresholds, FAIRNESS_VALUE, limit, feature.feature) for limit in (LOWER, UPPER))
    general = next((threshold.value for threshold in thresholds if (threshold.metric_id, threshold.type) == (FAIRNESS_VALUE, LOWER)), None)
    # A limit of the feature's own precedes its `threshold`, which precedes the general limit. `lower` is the general limit, too, where the
    # feature has none of its own.
    own = feature.threshold if lower is None or lower == general else None
    percent = own * 100 if own is not None and own <= 1 else own if own is not None else lower
    limits: dict[str, Json] = {}
    for metric in DIFFERENCES:
        ends = {end: _limit(thresholds, metric, limit, feature.feature) for end, limit in (("lower", LOWER), ("upper", UPPER))}
        if any(value is not None for value in ends.values()):
            limits[metric] = ends
    return {
        "feature": feature.feature,
        "monitored": feature.minority,
        "reference": feature.majority or None,
        **without_none({"threshold": _fraction(percent), "upper_threshold": _fraction(upper)}),
        "metric_limits": limits,
    }


def _limit(thresholds: Sequence[ThresholdIn], metric: str, limit: str, feature: str) -> float | None:
    found: float | None = None
    for threshold in thresholds:
        if (threshold.metric_id, threshold.type) != (metric, limit):
            continue
        own = [
            each.value
            for each in threshold.specific_values or ()
            if any(a.key == "feature" and a.value == feature for a in each.applies_to)
        ]
        found = own[0] if own else threshold.value
    return found


def _fraction(percent: float | None) -> float | None:
    # Rounded, because 95 / 100 * 100 must be 95 again.
    return None if percent is None else round(percent / 100, 12)


def _as_sent(number: float) -> float:
    # A script prints 18 as it wrote it, not 18.0.
    return int(number) if number.is_integer() else number


def _limits_of(attribute: Json, upper: float | None) -> list[tuple[str, str, float]]:
    limits = [(FAIRNESS_VALUE, LOWER, round(attribute["threshold"] * 100, 10))]
    if upper is not None:
        limits.append((FAIRNESS_VALUE, UPPER, round(upper * 100, 10)))
    for metric, ends in attribute["metric_limits"].items():
        limits += [(metric, limit, value) for limit, value in ((LOWER, ends["lower"]), (UPPER, ends["upper"])) if value is not None]
    return limits
