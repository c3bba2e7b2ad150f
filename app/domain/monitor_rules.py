"""Rules about the configuration of a fairness monitor. Source: spec of the fairness check, section 1."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, product

from ..base.errors import FieldProblem
from ..base.values import (
    TOGETHER,
    GroupValue,
    Range,
    Scalar,
    canonical,
    find_nearest,
    name_problem,
    name_value,
)
from .deployment import Column, FieldKind, FieldType, ProblemType, RecordSchema, find_stored_form_problem
from .groups import describe_too_many
from .monitor import MIN_FALSE_ALARM_HOURS, Monitor, MonitoredAttribute, find_display_name_problems
from .ruled_attributes import check_bounds, check_names, find_number_problem, find_rule_problems

MAX_RECORDS = 1_000_000
MAX_DRAWS = 10
MAX_ATTRIBUTES = 100
MAX_GROUPS = 100
MAX_OUTCOMES = 1_000
MAX_RANGES = 100
"""Max ranges of one list: each is compared with each other one."""
MAX_INTERSECTIONS = 20
MAX_LABEL_HORIZON_HOURS = 8_760
MAX_FALSE_ALARM_HOURS = 876_000
MAX_ATTRIBUTED_ROWS = 5_000_000
INTERSECTION_SIZES = (2, 3)
"""Numbers of attributes that an intersection may have."""

_FITTING_TYPES = {
    FieldType.STRING: (str,),
    FieldType.BOOLEAN: (bool,),
    FieldType.INTEGER: (int, float),
    FieldType.NUMBER: (int, float),
}


def list_monitor_problems(
    monitor: Monitor,
    *,
    schema: RecordSchema,
    problem_type: ProblemType,
    known_metrics: Collection[str],
    conditional_metrics: Collection[str] = (),
) -> list[FieldProblem]:
    """Lists every problem of the monitor for a deployment of that schema and type.

    `conditional_metrics` are those of the known ones that compare within strata.
    """
    evidence = monitor.evidence
    horizon = evidence.label_horizon_hours
    labels = {attribute.feature: attribute.labels for attribute in monitor.attributes}
    return [
        *_check_outcomes(monitor, problem_type),
        *_check_attributes(monitor, schema, known_metrics),
        *_check_intersections(monitor),
        *_check_metrics(monitor.metrics, known_metrics),
        *_check_strata(monitor, schema, conditional_metrics),
        *_check_numbers(monitor),
        *_check_persons(monitor, schema),
        *check_bounds("evidence.label_horizon_hours", horizon, MAX_LABEL_HORIZON_HOURS),
        *check_bounds(
            "evidence.false_alarm_hours",
            evidence.false_alarm_hours,
            MAX_FALSE_ALARM_HOURS,
            least=MIN_FALSE_ALARM_HOURS,
        ),
        *check_bounds("attribution.max_rows", monitor.attribution.max_rows, MAX_ATTRIBUTED_ROWS),
        *find_display_name_problems(monitor.names, labels),
    ]


def _check_metrics(metrics: Sequence[str] | None, known_metrics: Collection[str]) -> Iterator[FieldProblem]:
    if metrics is None:
        return
    if not metrics:
        yield FieldProblem("metrics", "must list at least one metric; leave it out for the usual ones")
    if len(metrics) > len(known_metrics):
        yield FieldProblem(
            "metrics",
            f"must list at most the {len(known_metrics)} metrics there are, found {len(metrics):,}",
        )
        return
    yield from check_names(
        "metrics[{}]", metrics, known_metrics, lambda key: describe_unknown_metric(key, known_metrics)
    )


def _check_strata(
    monitor: Monitor, schema: RecordSchema, conditional_metrics: Collection[str]
) -> Iterator[FieldProblem]:
    strata = monitor.strata
    conditional = [key for key in monitor.metrics or () if key in conditional_metrics]
    if strata is None and conditional:
        compare = "compares" if len(conditional) == 1 else "compare"
        message = f"is required by {' and '.join(conditional)}, which {compare} within the values of a column"
        yield FieldProblem("strata", message)
    if strata is not None and schema.column(strata) is None:
        yield FieldProblem(
            "strata", f"{strata!r:.100} is neither a feature nor a meta field of the deployment"
        )


def _check_numbers(monitor: Monitor) -> Iterator[FieldProblem]:
    if monitor.min_records < 1:
        yield FieldProblem("min_records", f"must be at least 1, found {monitor.min_records}")
    if not monitor.min_records <= monitor.max_records <= MAX_RECORDS:
        bounds = f"min_records ({monitor.min_records}) and {MAX_RECORDS:,}"
        yield FieldProblem("max_records", f"must be between {bounds}, found {monitor.max_records}")
    yield from check_bounds("draws", monitor.draws, MAX_DRAWS)
    if find_number_problem(monitor.seed):
        yield FieldProblem("seed", "must be a signed 64-bit integer")


def _check_persons(monitor: Monitor, schema: RecordSchema) -> Iterator[FieldProblem]:
    person = monitor.evidence.person
    if person is None:
        return
    if schema.column(person) is None:
        yield FieldProblem(
            "evidence.person", f"{person!r:.100} is neither a feature nor a meta field of the deployment"
        )
    elif person in {attribute.feature for attribute in monitor.attributes}:
        yield FieldProblem(
            "evidence.person",
            f"must be a column of person ids, found {person!r:.100}, whose groups are compared: only the "
            "first record of each group would count",
        )
    if monitor.evidence.each_record_another_person:
        yield FieldProblem(
            "evidence.each_record_another_person",
            "must be false or left out where evidence.person names the column of a person's id",
        )


def describe_unknown_metric(key: str, known_metrics: Collection[str]) -> str:
    closest = find_nearest(key, known_metrics)
    hint = ";" if closest is None else f"; did you mean {closest}?"
    return f"is not a metric{hint} GET /v1/metrics lists them"


def check_group_values(field: str, values: tuple[GroupValue, ...], column: Column) -> Iterator[FieldProblem]:
    yield from list(_check_length(field, values, MAX_GROUPS)) or _check_values(field, values, column)


def _check_values(
    field: str, values: tuple[GroupValue, ...], column: Column | None
) -> Iterator[FieldProblem]:
    yield from _check_list(field, values)
    for index, value in enumerate(values):
        if column:
            yield from _check_type(f"{field}[{index}]", value, column)


def _check_outcomes(monitor: Monitor, problem_type: ProblemType) -> Iterator[FieldProblem]:
    sides = (("favourable", monitor.outcomes.favourable), ("unfavourable", monitor.outcomes.unfavourable))
    wants_ranges = problem_type is ProblemType.REGRESSION
    too_long = [problem for name, values in sides for problem in _check_length(name, values, MAX_OUTCOMES)]
    if too_long:
        yield from too_long
        return
    for name, values in sides:
        yield from _check_list(name, values)
        for index, value in enumerate(values):
            if isinstance(value, Range) != wants_ranges:
                expected = "a range [lo, hi]" if wants_ranges else "a class value"
                yield FieldProblem(
                    f"{name}[{index}]",
                    f"must be {expected} for a {problem_type.value} model, found {_quote(value)}",
                )
    yield from _check_overlap(
        "unfavourable", monitor.outcomes.favourable, monitor.outcomes.unfavourable, "favourable"
    )
    if not wants_ranges and _has_mixed_types([value for _, values in sides for value in values]):
        yield FieldProblem(
            "unfavourable",
            "mixes types with favourable: class values must be all text, all numbers or all true/false",
        )


def _check_attributes(
    monitor: Monitor, schema: RecordSchema, known_metrics: Collection[str]
) -> Iterator[FieldProblem]:
    if not monitor.attributes:
        yield FieldProblem("attributes", "must list at least one attribute")
    if len(monitor.attributes) > MAX_ATTRIBUTES:
        yield FieldProblem(
            "attributes", f"must list at most {MAX_ATTRIBUTES} attributes, found {len(monitor.attributes)}"
        )
        return
    configured = set()
    for index, attribute in enumerate(monitor.attributes):
        field = f"attributes[{index}]"
        if attribute.feature in configured:
            yield FieldProblem(f"{field}.feature", f"{attribute.feature!r} is configured twice")
        configured.add(attribute.feature)
        column = schema.column(attribute.feature)
        if attribute.rule:
            yield from find_rule_problems(field, attribute, schema)
        elif column is None:
            yield FieldProblem(
                f"{field}.feature",
                f"{attribute.feature!r} is neither a feature nor a meta field of the deployment",
            )
        if attribute.rule is None:
            yield from _check_groups(field, attribute, column)
        yield from _check_limits(field, attribute, known_metrics)

        correlated = attribute.correlated_features
        features = {column.name for column in schema.features}
        listed = f"{field}.correlated_features"
        if correlated and attribute.feature in features:
            yield FieldProblem(
                listed,
                f"are for meta fields; {attribute.feature!r} is a feature, which copies change directly",
            )
        elif len(correlated) > len(features):
            yield FieldProblem(
                listed, f"must list at most the {len(features)} features there are, found {len(correlated):,}"
            )
        else:
            yield from check_names(
                f"{listed}[{{}}]", correlated, features, lambda _name: "is not a feature of the deployment"
            )


def _check_groups(field: str, attribute: MonitoredAttribute, column: Column | None) -> Iterator[FieldProblem]:
    reference = attribute.reference
    lists = [(f"{field}.monitored", attribute.monitored)] + (
        [] if reference is None else [(f"{field}.reference", reference)]
    )
    too_long = [problem for name, values in lists for problem in _check_length(name, values, MAX_GROUPS)]
    if too_long:
        yield from too_long
        return
    for name, values in lists:
        yield from _check_values(name, values, column)

    listed = attribute.listed
    range_forms = {isinstance(value, Range) for value in listed}
    if len(range_forms) > 1:
        yield FieldProblem(
            f"{field}.monitored",
            "mixes ranges and values between or within the groups; use one form for the attribute",
        )
    elif _has_mixed_types(listed):
        yield FieldProblem(
            f"{field}.monitored",
            "mixes types between or within the groups; values must be all text, all numbers or all "
            "true/false",
        )
    if reference is None and True in range_forms:
        yield FieldProblem(
            f"{field}.reference",
            "is required for ranges; it can be left out only for values, where it means every other value",
        )
    if reference is not None:
        yield from _check_overlap(f"{field}.reference", attribute.monitored, reference, "monitored")


def _check_type(field: str, value: GroupValue, column: Column) -> Iterator[FieldProblem]:
    if isinstance(value, Range):
        if column.kind is not FieldKind.NUMERIC:
            yield FieldProblem(field, f"{column.name!r} is categorical; ranges are for numeric features only")
        elif (
            column.type is FieldType.INTEGER
            and -math.inf < value.lo <= value.hi < math.inf
            and math.ceil(value.lo) > value.hi
        ):
            yield FieldProblem(
                field, f"{_quote(value)} holds no whole number, and {column.name!r} has no others"
            )
        return
    if not fits_type(value, column):
        yield FieldProblem(
            field,
            f"must be of the type {column.type.value} like the column {column.name!r}, found {_quote(value)}",
        )
    elif problem := find_stored_form_problem(value, column):
        yield FieldProblem(field, problem)


def fits_type(value: Scalar, column: Column) -> bool:
    # To Python true is an int, and so is of the type of a number.
    if isinstance(value, bool):
        return column.type is FieldType.BOOLEAN
    if column.type is FieldType.INTEGER and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _FITTING_TYPES[column.type])


def _check_limits(
    field: str, attribute: MonitoredAttribute, known_metrics: Collection[str]
) -> Iterator[FieldProblem]:
    threshold = attribute.threshold
    upper = attribute.upper_threshold
    if not 0 < threshold <= 1:
        percent = f"; {threshold:g} % is {threshold / 100:g}" if threshold > 1 else ""
        yield FieldProblem(
            f"{field}.threshold", f"must be above 0 and at most 1, found {threshold:g}{percent}"
        )
    # Left out, it is the mirror image of the threshold.
    if (
        upper is not None
        and not (math.isfinite(upper) and upper >= 1)
        and not math.isclose(upper * threshold, 1)
    ):
        yield FieldProblem(
            f"{field}.upper_threshold", f"must be a ratio of at least 1 (1.25 mirrors 0.8), found {upper}"
        )

    for metric, limits in attribute.metric_limits:
        metric_field = f"{field}.metric_limits.{metric}"
        if metric not in known_metrics:
            yield FieldProblem(metric_field, describe_unknown_metric(metric, known_metrics))
        bounds = [limit for limit in (limits.lower, limits.upper) if limit is not None]
        if not bounds:
            yield FieldProblem(metric_field, "must have a lower or an upper limit")
        elif not all(math.isfinite(limit) for limit in bounds):
            yield FieldProblem(metric_field, "limits must be finite numbers")
        elif bounds[0] > bounds[-1]:
            yield FieldProblem(metric_field, f"lower {bounds[0]} is above upper {bounds[-1]}")


def _check_intersections(monitor: Monitor) -> Iterator[FieldProblem]:
    configured = {attribute.feature: attribute for attribute in monitor.attributes}
    if len(monitor.intersections) > MAX_INTERSECTIONS:
        yield FieldProblem(
            "intersections",
            f"must list at most {MAX_INTERSECTIONS} intersections, found {len(monitor.intersections)}",
        )
        return
    intersections = set()
    for index, features in enumerate(monitor.intersections):
        field = f"intersections[{index}]"
        if len(features) not in INTERSECTION_SIZES:
            yield FieldProblem(field, f"must name two or three attributes, found {len(features)}")
        if len(set(features)) < len(features):
            yield FieldProblem(field, "names an attribute twice")
        for number, feature in enumerate(features):
            if feature not in configured:
                yield FieldProblem(
                    f"{field}[{number}]", f"{feature!r} is not one of the configured attributes"
                )
        if frozenset(features) in intersections:
            yield FieldProblem(field, "is listed twice")
        intersections.add(frozenset(features))
        members = [configured[feature] for feature in features if feature in configured]
        yield from _check_members(field, members)

        # The strictest limits of its attributes apply to an intersection, and must leave something between
        # them.
        member_limits = [
            (metric, limits) for attribute in members for metric, limits in attribute.metric_limits
        ]
        for metric in dict.fromkeys(name for name, _ in member_limits):
            limits_of_metric = [limits for name, limits in member_limits if name == metric]
            lower = max(
                (limits.lower for limits in limits_of_metric if limits.lower is not None), default=-math.inf
            )
            upper = min(
                (limits.upper for limits in limits_of_metric if limits.upper is not None), default=math.inf
            )
            if lower > upper:
                message = (
                    "is compared with the strictest metric_limits of its attributes, and those of "
                    f"{metric} leave nothing"
                )
                yield FieldProblem(field, f"{message}: from {lower} to {upper}")


def _check_members(field: str, attributes: Sequence[MonitoredAttribute]) -> Iterator[FieldProblem]:
    if len(attributes) not in INTERSECTION_SIZES:
        return
    too_many = describe_too_many(
        [attribute.feature for attribute in attributes], [len(attribute.listed) for attribute in attributes]
    )
    if too_many:
        yield FieldProblem(field, f"{too_many}; list fewer values or ranges for its attributes")
        return
    # Values may hold × as a word of their own as long as no two groups have the same label.
    listed = (dict.fromkeys(map(name_value, attribute.listed)) for attribute in attributes)
    for label, times in Counter(map(TOGETHER.join, product(*listed))).most_common(1):
        if times > 1:
            yield FieldProblem(
                field,
                f"has two groups called {label!r:.450}, because of values that hold × as a word of its own; "
                "write x",
            )


def _check_list(field: str, values: tuple[GroupValue, ...]) -> Iterator[FieldProblem]:
    if not values:
        yield FieldProblem(field, "must list at least one value")
    for index, value in enumerate(values):
        if isinstance(value, str):
            problem = name_problem(value)
        elif not isinstance(value, Range):
            problem = find_number_problem(value)
        elif not all(map(math.isfinite, value)):
            problem = "the ends of a range must be finite numbers"
        else:
            problem = (
                f"lo {canonical(value.lo)} is above hi {canonical(value.hi)}" if value.lo > value.hi else None
            )
        if problem:
            yield FieldProblem(f"{field}[{index}]", problem)
    texts = set()
    for index, value in enumerate(values):
        if isinstance(value, Range):
            continue
        if canonical(value) in texts:
            yield FieldProblem(f"{field}[{index}]", f"{_quote(value)} is listed twice")
        texts.add(canonical(value))
    ranges = _list_ranges(values)
    if len(ranges) > MAX_RANGES:
        yield FieldProblem(field, f"must list at most {MAX_RANGES} ranges, found {len(ranges)}")
    for (_, earlier), (index, later) in combinations(ranges[:MAX_RANGES], 2):
        if earlier.overlaps(later):
            yield FieldProblem(
                f"{field}[{index}]",
                f"{_quote(later)} overlaps {_quote(earlier)} in the same list (both ends belong to a range)",
            )


def _check_length(field: str, values: tuple[GroupValue, ...], limit: int) -> Iterator[FieldProblem]:
    if len(values) > limit:
        yield FieldProblem(field, f"must list at most {limit:,} values or ranges, found {len(values):,}")


def _check_overlap(
    field: str, listed: tuple[GroupValue, ...], values: tuple[GroupValue, ...], other_name: str
) -> Iterator[FieldProblem]:
    # Each is compared with each other one: a longer list is refused elsewhere, and must not take minutes
    # here.
    ranges = _list_ranges(listed)[:MAX_RANGES]
    texts_of_listed = {canonical(value) for value in listed if not isinstance(value, Range)}
    for index, value in enumerate(values):
        if not isinstance(value, Range):
            if canonical(value) in texts_of_listed:
                yield FieldProblem(f"{field}[{index}]", f"{_quote(value)} is listed as {other_name}, too")
            continue
        for _, listed_range in ranges:
            if value.overlaps(listed_range):
                yield FieldProblem(
                    f"{field}[{index}]",
                    f"{_quote(value)} overlaps {_quote(listed_range)}, which is listed as {other_name}",
                )


def _list_ranges(values: tuple[GroupValue, ...]) -> list[tuple[int, Range]]:
    return [(index, value) for index, value in enumerate(values) if isinstance(value, Range)]


def _has_mixed_types(values: Sequence[GroupValue]) -> bool:
    plain_values = [value for value in values if not isinstance(value, Range)]
    return len({type(value) if isinstance(value, bool | str) else float for value in plain_values}) > 1


def _quote(value: GroupValue) -> str:
    if isinstance(value, Range):
        return f"[{canonical(value.lo)}, {canonical(value.hi)}]"
    return f"{value!r:.100}" if isinstance(value, str) else name_value(value)[:100]
