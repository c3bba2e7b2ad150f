"""Code that logs records of one deployment. Never holds a key.

Names and values are escaped: JSON in a quoted here-document for the shell, and Python's own literals.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...base.errors import EvenhandError
from ...base.strict_json import JsonObject
from ...base.values import GroupValue, Range, Scalar, frozen
from ...domain.deployment import Column, Deployment, FieldType, ProblemType
from ...domain.monitor import Monitor
from ...payloads.codec import JSON, RequestOptions
from ...payloads.read_call import LoggedTable
from ...payloads.registry import PAIR_CODEC, PAIR_FORMAT, bind_codec
from ...sources.stored.record_queries import StoredRecord

RECORDS = "records"
CLIENT = "client"

KEY_VARIABLE = "EVENHAND_KEY"

_HEREDOC_END = "JSON"
_MAX_LINE_CHARACTERS = 60

_MAX_EXACT_INTEGER = 2**53

_PLACEHOLDERS = {"prediction": 0.8125390625, "probability": 0.1875390625}
"""Answers by which the place of an output is found; exact in binary, so that no format changes them."""


@frozen
class Snippet:
    logs: str
    form: str
    language: str
    code: str
    asks_model: bool = False


def build_example_body(
    deployment: Deployment, monitor: Monitor | None, newest: StoredRecord | None
) -> JsonObject:
    return _Example(deployment, monitor, newest).write_records("example-1")


def write_snippets(
    deployment: Deployment, monitor: Monitor | None, newest: StoredRecord | None, *, base_url: str
) -> list[Snippet]:
    """Uses the values of `newest` if it has the present columns. Ids differ, so that all snippets can be
    tried.
    """
    base_url = base_url.rstrip("/")
    root = f"{base_url}/v1/deployments/{deployment.id}"
    payload = f"{root}/payload-records"
    feedback = f"{root}/feedback-records"
    example = _Example(deployment, monitor, newest)
    asking = _write_asking(deployment, example, base_url=base_url)
    arguments = [
        *example.build_answer().items(),
        *([("meta", example.meta)] if example.meta else []),
        ("id", "example-client-1"),
    ]
    options = "".join(f"    {name}={_write_python_value(value)},\n" for name, value in arguments)
    return [
        Snippet(
            "payload",
            CLIENT,
            "python",
            (
                "import os\n\nfrom evenhand_client import Evenhand\n\n"
                f"evenhand = Evenhand({base_url!r}, os.environ[{KEY_VARIABLE!r}], {deployment.id!r})\n"
                f"evenhand.log(\n    {_write_python_value(example.features)},\n{options})\n"
                "print(evenhand.flush())\n"
            ),
        ),
        *([] if asking is None else [asking]),
        Snippet("payload", RECORDS, "sh", _write_curl(payload, example.write_records("example-curl-1"))),
        Snippet("payload", PAIR_FORMAT, "sh", _write_curl(payload, example.write_pair("example-call"))),
        Snippet(
            "payload", RECORDS, "python", _write_python(payload, example.write_records("example-python-1"))
        ),
        Snippet(
            "payload",
            PAIR_FORMAT,
            "python",
            _write_python(payload, example.write_pair("example-python-call")),
        ),
        Snippet("feedback", RECORDS, "sh", _write_curl(feedback, example.write_labels("example-curl-1"))),
        Snippet(
            "feedback", RECORDS, "python", _write_python(feedback, example.write_labels("example-python-1"))
        ),
    ]


class _Example:
    """Values of the example: those of the newest record, if it has the present columns; else made up by type
    and monitor.
    """

    def __init__(self, deployment: Deployment, monitor: Monitor | None, newest: StoredRecord | None) -> None:
        self._outputs = deployment.outputs
        self._newest = newest if newest and newest.schema_version == deployment.schema.version else None
        self.features = _choose_cells(deployment.schema.features, monitor)
        if self._newest is not None:
            for column, value in zip(deployment.schema.features, self._newest.features, strict=True):
                if value is not None:
                    self.features[column.name] = value
        self.meta = _choose_cells(deployment.schema.meta, monitor)
        self._is_regression = deployment.problem_type is ProblemType.REGRESSION
        self._outcome: Scalar = 0.5 if self._is_regression else 1
        if monitor is not None:
            favourable = monitor.outcomes.favourable[0]
            self._outcome = favourable.hi if isinstance(favourable, Range) else favourable

    def write_records(self, record_id: str) -> JsonObject:
        record = {"id": record_id, "features": self.features}
        if self.meta:
            record["meta"] = self.meta
        return {"records": [record | self.build_answer()]}

    def write_pair(self, call: str) -> JsonObject:
        answer = self.build_answer()
        table = LoggedTable(
            fields=tuple(self.features),
            rows=[list(self.features.values())],
            meta_fields=tuple(self.meta),
            meta_rows=[list(self.meta.values())] if self.meta else None,
            predictions=[answer["prediction"]],
            probabilities=[answer["probability"]] if "probability" in answer else None,
            labels=[answer["label"]] if "label" in answer else None,
            scoring_id=call,
        )
        return PAIR_CODEC.write_pair(table, outputs=self._outputs)

    def write_labels(self, record_id: str) -> JsonObject:
        return {"records": [{"id": record_id, "label": self._outcome}]}

    def build_answer(self) -> JsonObject:
        if self._newest is not None:
            logged = self._newest.answer
            members = {
                "prediction": logged.prediction,
                "probability": logged.probability,
                "label": logged.label,
            }
            return {name: value for name, value in members.items() if value is not None}
        has_label = self._outputs.label is not None
        answer = {"prediction": 1 if has_label and not self._is_regression else self._outcome}
        if self._outputs.probability is not None:
            answer["probability"] = 0.9
        if has_label:
            answer["label"] = self._outcome
        return answer


def _choose_cells(columns: Sequence[Column], monitor: Monitor | None) -> dict[str, Scalar]:
    watched = {}
    if monitor is not None:
        watched = {attribute.feature: attribute.monitored[0] for attribute in monitor.attributes}
    return {column.name: _choose_cell(column, watched.get(column.name)) for column in columns}


def _choose_cell(column: Column, watched: GroupValue | None) -> Scalar:
    if column.storage is not None and column.storage.groups:
        return column.storage.groups[0].label if watched is None else str(watched)
    if column.storage is not None:
        return "text"
    match column.type:
        case FieldType.STRING:
            return "text" if watched is None or isinstance(watched, Range) else str(watched)
        case FieldType.BOOLEAN:
            return watched if isinstance(watched, bool) else True
        case FieldType.INTEGER:
            if isinstance(watched, Range):
                # The lower end may lie below the first whole number of the range.
                return int(min(watched.hi // 1, _MAX_EXACT_INTEGER))
            return _choose_number(watched, default=1)
        case FieldType.NUMBER:
            return watched.hi if isinstance(watched, Range) else _choose_number(watched, default=1.5)


def _choose_number(watched: Scalar | None, *, default: float) -> Scalar:
    return watched if isinstance(watched, int | float) else default


def _write_curl(address: str, body: JsonObject) -> str:
    return (
        f"curl --silent --fail-with-body {shlex.quote(address)} \\\n"
        f'  --header "Authorization: Bearer ${KEY_VARIABLE}" \\\n'
        f"  --header 'Content-Type: application/json' --data-binary @- <<'{_HEREDOC_END}'\n"
        f"{_write_value(body, _spell_json)}\n"
        f"{_HEREDOC_END}\n"
    )


def _write_python(address: str, body: JsonObject) -> str:
    return (
        "import os\n\nimport httpx\n\n"
        f"body = {_write_value(body, repr)}\n"
        f'headers = {{"Authorization": f"Bearer {{os.environ[{KEY_VARIABLE!r}]}}"}}\n'
        f"answer = httpx.post({address!r}, json=body, headers=headers)\n"
        "answer.raise_for_status()\n"
        "print(answer.text)\n"
    )


def _write_python_value(value: Any) -> str:  # noqa: ANN401 - any value of JSON
    return _write_value(value, repr, "    ")


def _spell_json(scalar: Scalar) -> str:
    # A line break or a bidirectional mark inside a value could disguise the code.
    text = json.dumps(scalar, ensure_ascii=False)
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )


def _write_value(value: Any, spell: Callable[[Scalar], str], indent: str = "") -> str:  # noqa: ANN401 - any value of JSON
    if not isinstance(value, dict | list):
        return spell(value)
    inner = indent + "  "
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    members = (
        [f"{spell(name)}: {_write_value(nested, spell, inner)}" for name, nested in value.items()]
        if isinstance(value, dict)
        else [_write_value(nested, spell, inner) for nested in value]
    )
    if sum(map(len, members)) <= _MAX_LINE_CHARACTERS and not any("\n" in member for member in members):
        return f"{opening}{', '.join(members)}{closing}"
    lines = ",\n".join(f"{inner}{member}" for member in members)
    return f"{opening}\n{lines}\n{indent}{closing}"


def _write_asking(deployment: Deployment, example: _Example, *, base_url: str) -> Snippet | None:
    """None without an endpoint, and for formats whose bodies are not JSON or cannot hold the row."""
    endpoint = deployment.endpoint
    outputs = deployment.outputs
    if endpoint is None or not endpoint.url or outputs.has_only_probabilities:
        return None
    codec = bind_codec(endpoint)
    if codec.content_type != JSON or codec.accept != JSON:
        return None
    output_names = {"prediction": outputs.prediction}
    if outputs.probability is not None:
        output_names["probability"] = outputs.probability
    request_options = RequestOptions(
        outputs=outputs, types=tuple(column.type for column in deployment.schema.features)
    )
    try:
        request = json.loads(
            codec.write_request(list(example.features), [list(example.features.values())], request_options)
        )
        answer = json.loads(
            codec.write_answer(
                list(output_names.values()), [[_PLACEHOLDERS[output] for output in output_names]]
            )
        )
    except (EvenhandError, ValueError):
        return None
    paths = {value: path for path, value in _list_paths(answer)}
    path_by_output = {output: paths.get(_PLACEHOLDERS[output]) for output in output_names}
    if path_by_output["prediction"] is None:
        return None
    options = "".join(
        f"    {output}=answer{path},\n" for output, path in path_by_output.items() if path is not None
    )
    meta = f"    meta={_write_python_value(example.meta)},\n" if example.meta else ""
    code = (
        "import os\n\nimport httpx\nfrom evenhand_client import Evenhand\n\n"
        f"evenhand = Evenhand({base_url!r}, os.environ[{KEY_VARIABLE!r}], {deployment.id!r})\n"
        f"features = {_write_python_value(example.features)}\n"
        f"request = {_write_python_value(request)}\n"
        "# Add the credentials that the model asks for, if any.\n"
        f"answer = httpx.post({endpoint.url!r}, json=request).raise_for_status().json()\n"
        "# The places of the outputs in an answer of this format: "
        "compare them with an answer of your model.\n"
        f"evenhand.log(\n    features,\n{options}{meta}    id='example-asked-1',\n)\n"
        "print(evenhand.flush())\n"
    )
    return Snippet("payload", endpoint.payload_format, "python", code, asks_model=True)


def _list_paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any value of JSON
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _list_paths(member, f"{path}[{name!r}]")
    elif isinstance(value, list):
        for position, member in enumerate(value):
            yield from _list_paths(member, f"{path}[{position}]")
    else:
        yield path, value
