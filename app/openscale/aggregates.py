"""Metrics of many measurements in few numbers: by their tags, and by intervals of the calendar."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..errors import InvalidInput
from .bodies import Answer, moment

_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "max": max,
    "min": min,
    "sum": sum,
    "avg": statistics.fmean,
    "count": len,
    "stddev": statistics.pstdev,
}
_INTERVALS: Mapping[str, Callable[[datetime], datetime]] = {
    "minute": lambda at: at.replace(second=0, microsecond=0),
    "hour": lambda at: at.replace(minute=0, second=0, microsecond=0),
    "day": lambda at: at.replace(hour=0, minute=0, second=0, microsecond=0),
    "week": lambda at: at.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=at.weekday()),
    "month": lambda at: at.replace(day=1, hour=0, minute=0, second=0, microsecond=0),
    "year": lambda at: at.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0),
}


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Functions, interval and tags that are asked for. Without metrics a function is of every one; without tags every tag distinguishes."""

    functions: Sequence[str]
    metrics: frozenset[str]
    interval: str | None
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Bin:
    """One group of values: its tags, and the beginning of its interval."""

    tags: tuple[tuple[str, str], ...]
    start: datetime | None


def read_aggregation(agg: str, interval: str | None, group: str | None) -> Aggregation:
    """Returns what an address asks for: `agg` is a list of `function` or `metric:function`, joined by commas.

    Raises:
        InvalidInput: an unknown function or interval.
    """
    functions, metrics = [], set()
    for one in agg.split(","):
        metric, _, function = one.strip().rpartition(":")
        if function not in _FUNCTIONS:
            raise InvalidInput.of("agg", f"{function!r:.60} is none of {', '.join(_FUNCTIONS)}")
        functions.append(function)
        if metric:
            metrics.add(metric)
    if interval is not None and interval not in _INTERVALS:
        raise InvalidInput.of("interval", f"{interval!r:.60} is none of {', '.join(_INTERVALS)}")
    return Aggregation(list(dict.fromkeys(functions)), frozenset(metrics), interval, group.split(",") if group else ())


def aggregate(measurements: Sequence[Answer], wanted: Aggregation) -> list[Answer]:
    """Returns the groups of metrics, in the order of their intervals. Measurements come newest first."""
    bins: dict[_Bin, dict[str, list[float]]] = {}
    # Oldest first, so that `first` and `last` mean time.
    for measurement in reversed(measurements):
        at = datetime.fromisoformat(measurement["entity"]["timestamp"])
        start = None if wanted.interval is None else _INTERVALS[wanted.interval](at)
        for value in measurement["entity"]["values"]:
            tags = tuple((tag["id"], str(tag["value"])) for tag in value["tags"] if not wanted.tags or tag["id"] in wanted.tags)
            found = bins.setdefault(_Bin(tags, start), {})
            for metric in value["metrics"]:
                if not wanted.metrics or metric["id"] in wanted.metrics:
                    found.setdefault(metric["id"], []).append(metric["value"])
    return [
        {
            "tags": [{"id": name, "value": value} for name, value in key.tags],
            "interval": None if key.start is None else moment(key.start),
            "metrics": [
                {"id": metric, **{function: {"value": _FUNCTIONS[function](values)} for function in wanted.functions}}
                for metric, values in found.items()
            ],
        }
        for key, found in bins.items()
    ]
