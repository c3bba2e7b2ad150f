"""The cases of `../shared/field`, which are read in place, and those of them that are not right yet."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

FIELD = Path(__file__).resolve().parents[3] / "shared" / "field"

SENTENCES = "True sentences, and a tired person's mistakes"
EVIDENCE = "Evidence from the first record, one state, incidents with numbers"

Test = TypeVar("Test", bound=Callable[..., None])


@dataclass(frozen=True)
class Open:
    """The issue that a case waits for, or the rule that overrules it.

    Of a program, only lines that begin like this are wrong; by default any may be.
    """

    issue: str
    lines: tuple[str, ...] = ("",)


OPEN = {
    # The folder's rule for fair is older: of 0.802 (0.789 to 0.815) with a limit of 0.8 it is not sure.
    "stat-28-what-stays/try.py": Open("fairness.md, section 6", ("direct: with everything else equal",)),
}
"""Expected failures by case. Once a case passes, the tests fail until its line is taken out of here."""

at_hand = pytest.mark.skipif(not FIELD.exists(), reason=f"the cases of the field are not at hand: {FIELD}")
"""Skips where they are missing."""


def marks_of(case: str) -> list[pytest.MarkDecorator]:
    """None, or that the case fails until its issue is done."""
    waiting = OPEN.get(case)
    return [] if waiting is None else [pytest.mark.xfail(strict=True, reason=waiting.issue)]


def field_case(case: str) -> Callable[[Test], Test]:
    """Marks the test of one case."""

    def mark(test: Test) -> Test:
        for marker in [at_hand, *marks_of(case)]:
            test = marker(test)
        return test

    return mark


def read_right(folder: str) -> Any:  # noqa: ANN401 - any JSON
    """The further right values of a folder."""
    return json.loads((FIELD / folder / "right.json").read_text(encoding="utf-8"))


def numbers_in(tree: object) -> list[float]:
    """All numbers of a JSON document, wherever they are."""
    if isinstance(tree, dict):
        return [number for value in tree.values() for number in numbers_in(value)]
    if isinstance(tree, list):
        return [number for value in tree for number in numbers_in(value)]
    return [float(tree)] if isinstance(tree, int | float) else []


def has_number(tree: object, number: float) -> bool:
    """Whether a JSON document has the number somewhere."""
    return any(abs(value - number) <= 1e-9 * max(1.0, abs(number)) for value in numbers_in(tree))
