"""What was probably meant by a name that no metric has: the key behind another tool's name, or keys spelled nearly the same."""

from collections.abc import Sequence
from difflib import get_close_matches

from app.errors import FieldProblem
from app.frames.columns import LONGEST, SHOWN, shown
from app.metrics import CATALOGUE

SUGGESTED = 3
"""Keys that an error proposes."""

_OFFERED = tuple(key for key, row in CATALOGUE.items() if not {"payload", "feedback", "training"}.isdisjoint(row.data))
"""The keys that can be measured on a frame; the others need the copies of a check."""


def unknown_metrics(keys: Sequence[object]) -> list[FieldProblem]:
    """A problem for each, of the first few, that is no key of the catalogue."""
    unknown = [key for key in keys if not isinstance(key, str) or key not in CATALOGUE]
    return [FieldProblem("metrics", _unknown(str(key))) for key in unknown[:SHOWN]]


def _unknown(name: str) -> str:
    lead = f"{name[:LONGEST]} is not in the catalogue of metrics"
    tools = _tools(name)
    if tools:
        meant = (f"{' and '.join(of_key)} name of {key}" for key, of_key in tools.items())
        return f"{lead}; it is {' or '.join(meant)}"
    close = _close(name)
    return f"{lead}; did you mean {' or '.join(close)}?" if close else f"{lead}, which has {shown(list(CATALOGUE))}"


def _tools(name: str) -> dict[str, list[str]]:
    """The keys that other tools call so, each with whose name it is; a name may be given with its tool, `Clarify DPPL`."""
    found: dict[str, list[str]] = {}
    for key, row in CATALOGUE.items():
        for alias in row.aliases:
            tool, _, called = alias.partition(" ")
            if _alike(name) in (_alike(alias), _alike(called)):
                found.setdefault(key, []).append(f"{tool}'s")
    return found


def _close(name: str) -> list[str]:
    """Keys that hold the name, or are spelled nearly the same, the nearest first."""
    asked = _alike(name)
    holding = [key for key in _OFFERED if asked and asked in key]
    return list(dict.fromkeys([*get_close_matches(asked, _OFFERED, n=SUGGESTED), *holding]))[:SUGGESTED]


def _alike(name: str) -> str:
    """The name without what people write differently: capitals, and blanks or dashes between words."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
