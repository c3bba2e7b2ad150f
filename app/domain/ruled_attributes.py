"""Rules about an attribute whose group is a rule over several columns, and checks that other rules share."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from ..base.errors import FieldProblem
from ..base.values import joining_problem, name_problem
from .deployment import Column, FieldKind, RecordSchema
from .group_rules import ALL_OTHERS, Condition, GroupRule, NumberInterval
from .monitor import MonitoredAttribute

MAX_CONDITIONS = 4
MAX_CONJUNCTIONS = 4
MAX_RULE_VALUES = 100

_INT64_BOUND = 2**63


def find_rule_problems(
    field: str, attribute: MonitoredAttribute, schema: RecordSchema
) -> Iterator[FieldProblem]:
    names = {column.name for column in schema.columns}
    problem = name_problem(attribute.feature) or joining_problem(attribute.feature, names)
    if attribute.feature in names:
        problem = "is a column of the deployment; an attribute by a rule has a name of its own"
    if problem:
        yield FieldProblem(f"{field}.feature", problem)
    rule = attribute.rule or GroupRule(())
    if attribute.monitored != (rule.label,) or attribute.reference != (ALL_OTHERS,):
        yield FieldProblem(
            f"{field}.monitored",
            "must be left out with reference: the rule says who is in the monitored group",
        )
    if not 1 <= len(rule.any_of) <= MAX_CONJUNCTIONS:
        yield FieldProblem(
            f"{field}.rule.any_of",
            f"must have 1 to {MAX_CONJUNCTIONS} lists of conditions, found {len(rule.any_of)}",
        )
        return
    for index, conditions in enumerate(rule.any_of):
        list_field = f"{field}.rule.any_of[{index}]"
        if not 1 <= len(conditions) <= MAX_CONDITIONS:
            yield FieldProblem(
                list_field, f"must have 1 to {MAX_CONDITIONS} conditions, found {len(conditions)}"
            )
            continue
        for number, condition in enumerate(conditions):
            condition_field = f"{list_field}[{number}]"
            if condition.feature in [earlier.feature for earlier in conditions[:number]]:
                yield FieldProblem(
                    f"{condition_field}.feature",
                    f"{condition.feature!r:.210} has a condition in this list already",
                )
            column = schema.column(condition.feature)
            if column is None:
                message = (
                    f"{condition.feature!r:.210} is neither a feature nor a meta field of the deployment"
                )
                yield FieldProblem(f"{condition_field}.feature", message)
            else:
                yield from _check_condition(condition_field, condition, column)


def _check_condition(field: str, condition: Condition, column: Column) -> Iterator[FieldProblem]:
    members_by_name = {
        "values": condition.values or None,
        "intervals": condition.intervals or None,
        "excluded": condition.excluded,
    }
    stated_members = {name: members for name, members in members_by_name.items() if members is not None}
    if len(stated_members) > 1 or not (stated_members or condition.or_missing):
        yield FieldProblem(
            field,
            "must have one of values, intervals and excluded, found "
            f"{' and '.join(stated_members) or 'none of them'}",
        )
        return
    for name, members in stated_members.items():
        if len(members) > MAX_RULE_VALUES:
            yield FieldProblem(
                f"{field}.{name}", f"must list at most {MAX_RULE_VALUES}, found {len(members):,}"
            )
            return
    if condition.intervals and column.kind is not FieldKind.NUMERIC:
        yield FieldProblem(
            f"{field}.intervals", f"are for numbers, and {column.name!r:.210} is categorical; list its values"
        )
    for index, interval in enumerate(condition.intervals):
        problem = _find_interval_problem(interval)
        if problem:
            yield FieldProblem(f"{field}.intervals[{index}]", problem)
    for name, values in (("values", condition.values), ("excluded", condition.excluded or ())):
        for index, value in enumerate(values):
            problem = name_problem(value) if isinstance(value, str) else find_number_problem(value)
            if problem:
                yield FieldProblem(f"{field}.{name}[{index}]", problem)


def _find_interval_problem(interval: NumberInterval) -> str | None:
    above = interval.above
    up_to = interval.up_to
    if above is None and up_to is None:
        return "must have an end: above, up_to or both"
    if not all(end is None or math.isfinite(end) for end in (above, up_to)):
        return "must have finite numbers as its ends"
    is_empty = above is not None and up_to is not None and above >= up_to
    return f"above {above} must be below up_to {up_to}" if is_empty else None


def check_names(
    field: str, names: Sequence[str], known_names: Collection[str], describe_unknown: Callable[[str], str]
) -> Iterator[FieldProblem]:
    """Finds names that are not known, or were listed before.

    `field` is formatted with the index; `describe_unknown` ends a sentence that begins with the name.
    """
    listed = set()
    for index, name in enumerate(names):
        # Names are cut, because a caller may send megabytes of one.
        if name not in known_names:
            yield FieldProblem(field.format(index), f"{name!r:.100} {describe_unknown(name)}")
        elif name in listed:
            yield FieldProblem(field.format(index), f"{name!r:.100} is listed twice")
        listed.add(name)


def check_bounds(field: str, number: int, limit: int, *, least: int = 1) -> Iterator[FieldProblem]:
    if not least <= number <= limit:
        yield FieldProblem(field, f"must be between {least} and {limit:,}, found {number}")


def find_number_problem(value: float) -> str | None:
    if isinstance(value, int):
        return None if -_INT64_BOUND <= value < _INT64_BOUND else "must be a signed 64-bit integer"
    return None if math.isfinite(value) else "must be a finite number"
