"""Sources of one fairness measurement: distributions, and the summary of bias with the steps of its calculation."""

from typing import Any

from .fairness import label_of, listed
from .figures import (
    COPIES,
    LOGGED,
    MITIGATED,
    FigureKey,
    Figures,
    Side,
    acceptable_percent,
    attributes_of,
    fairness_figure,
    groups_of,
    limits_of,
    percent_of,
    ratio_figure,
    ratio_of,
    side_of,
)
from .times import moment
from .v1 import Json

ALL_OTHERS = "all others"

Step = tuple[str, str, list[Any]]
"""Id, message and parameters of a step of a calculation."""


class CheckNames:
    """Names of groups and outcomes as a script wrote them when a check measured them.

    Those of its monitor's version; if that was changed since, only the labels that were stored.
    """

    def __init__(self, check: Json, monitor: Json | None, figures: Figures) -> None:
        self._monitor = monitor if monitor is not None and monitor["version"] == check["monitor_version"] else None
        self._window = check["window"] or {}
        self._figures = figures

    def outcomes(self, *, favourable: bool) -> list[Any]:
        """Returns the favourable outcomes, or the others: classes and ranges, or their labels."""
        side = "favourable" if favourable else "unfavourable"
        return list(self._window.get(side) or ()) if self._monitor is None else listed(self._monitor[side])

    def outcome(self, *, favourable: bool) -> Any:  # noqa: ANN401 - a class, a range, or a text
        """Returns the one outcome of that side, or the labels of several."""
        outcomes = self.outcomes(favourable=favourable)
        if len(outcomes) == 1:
            return outcomes[0]
        return ", ".join(map(label_of, outcomes)) or ("favourable" if favourable else "unfavourable")

    def group(self, attribute: str, group: str) -> Any:  # noqa: ANN401 - a value or a range
        monitored = self._member(attribute).get("monitored", ())
        return next((listed([value])[0] for value in monitored if label_of(value) == group), group)

    def reference(self, attribute: str) -> Any:  # noqa: ANN401 - a value, a range, or a text
        """Returns the one reference value of an attribute, or the labels of several."""
        member = self._member(attribute)
        if not member:
            figures = (ratio_figure(self._figures, LOGGED, attribute, group) for group in groups_of(self._figures, attribute))
            return next((name for figure in figures if figure and (name := figure["details"].get("reference"))), ALL_OTHERS)
        reference = member["reference"]
        if reference is None:
            return ALL_OTHERS
        return listed(reference)[0] if len(reference) == 1 else ", ".join(map(label_of, reference))

    def _member(self, attribute: str) -> Json:
        members = [] if self._monitor is None else self._monitor["attributes"]
        return next((member for member in members if member["feature"] == attribute), {})


_DISTRIBUTIONS = {
    "scoring_payload_data_distribution": LOGGED,
    "perturbed_scoring_payload_data_distribution": COPIES,
    "debiased_scoring_payload_data_distribution": MITIGATED,
}


def fairness_sources(check: Json, monitor: Json | None, figures: Figures) -> list[Json]:
    """Returns the sources of a check's fairness measurement; `monitor` is the present one."""
    names = CheckNames(check, monitor, figures)
    sources = [
        {"id": name, "type": "data_distribution", "data": _distribution(data, names, figures)}
        for name, data in _DISTRIBUTIONS.items()
        if any(_is_counted(data, attribute, figures) for attribute in attributes_of(figures))
    ]
    window = check["window"] or {}
    summary = {
        "metric_type": "fairness",
        "rows_analyzed": window.get("records"),
        "perturbed_data_size": sum((window.get("perturbed_records") or {}).values()),
        "score_type": "disparate impact",
        "evaluated_at": moment(check["finished_at"] or check["to"]),
        "favourable_class": names.outcomes(favourable=True),
        "unfavourable_class": names.outcomes(favourable=False),
        "manual_labelling_store": None,
        "summary": [_summary(attribute, check, names, figures) for attribute in attributes_of(figures)],
    }
    summaries = [summary]
    debiased = [attribute for attribute in attributes_of(figures) if _is_counted(MITIGATED, attribute, figures)]
    if debiased:
        features = [_summary(attribute, check, names, figures, is_debiased=True) for attribute in debiased]
        summaries.append({**summary, "metric_type": "debiased_fairness", "debiased": True, "summary": features})
    return [*sources, *({"id": "bias_detection_summary", "type": "bias_detection_summary", "data": one} for one in summaries)]


def _is_counted(data: str, attribute: str, figures: Figures) -> bool:
    # A meta field has no copies, and its figures of them say only why.
    return side_of(figures, data, attribute, None) is not None


def _total_percent(data: str, attribute: str, figures: Figures) -> float | None:
    sides = [side for group in groups_of(figures, attribute) if (side := side_of(figures, data, attribute, group)) is not None]
    return Side(sum(side.favourable for side in sides), sum(side.n for side in sides)).percent if sides else None


def _distribution(data: str, names: CheckNames, figures: Figures) -> Json:
    """Returns counts by group and outcome. One with no records is left out, as IBM does."""
    fields = ["feature", "feature_value", "label", "count", "is_favourable", "group"]
    rows = []
    for attribute in attributes_of(figures):
        for group in (*groups_of(figures, attribute), None):
            side = side_of(figures, data, attribute, group)
            if side is None:
                continue
            value = names.reference(attribute) if group is None else names.group(attribute, group)
            for is_favourable, count in ((True, side.favourable), (False, side.n - side.favourable)):
                if count:
                    row = [attribute, value, names.outcome(favourable=is_favourable), count, is_favourable]
                    rows.append([*row, "reference" if group is None else "monitored"])
    return {"fields": fields, "values": rows}


def _summary(attribute: str, check: Json, names: CheckNames, figures: Figures, *, is_debiased: bool = False) -> Json:
    """Returns the part of one attribute: after mitigation, or of copies if there are any, next to the logged records."""
    data = MITIGATED if is_debiased else COPIES if _is_counted(COPIES, attribute, figures) else LOGGED
    groups = {group: _group(attribute, group, data, names, figures) for group in groups_of(figures, attribute)}
    measured = [group for group, own in groups.items() if own["fairness_value"] is not None]
    lowest = min(measured, key=lambda group: float(groups[group]["fairness_value"]), default=None)
    worst = {} if lowest is None else groups[lowest]
    percent, score = _reference_percent(data, attribute, figures), worst.get("fairness_value")
    summary = {"feature": attribute, "fairness_value": score, "is_biased": any(own["is_biased"] for own in groups.values())}
    reference = {"value": names.reference(attribute), "fav_class_percent": percent}
    majority: Json = {"total_fav_percent": percent, "values": [reference]}
    minority: Json = {"total_fav_percent": _total_percent(data, attribute, figures), "values": list(groups.values())}
    if is_debiased:
        message = f"After mitigation the fairness score of {attribute} is {_shown(score)} %."
        details = [_details("debiased", ("debiased_fairness_score_calculation", message, [attribute, score]))]
    else:
        window = check["window"] or {}
        reference["payload_fav_class_percent"] = majority["payload_total_fav_percent"] = _reference_percent(LOGGED, attribute, figures)
        majority["total_rows_percent"] = _rows_percent(attribute, figures, monitored=False)
        minority["payload_total_fav_percent"] = _total_percent(LOGGED, attribute, figures)
        minority["total_rows_percent"] = _rows_percent(attribute, figures, monitored=True)
        summary["payload_fairness_value"] = worst.get("payload_fairness_value")
        summary["records_evaluated"] = {
            "newest_timestamp": window.get("newest_record_at"),
            "oldest_timestamp": window.get("oldest_record_at"),
            "number_of_records": window.get("records"),
            "perturbed_records": (window.get("perturbed_records") or {}).get(attribute, 0),
            "additional_records": window.get("additional_records", 0),
        }
        kinds = [kind for kind in (COPIES, LOGGED) if _is_counted(kind, attribute, figures)]
        details = [_calculation(kind, attribute, worst, lowest, figures) for kind in kinds]
    return {**summary, "majority": majority, "minority": minority, "fairness_calculation_details": details}


def _group(attribute: str, group: str, data: str, names: CheckNames, figures: Figures) -> Json:
    own, reference = (side_of(figures, data, attribute, side) for side in (group, None))
    threshold = limits_of(figures, attribute, group)[0]
    ratio = ratio_of(ratio_figure(figures, data, attribute, group) if data is MITIGATED else fairness_figure(figures, attribute, group))
    answer = {
        "value": names.group(attribute, group),
        "fav_class_percent": own and own.percent,
        "fairness_value": None if ratio is None else percent_of(ratio),
        "perfect_equality": reference and reference.percent,
        "acceptable_fav_class_percent": reference and threshold and acceptable_percent(reference.percent, threshold),
        # Not by the rounded percent: a group at exactly the threshold is not biased.
        "is_biased": bool(own and reference and threshold is not None and own.percent < reference.percent * threshold),
    }
    if data is not MITIGATED:
        payload, payload_ratio = side_of(figures, LOGGED, attribute, group), ratio_of(ratio_figure(figures, LOGGED, attribute, group))
        answer["payload_fav_class_percent"] = payload and payload.percent
        answer["payload_fairness_value"] = None if payload_ratio is None else payload_ratio * 100
    return answer


def _calculation(data: str, attribute: str, worst: Json, group: str | None, figures: Figures) -> Json:
    """Returns the steps for the group with the lowest fairness value, `worst` its part of the summary."""
    prefix = "payload_" if data is LOGGED else ""
    score, monitored = (worst.get(f"{prefix}{member}") for member in ("fairness_value", "fav_class_percent"))
    reference = _reference_percent(data, attribute, figures)
    steps: list[Step] = [
        (f"{prefix}fairness_score_calculation", f"The fairness score of {attribute} is {_shown(score)} %.", [attribute, score]),
        (
            f"{prefix}disparate_impact_ratio_calculation",
            f"{_shown(monitored)} % of the monitored and {_shown(reference)} % of the reference records have a favourable outcome.",
            [monitored, reference],
        ),
        (
            "disparate_impact_ratio_formula",
            "Favourable percent of the monitored group / favourable percent of the reference group.",
            [],
        ),
    ]
    figure = figures.get(FigureKey("statistical_parity_difference", LOGGED, attribute, group))
    difference = None if figure is None else figure["value"]
    if data is LOGGED and difference is not None:
        steps += [
            (
                "payload_statistical_parity_difference_score_calculation",
                f"The statistical parity difference of {attribute} is {difference:.3f}.",
                [attribute, difference],
            ),
            (
                "payload_statistical_parity_difference_calculation",
                f"{_shown(monitored)} % - {_shown(reference)} %.",
                [monitored, reference],
            ),
            (
                "statistical_parity_difference_formula",
                "Favourable share of the monitored group - favourable share of the reference group.",
                [],
            ),
        ]
    return _details("payload" if data is LOGGED else "balanced", *steps)


def _details(kind: str, *steps: Step) -> Json:
    messages = [{"id": identifier, "message": message, "parameters": parameters} for identifier, message, parameters in steps]
    return {"data_set_type": kind, "messages": messages}


def _reference_percent(data: str, attribute: str, figures: Figures) -> float | None:
    side = side_of(figures, data, attribute, None)
    return side and side.percent


def _shown(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else "unknown"


def _rows_percent(attribute: str, figures: Figures, *, monitored: bool) -> float | None:
    labels = (*groups_of(figures, attribute), None)
    sides = {group: side for group in labels if (side := side_of(figures, LOGGED, attribute, group)) is not None}
    total = sum(side.n for side in sides.values())
    own = sum(side.n for group, side in sides.items() if (group is not None) == monitored)
    return 100.0 * own / total if total else None
