"""Code that logs records of one deployment, filled in with its id and its columns. Never holds a key.

Names and values go into the code only through the escaping of its language: JSON in a quoted here-document for the shell, where
nothing is expanded, and Python's own literals.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.deployments import Column, Deployment, FieldType, ProblemType
from app.domain.monitors import Monitor
from app.domain.values import GroupValue, Range, Scalar

KEY = "EVENHAND_KEY"
"""The variable of the environment that holds the key."""

_END = "JSON"
_LINE = 60
_EXACT = 2**53
"""Beyond it, the end of a range need not be a whole number that can be logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One piece of code: what it logs (payload or feedback), in which form of body, and in which language."""

    logs: str
    form: str
    language: str
    code: str


def snippets_of(deployment: Deployment, monitor: Monitor | None, *, base_url: str) -> list[Snippet]:
    """The code for every language. Each logs an id of its own, so that all of them can be tried one after the other."""
    root = f"{base_url.rstrip('/')}/v1/deployments/{deployment.id}"
    payload, feedback = f"{root}/payload-records", f"{root}/feedback-records"
    example = _Example(deployment, monitor)
    return [
        Snippet(logs="payload", form="records", language="sh", code=_curl(payload, example.records("example-curl-1"))),
        Snippet(logs="payload", form="fields_values", language="sh", code=_curl(payload, example.pair("example-call"))),
        Snippet(logs="payload", form="records", language="python", code=_python(payload, example.records("example-python-1"))),
        Snippet(logs="payload", form="fields_values", language="python", code=_python(payload, example.pair("example-python-call"))),
        Snippet(logs="feedback", form="records", language="sh", code=_curl(feedback, example.labels("example-curl-1"))),
        Snippet(logs="feedback", form="records", language="python", code=_python(feedback, example.labels("example-python-1"))),
    ]


class _Example:
    """Bodies as a client would send them, with values that the deployment and its monitor know."""

    def __init__(self, deployment: Deployment, monitor: Monitor | None) -> None:
        self._outputs = deployment.outputs
        self._features = _cells(deployment.schema.features, monitor)
        self._meta = _cells(deployment.schema.meta, monitor)
        self._outcome = _outcome(deployment, monitor)
        self._is_regression = deployment.problem_type is ProblemType.REGRESSION

    def records(self, record_id: str) -> dict[str, Any]:
        """The native form."""
        record: dict[str, Any] = {"id": record_id, "features": self._features}
        if self._meta:
            record["meta"] = self._meta
        return {"records": [record | self._answer(prediction="prediction", probability="probability", label="label")]}

    def pair(self, scoring_id: str) -> dict[str, Any]:
        """The model's request and answer, each a table of `fields` and `values`."""
        outputs = self._outputs
        answer = self._answer(prediction=outputs.prediction, probability=outputs.probability or "", label=outputs.label or "")
        request = _table(self._features)
        if self._meta:
            request["meta"] = _table(self._meta)
        return {"scoring_id": scoring_id, "request": request, "response": _table(answer)}

    def labels(self, record_id: str) -> dict[str, Any]:
        """What came of a logged record."""
        return {"records": [{"id": record_id, "label": self._outcome}]}

    def _answer(self, *, prediction: str, probability: str, label: str) -> dict[str, Any]:
        decoded = self._outputs.label is not None
        found: dict[str, Any] = {prediction: 1 if decoded and not self._is_regression else self._outcome}
        if self._outputs.probability is not None:
            found[probability] = 0.9
        if decoded:
            found[label] = self._outcome
        return found


def _cells(columns: Sequence[Column], monitor: Monitor | None) -> dict[str, Scalar]:
    watched = {} if monitor is None else {attribute.feature: attribute.monitored[0] for attribute in monitor.attributes}
    return {column.name: _cell(column, watched.get(column.name)) for column in columns}


def _cell(column: Column, watched: GroupValue | None) -> Scalar:
    """A value that the column may have: one that the monitor names, if it names any."""
    match column.type:
        case FieldType.STRING:
            return "text" if watched is None or isinstance(watched, Range) else str(watched)
        case FieldType.BOOLEAN:
            return watched if isinstance(watched, bool) else True
        case FieldType.INTEGER:
            # The upper end: the lower one may lie below the first whole number of the range.
            return int(min(watched.hi // 1, _EXACT)) if isinstance(watched, Range) else _number(watched, 1)
        case FieldType.NUMBER:
            return watched.hi if isinstance(watched, Range) else _number(watched, 1.5)


def _number(watched: Scalar | None, otherwise: float) -> Scalar:
    return watched if isinstance(watched, int | float) else otherwise


def _outcome(deployment: Deployment, monitor: Monitor | None) -> Scalar:
    """What an outcome of the model looks like, in the form that the monitor compares."""
    if monitor is None:
        return 0.5 if deployment.problem_type is ProblemType.REGRESSION else 1
    favourable = monitor.outcomes.favourable[0]
    return favourable.hi if isinstance(favourable, Range) else favourable


def _table(cells: Mapping[str, Any]) -> dict[str, Any]:
    return {"fields": list(cells), "values": [list(cells.values())]}


def _curl(address: str, body: Mapping[str, Any]) -> str:
    return (
        f"curl --silent --fail-with-body {shlex.quote(address)} \\\n"
        f'  --header "Authorization: Bearer ${KEY}" \\\n'
        f"  --header 'Content-Type: application/json' --data-binary @- <<'{_END}'\n"
        f"{_written(body, _json)}\n"
        f"{_END}\n"
    )


def _python(address: str, body: Mapping[str, Any]) -> str:
    return (
        "import os\n\nimport httpx\n\n"
        f"body = {_written(body, repr)}\n"
        f'headers = {{"Authorization": f"Bearer {{os.environ[{KEY!r}]}}"}}\n'
        f"answer = httpx.post({address!r}, json=body, headers=headers)\n"
        "answer.raise_for_status()\n"
        "print(answer.text)\n"
    )


def _json(scalar: Scalar) -> str:
    """As JSON spells it, with characters that cannot be seen as escapes."""
    text = json.dumps(scalar, ensure_ascii=False)
    return "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in text)


def _written(value: Any, spell: Callable[[Scalar], str], indent: str = "") -> str:  # noqa: ANN401 - any value of JSON
    """The value over as many lines as it needs; JSON and Python differ in how they spell a scalar only."""
    if not isinstance(value, dict | list):
        return spell(value)
    inner = indent + "  "
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    parts = (
        [f"{spell(name)}: {_written(below, spell, inner)}" for name, below in value.items()]
        if isinstance(value, dict)
        else [_written(below, spell, inner) for below in value]
    )
    if sum(map(len, parts)) <= _LINE and not any("\n" in part for part in parts):
        return f"{opening}{', '.join(parts)}{closing}"
    lines = ",\n".join(f"{inner}{part}" for part in parts)
    return f"{opening}\n{lines}\n{indent}{closing}"
