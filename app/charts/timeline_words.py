"""Sentences about figures over a time."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from ..checks.views.headlines import VERDICT_WORDS
from ..statistics.catalogue import CATALOGUE
from ..statistics.catalogue.metric import CountOf, RateOf
from ..statistics.intervals.verdicts import GRAVEST, Limits, Verdict
from ..statistics.sentences.rounding import digits_apart, write_minus
from .timeline import TimeStep

_HUNDREDTHS = 2


def say_steps(metric: str, steps: Iterable[TimeStep], unit: str = "check") -> str:
    """`164 checks: unfair 12, fair 152; 0.21 to 0.91; 4 carried forward`; `unit` names what has a verdict."""
    listed = list(steps)
    verdicts: Counter[Verdict | None] = Counter()
    for step in listed:
        for verdict, count in step.verdicts.items():  # `update()` takes four times as long
            verdicts[verdict] += count
    figures = sum(step.figures for step in listed)
    carried = sum(step.carried for step in listed)
    lowest = min((step.lowest for step in listed if step.lowest is not None), default=None)
    highest = max((step.highest for step in listed if step.highest is not None), default=None)
    limits = listed[-1].limits if listed else (None, None)
    phrases = []
    if figures:
        counts = ", ".join(
            f"{VERDICT_WORDS[verdict]} {verdicts[verdict]:,}" for verdict in GRAVEST if verdicts[verdict]
        )
        counted = f"1 {unit}" if figures == 1 else f"{figures:,} {unit}s"
        phrases.append(f"{counted}: {counts}" if counts else counted)
    if lowest is not None and highest is not None:
        phrases.append(
            " to ".join(dict.fromkeys(write_value(metric, end, limits) for end in (lowest, highest)))
        )
    if carried:
        phrases.append(f"{carried:,} carried forward")
    return "; ".join(phrases) or "no figure"


def write_value(metric: str, value: float, limits: Limits = (None, None)) -> str:
    """Digits show a value on its own side of the limits; a share is in per cent, a count without digits."""
    match CATALOGUE[metric].measure:
        case RateOf():
            marks = [None if mark is None else 100 * mark for mark in (*limits, CATALOGUE[metric].ideal)]
            return f"{100 * value:.{digits_apart(100 * value, marks, 1)}f} %"
        case CountOf():
            return f"{value:,.0f}"
        case _:
            return write_minus(
                f"{value + 0.0:.{digits_apart(value, (0.0, *limits, CATALOGUE[metric].ideal), _HUNDREDTHS)}f}"
            )


def name_step(step: timedelta) -> str:
    """`hour`, `6 hours`, `day`."""
    for unit, name in (
        (timedelta(days=7), "week"),
        (timedelta(days=1), "day"),
        (timedelta(hours=1), "hour"),
        (timedelta(minutes=1), "minute"),
    ):
        if step >= unit and not step % unit:
            return name if step == unit else f"{step // unit} {name}s"
    return str(step)


def count_step(step: timedelta) -> str:
    name = name_step(step)
    return name if name[0].isdigit() else f"one {name}"
