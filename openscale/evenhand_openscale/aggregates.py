"""Metrics of many measurements in few numbers: by their tags, and by intervals of the calendar."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from .refused import invalid
from .v1 import Json

MAX_INTERVALS = 10_000

_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "max": max,
    "min": min,
    "sum": sum,
    "avg": statistics.fmean,
    "count": len,
    "stddev": statistics.pstdev,
    "median": statistics.median,
}
_INTERVALS: Mapping[str, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}
"""Spans that lead from the beginning of an interval into the next one, and not beyond it."""

_PARTS: Mapping[str, Any] = {"microsecond": 0, "second": 0, "minute": 0, "hour": 0, "day": 1, "month": 1}


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Functions by metric, under None those of every metric; without tags every tag distinguishes."""

    functions: Mapping[str | None, Sequence[str]]
    interval: str | None
    tags: Sequence[str]

    def functions_of(self, metric: str) -> Sequence[str]:
        return list(dict.fromkeys((*self.functions.get(metric, ()), *self.functions.get(None, ()))))

    def widen(self, at: datetime, *, is_end: bool = False) -> datetime:
        """Returns the beginning or the end of the interval around an end of the window."""
        if self.interval is None:
            return at
        try:
            start = _floor(at, self.interval)
            return start if not is_end or start == at else _floor(start + _INTERVALS[self.interval], self.interval)
        except OverflowError as error:
            raise invalid("end" if is_end else "start", f"has no whole {self.interval} around it") from error


@dataclass(slots=True)
class _Series:
    values: list[list[float]]
    limits: dict[str, float] = field(default_factory=dict)

    def by(self, function: str) -> list[float | None]:
        of_none = 0 if function == "count" else None
        return [_FUNCTIONS[function](values) if values else of_none for values in self.values]


def read_aggregation(agg: str, interval: str | None, group: str | None) -> Aggregation:
    """Returns what an address asks for: `agg` is a list of `function` or `metric:function`, joined by commas."""
    functions: dict[str | None, list[str]] = {}
    for one in agg.split(","):
        metric, _, function = one.strip().rpartition(":")
        if function not in _FUNCTIONS:
            raise invalid("agg", f"{function!r:.60} is none of {', '.join(_FUNCTIONS)}")
        functions.setdefault(metric or None, []).append(function)
    if interval is not None and interval not in _INTERVALS:
        raise invalid("interval", f"{interval!r:.60} is none of {', '.join(_INTERVALS)}")
    return Aggregation(functions, interval, group.split(",") if group else ())


def intervals_of(wanted: Aggregation, since: datetime, until: datetime) -> list[datetime]:
    if wanted.interval is None:
        return [since]
    found: list[datetime] = []
    at = since
    while at < until:
        if len(found) == MAX_INTERVALS:
            message = f"leads to more than {MAX_INTERVALS:,} intervals; ask for a longer interval, or a shorter window with start and end"
            raise invalid("interval", message)
        found.append(at)
        at = _floor(at + _INTERVALS[wanted.interval], wanted.interval)
    return found


def aggregate(measurements: Sequence[Json], wanted: Aggregation, intervals: Sequence[datetime]) -> list[Json]:
    """Returns the metrics of each group of tags, with one value for each interval: None where it has no measurement.

    Measurements come newest first.
    """
    groups: dict[tuple[tuple[str, str], ...], dict[str, _Series]] = {}
    places = {start: place for place, start in enumerate(intervals)}
    for measurement in reversed(measurements):
        at = datetime.fromisoformat(measurement["entity"]["timestamp"])
        place = 0 if wanted.interval is None else places[_floor(at, wanted.interval)]
        for value in measurement["entity"]["values"]:
            tags = tuple((tag["id"], str(tag["value"])) for tag in value["tags"] if not wanted.tags or tag["id"] in wanted.tags)
            found = groups.setdefault(tags, {})
            for metric in value["metrics"]:
                if wanted.functions_of(metric["id"]):
                    series = found.setdefault(metric["id"], _Series([[] for _ in intervals]))
                    series.values[place].append(metric["value"])
                    series.limits = {name: metric[name] for name in ("lower_limit", "upper_limit") if metric.get(name) is not None}
    return [
        {
            "tags": [{"id": name, "value": value} for name, value in tags],
            "metrics": [
                {"id": metric, **series.limits, **{name: {"value": series.by(name)} for name in wanted.functions_of(metric)}}
                for metric, series in found.items()
            ],
        }
        for tags, found in groups.items()
        if found
    ]


def _floor(at: datetime, interval: str) -> datetime:
    smallest = "day" if interval == "week" else interval
    start = at.replace(**{part: _PARTS[part] for part in takewhile(lambda part: part != smallest, _PARTS)})
    return start - timedelta(days=start.weekday()) if interval == "week" else start
