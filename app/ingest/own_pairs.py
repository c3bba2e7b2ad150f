"""Logged pairs in any payload format."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import InvalidInput, ScoringFailed
from ..payloads.calls import CallColumns, join_call
from ..payloads.codec import JSON, Codec
from ..payloads.pairs import LoggedCodec, LoggedTable, read_stated
from ..payloads.registry import codec_named, codec_of, codec_of_form, form_of, logged_codec_of
from ..payloads.tables import kind_of
from .plan import IngestPlan

_BINARY = "application/octet-stream"


def read_pair(pair: Mapping[str, Any], plan: IngestPlan) -> LoggedTable:
    """Rows of a decoded pair; bodies that are not JSON are texts or base64."""
    outputs, columns = plan.target.outputs, [column.name for column in plan.target.schema.features]
    codec = _find_codec(pair, plan)
    if isinstance(codec, LoggedCodec):
        return codec.read_pair(pair, outputs=outputs)
    stated = {member: read_stated(pair, member) for member in ("scoring_id", "scoring_timestamp")}
    request, response = _body_of(pair, "request", codec.content_type), _body_of(pair, "response", codec.accept)
    try:
        table = codec.read_request(request, columns)
    except InvalidInput as error:
        raise InvalidInput.of(f"request.{error.problems[0].field}", error.problems[0].message) from error
    if not table.values:
        raise InvalidInput.of("request", "holds no record")
    try:
        answer = codec.read_answer(response, outputs=outputs, expected_rows=len(table.values))
    except ScoringFailed as error:
        raise InvalidInput.of("response", f"cannot be read: {error}") from error
    schema = plan.target.schema
    logged = join_call(table, answer, CallColumns(schema.features, schema.meta, outputs))
    return replace(logged, scoring_id=stated["scoring_id"], scoring_timestamp=stated["scoring_timestamp"])


def _find_codec(pair: Mapping[str, Any], plan: IngestPlan) -> Codec:
    named, endpoint = read_stated(pair, "payload_format"), plan.target.endpoint
    if named is None:
        known = codec_of_form(form_of(pair.get("request")))
        # The first reports the fault of a pair of no format.
        return known or (logged_codec_of(pair) if endpoint is None else codec_of(endpoint))
    return codec_named(named, endpoint)


def _body_of(pair: Mapping[str, Any], member: str, media: str) -> bytes:
    """`media` is the part's type on the wire, or several."""
    part = pair.get(member)
    if part is None:
        raise InvalidInput.of(member, "is missing")
    if isinstance(part, str) and _BINARY in media:
        try:
            return base64.b64decode(part, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidInput.of(member, f"must be base64: in this format bodies are no text ({error})") from error
    if isinstance(part, str):
        try:
            return part.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput.of(member, "holds half of a surrogate pair, which is no text") from error
    if JSON not in media and _BINARY not in media:
        raise InvalidInput.of(member, f"must be text: in this format bodies are {media}, found {kind_of(part)}")
    try:
        return json.dumps(part, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInput.of(member, "holds NaN or an infinity, which JSON does not have") from error
