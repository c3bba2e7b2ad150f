"""Picks one result out of the flat list a measure gives."""

from collections.abc import Iterable

from app.domain.check import Measurement
from app.statistics.intervals.verdicts import Measured, Undefined, Value


def only_group(results: Iterable[Measured] | Iterable[Measurement], scope: str) -> str | None:
    """The group that stands for a role with one group, whose scope has no results then; None for other scopes."""
    every = [result for result in results if result.scope == "group" and result.group is not None]
    monitored = {result.group for result in every if result.group == result.details.monitored}
    find_positions = {"pooled": monitored, "reference": {result.group for result in every} - monitored}.get(scope, set())
    return next(iter(find_positions)) if len(find_positions) == 1 else None


def found(results: Iterable[Measured], metric: str, scope: str, group: str | None = None) -> Measured:
    """The one result of that metric, scope and group; of a role with one group, this group's."""
    every = list(results)
    if scope == "worst":
        matching = [result for result in every if result.metric == metric and result.worst_of is not None]
    else:
        matching = [result for result in every if (result.metric, result.scope, result.group) == (metric, scope, group)]
    if not matching and (only := only_group(every, scope)) is not None:
        matching = [result for result in every if (result.metric, result.group) == (metric, only)]
    assert len(matching) == 1, f"{len(matching)} results for {metric}, {scope}, {group}"
    return matching[0]


def value(results: Iterable[Measured], metric: str, scope: str, group: str | None = None) -> Value:
    """Its number, which must be one."""
    number = found(results, metric, scope, group).number
    assert isinstance(number, Value), number
    return number


def reason(results: Iterable[Measured], metric: str, scope: str, group: str | None = None) -> str:
    """Why it has no number."""
    number = found(results, metric, scope, group).number
    assert isinstance(number, Undefined), number
    return number.reason
