"""Suggestions for a name that no metric has."""

from collections.abc import Sequence
from difflib import get_close_matches

from ..base.errors import FieldProblem
from ..base.values import MAX_QUOTED_NAMES, quote_names
from ..statistics.catalogue import CATALOGUE

MAX_SUGGESTIONS = 3

_FRAME_METRICS = tuple(
    key for key, row in CATALOGUE.items() if not {"as_logged", "labelled", "training"}.isdisjoint(row.data)
)
"""Keys of those that a frame suffices for, which has no copies."""


def find_unknown_metrics(keys: Sequence[object]) -> list[FieldProblem]:
    problems = []
    for name in [str(key) for key in keys if not isinstance(key, str) or key not in CATALOGUE][
        :MAX_QUOTED_NAMES
    ]:
        normalized = _normalize(name)
        tools = dict[str, list[str]]()
        for key, row in CATALOGUE.items():
            for alias in row.aliases:
                tool, _, tool_name = alias.partition(" ")
                if normalized in (_normalize(alias), _normalize(tool_name)):
                    tools.setdefault(key, []).append(f"{tool}'s")
        containing = [key for key in _FRAME_METRICS if normalized and normalized in key]
        close = list(
            dict.fromkeys([*get_close_matches(normalized, _FRAME_METRICS, n=MAX_SUGGESTIONS), *containing])
        )[:MAX_SUGGESTIONS]
        if tools:
            suggestion = " or ".join(f"{' and '.join(of_key)} name of {key}" for key, of_key in tools.items())
            message = f"; it is {suggestion}"
        elif close:
            message = f"; did you mean {' or '.join(close)}?"
        else:
            message = f", which has {quote_names(list(CATALOGUE))}"
        problems.append(FieldProblem("metrics", f"{name!r:.100} is not in the catalogue of metrics{message}"))
    return problems


def _normalize(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
