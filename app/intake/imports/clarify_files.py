"""SageMaker's bias monitor: limits of its baseline, a monitor from its configuration, and its file of
violations.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ...base.errors import InvalidInput
from ...base.strict_json import JsonObject
from ...base.values import Scalar, frozen, frozen_by_name, is_number
from ...domain.check import DataSet, Scope
from ...domain.deployment import Column, FieldKind, FieldType, OutputFields, ProblemType, RecordSchema
from ...statistics.catalogue import CATALOGUE
from ...statistics.intervals.verdicts import Verdict

_PREFIX = "Clarify "

METRIC_KEYS = {
    alias.removeprefix(_PREFIX): key
    for key, metric in CATALOGUE.items()
    for alias in metric.aliases
    if alias.startswith(_PREFIX)
}

_T = TypeVar("_T", list[Any], JsonObject)

IMPACT = "disparate_impact"

_RESULT_SECTIONS = ("pre_training_bias_metrics", "post_training_bias_metrics")


def derive_limits(constraints: object) -> dict[str, dict[str, dict[str, float | None]]]:
    """Limits (lower, upper) by facet and key of a metric: as far from the ideal as the baseline, on either
    side.

    Of several values of a facet the widest limits count. Raises InvalidInput.
    """
    if not isinstance(constraints, dict):
        raise InvalidInput("constraints", "must be a JSON object")
    # A factor of at least 1 for the ratio, an amount for differences.
    distances = defaultdict[str, dict[str, float]](dict)
    for facet, metric in _list_metrics(constraints):
        key = METRIC_KEYS.get(str(metric.get("name")))
        value = metric.get("value")
        if key is None or not is_number(value) or not math.isfinite(value) or (key == IMPACT and value <= 0):
            continue
        distance = max(value, 1 / value) if key == IMPACT else abs(value)
        distances[facet][key] = max(distances[facet].get(key, 0.0), distance)

    return {
        facet: {
            key: {"lower": _mirror_distance(key, distance), "upper": distance}
            for key, distance in facet_distances.items()
        }
        for facet, facet_distances in distances.items()
    }


def _mirror_distance(key: str, distance: float) -> float | None:
    if key == IMPACT:
        return 1 / distance
    return None if CATALOGUE[key].lowest == 0 else -distance


def _list_metrics(constraints: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for section in _RESULT_SECTIONS:
        for name, values in _read_member(_read_member(constraints, section, dict), "facets", dict).items():
            for entry in values if isinstance(values, list) else ():
                for metric in _read_member(entry, "metrics", list):
                    if isinstance(metric, dict):
                        yield name, metric


def _read_member(document: object, name: str, kind: type[_T]) -> _T:
    member = document.get(name) if isinstance(document, dict) else None
    return member if isinstance(member, kind) else kind()


OPEN_END = 1e9
"""End of a range without one, because a monitor needs both ends."""

_DEFAULT_THRESHOLD = 0.5

_METHOD_SECTIONS = ("pre_training_bias", "post_training_bias")


@frozen_by_name
class ClarifyChoices:
    """Answers to what an analysis configuration leaves open.

    `thresholds` and `categories` are numeric facets whose one value is a threshold, or a category: Clarify
    decides by the data.
    """

    thresholds: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    unfavourable: tuple[Scalar, ...] = ()
    score_threshold: float | None = None


@frozen
class TranslatedMonitor:
    """A monitor's definition, with notes for the person who imports it. If the outcomes are 1 and 0, answers
    are scores, which mean 1 from `score_threshold` on.
    """

    body: JsonObject
    notes: list[str]
    score_threshold: float | None


class ClarifyConfig:
    def __init__(self, config: object) -> None:
        if not isinstance(config, dict):
            raise InvalidInput("analysis_config", "must be a JSON object")
        self._config: JsonObject = config
        self._headers = _read_member(config, "headers", list)
        facets = config.get("facet")
        if not isinstance(facets, list) or not facets or not all(isinstance(facet, dict) for facet in facets):
            raise InvalidInput("analysis_config.facet", "must be an array of at least one facet")
        self._facets: list[JsonObject] = facets

    def translate(
        self,
        schema: RecordSchema,
        outputs: OutputFields,
        problem_type: ProblemType,
        choices: ClarifyChoices,
        constraints: object = None,
    ) -> TranslatedMonitor:
        notes: list[str] = []
        favourable, unfavourable = self._read_outcomes(outputs, problem_type, choices)
        limits = {} if constraints is None else derive_limits(constraints)
        attributes = []
        for position, facet in enumerate(self._facets):
            name = self._find_name(facet.get("name_or_index"), f"facet[{position}].name_or_index")
            column = schema.column(name)
            if column is None:
                raise InvalidInput(
                    f"analysis_config.facet[{position}]",
                    f"names {name!r:.100}, which is no column of the deployment",
                )
            attribute = translate_facet(
                column, facet.get("value_or_threshold"), choices, f"analysis_config.facet[{position}]", notes
            )
            if name in limits:
                attribute["metric_limits"] = limits[name]
            attributes.append(attribute)
        body: JsonObject = {"favourable": favourable, "unfavourable": unfavourable, "attributes": attributes}
        if self._config.get("group_variable") is not None:
            body["strata"] = self._find_name(self._config["group_variable"], "group_variable")
        metrics = self._translate_metrics(notes)
        if metrics is not None:
            body["metrics"] = metrics
        if not limits:
            notes.append(
                "No baseline was given: the disparate impact is judged by the four-fifths rule, other "
                "metrics by their usual limits."
            )
        threshold = None
        if problem_type is ProblemType.BINARY and {*favourable, *unfavourable} == {0, 1}:
            threshold = self._choose_threshold(choices, notes)
        return TranslatedMonitor(body, notes, threshold)

    def _find_name(self, name_or_index: object, where: str) -> str:
        if isinstance(name_or_index, str):
            return name_or_index
        if (
            isinstance(name_or_index, int)
            and not isinstance(name_or_index, bool)
            and 0 <= name_or_index < len(self._headers)
        ):
            return str(self._headers[name_or_index])
        raise InvalidInput(f"analysis_config.{where}", "must be a name, or a position among the headers")

    def _read_outcomes(
        self, outputs: OutputFields, problem_type: ProblemType, choices: ClarifyChoices
    ) -> tuple[list[Any], list[Any]]:
        where = "analysis_config.label_values_or_threshold"
        values = _require_values(self._config.get("label_values_or_threshold"), where)
        if problem_type is ProblemType.REGRESSION:
            threshold = _require_number(values, where)
            return [[math.nextafter(threshold, math.inf), OPEN_END]], [[-OPEN_END, threshold]]
        if choices.unfavourable:
            return values, list(choices.unfavourable)
        unfavourable = [value for value in outputs.classes or () if value not in values]
        if not unfavourable and values in ([1], [0]):
            unfavourable = [1 - values[0]]
        if not unfavourable:
            raise InvalidInput(
                "unfavourable", "must be given: the configuration names the favourable labels only"
            )
        return values, unfavourable

    def _choose_threshold(self, choices: ClarifyChoices, notes: list[str]) -> float:
        configured = self._config.get("probability_threshold")
        stated = configured if choices.score_threshold is None else choices.score_threshold
        threshold = _DEFAULT_THRESHOLD if stated is None else stated
        if not is_number(threshold) or not 0 < threshold <= 1:
            raise InvalidInput(
                "probability_threshold", f"must be a number above 0 and at most 1, found {threshold!r:.50}"
            )
        notes.append(
            f"An answer between 0 and 1 is read as a score: the prediction is 1 from {threshold:g} on, else 0"
            f" ({'the default' if stated is None else 'probability_threshold'})."
        )
        return threshold

    def _translate_metrics(self, notes: list[str]) -> list[str] | None:
        methods = _read_member(self._config, "methods", dict)
        requested = list[str]()
        for name in _METHOD_SECTIONS:
            method = _read_member(methods, name, dict)
            if method.get("methods") == "all":
                return None
            requested += map(str, _read_member(method, "methods", list))
        unknown = [key for key in requested if key not in METRIC_KEYS]
        if unknown:
            notes.append(f"Not measured, because Evenhand has no such metric: {', '.join(unknown)}.")
        supported = [METRIC_KEYS[key] for key in requested if key in METRIC_KEYS]
        return list(dict.fromkeys([IMPACT, *supported])) if supported else None


def list_violations(config: object, measurements: Iterable[Mapping[str, Any]]) -> JsonObject:
    ClarifyConfig(config)
    # Of two names the first is the bias monitor's.
    names = {key: name for name, key in reversed(METRIC_KEYS.items())}
    judged_data = {DataSet.AS_LOGGED.value, DataSet.LABELLED.value, DataSet.TRAINING.value}
    return {
        "version": "1.0",
        "violations": [
            {
                "facet": measurement["attribute"],
                "facet_value": measurement["group"],
                "metric_name": names[measurement["metric"]],
                "constraint_check_type": "bias_drift_check",
                "description": f"Value {measurement['value']} does not meet the constraint requirement",
            }
            for measurement in measurements
            if measurement["verdict"] == Verdict.UNFAIR
            and measurement["scope"] == Scope.GROUP
            and measurement["data"] in judged_data
            and measurement["metric"] in names
        ],
    }


def translate_facet(
    column: Column, value_or_threshold: object, choices: ClarifyChoices, where: str, notes: list[str]
) -> JsonObject:
    where = f"{where}.value_or_threshold"
    name = column.name
    if value_or_threshold is None:
        raise InvalidInput(where, "is missing: name the values of the monitored groups")
    values = _require_values(value_or_threshold, where)
    if column.kind is FieldKind.CATEGORICAL or len(values) > 1 or name in choices.categories:
        # Some versions of the SDK write text only.
        converters = {FieldType.STRING: str, FieldType.INTEGER: int, FieldType.NUMBER: float}
        try:
            if column.type in converters:
                values = list(map(converters[column.type], values))
        except ValueError as error:
            raise InvalidInput(where, f"must be of the type {column.type.value}, like the column") from error
        return {"feature": name, "monitored": values}
    if name not in choices.thresholds:
        raise InvalidInput(
            where,
            f"may be a threshold or a category of the numeric column {name!r:.100}, which Clarify decides by "
            f"the data: import with --threshold {name} if values above {values[0]} are monitored, with "
            f"--category {name} if {values[0]} itself is",
        )
    threshold = _require_number(values, where)
    lowest = (
        math.floor(threshold) + 1 if column.type is FieldType.INTEGER else math.nextafter(threshold, math.inf)
    )
    notes.append(
        f"{name}: values above {threshold:g} are monitored, {threshold:g} and below are the reference."
    )
    return {"feature": name, "monitored": [[lowest, OPEN_END]], "reference": [[-OPEN_END, threshold]]}


def _require_values(values: object, where: str) -> list[Any]:
    if (
        not isinstance(values, list)
        or not values
        or not all(isinstance(value, str | int | float | bool) for value in values)
    ):
        raise InvalidInput(where, "must be an array of at least one value")
    return values


def _require_number(values: Sequence[Any], where: str) -> float:
    try:
        (number,) = map(float, values)
    except (TypeError, ValueError) as error:
        raise InvalidInput(where, "must be one number") from error
    return number
