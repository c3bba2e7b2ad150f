"""Picks one result out of the flat list a measure gives."""

from collections.abc import Iterable

from app.metrics import Measured, Undefined, Value


def found(results: Iterable[Measured], metric: str, scope: str, group: str | None = None) -> Measured:
    """The one result of that metric, scope and group."""
    matching = [result for result in results if (result.metric, result.scope, result.group) == (metric, scope, group)]
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
