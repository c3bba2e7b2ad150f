"""Code that asks a model in its payload format and logs the answer with the Python client."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.deployments import Deployment
from ..domain.values import Scalar
from ..errors import EvenhandError
from ..payloads.codec import JSON, Asking
from ..payloads.registry import codec_of

_MARKS: Mapping[str, float] = {"prediction": 0.8125390625, "probability": 0.1875390625}
"""Exact in binary, so that no format changes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetRow:
    id: str
    features: Mapping[str, Scalar]
    meta: Mapping[str, Scalar]
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AskingSnippet:
    form: str
    code: str


def write_asking(deployment: Deployment, row: SnippetRow, *, base_url: str, key: str, write: Callable[[Any], str]) -> AskingSnippet | None:
    """Code; None without an endpoint, and for formats whose bodies are not JSON or cannot carry the row.

    `write` spells a value in Python; `key` is the variable that holds the API key.
    """
    endpoint, outputs = deployment.endpoint, deployment.outputs
    if endpoint is None or not endpoint.url or outputs.has_only_probabilities:
        return None
    codec = codec_of(endpoint)
    if codec.content_type != JSON or codec.accept != JSON:
        return None
    named = {"prediction": outputs.prediction} | ({"probability": outputs.probability} if outputs.probability is not None else {})
    asking = Asking(outputs=outputs, types=tuple(column.type for column in deployment.schema.features))
    try:
        request = json.loads(codec.write_request(list(row.features), [list(row.features.values())], asking=asking))
        answer = json.loads(codec.write_answer(list(named.values()), [[_MARKS[output] for output in named]]))
    except (EvenhandError, ValueError):
        return None
    places = {value: place for place, value in _places_in(answer)}
    found = {output: places.get(_MARKS[output]) for output in named}
    if found["prediction"] is None:
        return None
    options = "".join(f"    {output}=answer{place},\n" for output, place in found.items() if place is not None)
    meta = f"    meta={write(dict(row.meta))},\n" if row.meta else ""
    code = (
        "import os\n\nimport httpx\nfrom evenhand_client import Evenhand\n\n"
        f"evenhand = Evenhand({base_url!r}, os.environ[{key!r}], {deployment.id!r})\n"
        f"features = {write(dict(row.features))}\n"
        f"request = {write(request)}\n"
        "# Add the credentials that the model asks for, if any.\n"
        f"answer = httpx.post({endpoint.url!r}, json=request).raise_for_status().json()\n"
        "# The places of the outputs in an answer of this format: compare them with an answer of your model.\n"
        f"evenhand.log(\n    features,\n{options}{meta}    id={row.id!r},\n)\n"
        "print(evenhand.flush())\n"
    )
    return AskingSnippet(endpoint.payload_format, code)


def _places_in(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any value of JSON
    """Yields every scalar with its place: `["predictions"][0]`."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if members is None:
        yield place, value
        return
    for name, member in members:
        yield from _places_in(member, f"{place}[{name!r}]")
