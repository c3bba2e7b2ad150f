"""Reads a text sentence by sentence and holds each against the truth. Which sentences there are is said elsewhere, under `@says`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from app.domain.check import Measurement
from tests.worlds.world import World

HUNDRED = r"(?:fewer than 0\.1|more than 99\.9|[\d.]+)"
MINUS = "−"
NUMBER = r"−?[\d,]+(?:\.\d+)?"
END = rf"(?:{NUMBER}|open|(?:less|more) than {NUMBER})"
NAME = "@name@"
"""Stands in a pattern for any name of the world."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a sentence is held against: the world, and the stored figure that it is of, if it is of one.

    `checks` have measured the world, `alerts` were opened by them; `is_undecided` says that the worker has not looked at them yet.
    """

    world: World
    figure: Measurement | None = None
    checks: int = 0
    alerts: int = 0
    is_undecided: bool = False

    @property
    def of(self) -> Measurement:
        """The figure; a sentence that speaks of one has one."""
        assert self.figure is not None, "a sentence on a figure stands where there is none"
        return self.figure


Check: TypeAlias = Callable[[re.Match[str], Facts], None]

SENTENCES: list[tuple[str, Check]] = []
"""Every kind of sentence, and what must be true for it; in this order they are tried."""


class UnknownSentenceError(AssertionError):
    """A sentence that no pattern knows."""


def says(pattern: str) -> Callable[[Check], Check]:
    """Registers what must be true where a sentence of that form stands. `NAME` stands for a name of the world."""

    def register(check: Check) -> Check:
        SENTENCES.append((pattern, check))
        return check

    return register


def read(text: str, facts: Facts) -> list[str]:
    """Returns the sentences of the text, all of them known and true.

    Raises:
        UnknownSentenceError: no pattern knows what comes next.
        AssertionError: a sentence is not true.
    """
    names = "|".join(re.escape(name) for name in sorted(facts.world.sides, key=len, reverse=True)) or "nobody"
    found, place = [], 0
    while place < len(text):
        match, check = _next(text, place, names)
        check(match, facts)
        found.append(match[0])
        place = match.end()
        while place < len(text) and text[place].isspace():
            place += 1
    return found


def _next(text: str, place: int, names: str) -> tuple[re.Match[str], Check]:
    for pattern, check in _compiled(names):
        match = pattern.match(text, place)
        if match is not None:
            return match, check
    raise UnknownSentenceError(f"no pattern knows: {text[place:]!r}")


@lru_cache(maxsize=8)
def _compiled(names: str) -> list[tuple[re.Pattern[str], Check]]:
    return [(re.compile(pattern.replace(NAME, f"(?:{names})")), check) for pattern, check in SENTENCES]


def number(text: str) -> float | None:
    """Returns the number that a sentence writes; None of an open end."""
    return None if text == "open" else float(text.replace(",", "").replace("−", "-"))


def write_limit(limit: float) -> str:
    """Returns a limit as sentences have it."""
    return f"{limit:.6g}".replace("-", MINUS)


def is_shown_as(value: float | None, text: str) -> bool:
    """Returns whether the text is the number, rounded to the digits that it has."""
    if value is not None and text.startswith(("less than ", "more than ")):
        bound = number(text[len("less than ") :])
        return bound is not None and (value < bound if text.startswith("less") else value > bound)
    shown = number(text)
    if value is None or shown is None:
        return value is shown
    digits = len(text.partition(".")[2])
    return abs(value - shown) <= 0.5 * 10.0**-digits * (1 + 1e-6) + 1e-12


def is_hundred(rate: float, text: str) -> bool:
    """Returns whether the text is the rate as so many of a hundred."""
    if text.startswith("fewer"):
        return 0 < rate < 0.001
    return 0.999 < rate < 1 if text.startswith("more") else is_shown_as(100 * rate, text)
