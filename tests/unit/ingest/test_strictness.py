"""The look at a whole body: ids that look like tiny numbers cost nothing, and tiny numbers are seen."""

import json
import uuid

import pytest

from app.base.errors import InvalidInput
from app.base.strict_json import require_strict
from app.intake.logging.decode_body import is_evidently_strict


def test_bodies_of_uuids_are_strict_at_one_look() -> None:
    ids = [str(uuid.UUID(int=no * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for no in range(1000)]
    body = json.dumps({"records": [{"id": id_, "more": f"of {id_}"} for id_ in ids]}).encode()

    assert is_evidently_strict(body, 2001, 0)


@pytest.mark.parametrize("space", [b"", b" ", b"\t", b"\r\n"])
@pytest.mark.parametrize("time", [b"2026-01-31T10:00:00Z", b"2026-01-31T10:00:00+00:00", b"2026-01-31T10\\u003a00:00Z"])
@pytest.mark.parametrize("text", [b"plain", b"a:b", b"\\u003a", b'\\":'])
def test_colons_in_values_hide_no_member_that_is_named_twice(space: bytes, time: bytes, text: bytes) -> None:
    once = b'{"at"' + space + b':"' + time + b'","text"' + space + b': "' + text + b'"}'
    twice = once.replace(b'"text"', b'"text"' + space + b':1,"text"')
    looks_like_a_member = b'":' in text

    assert is_evidently_strict(once, 2, 1) is not looks_like_a_member
    assert not is_evidently_strict(twice, 2, 1)


@pytest.mark.parametrize("number", [b"1e-400", b"-1e-400", b"1.5E-999", b"10e-0400"])
@pytest.mark.parametrize("before", [b'{"a":', b'{"a": ', b'{"a":[1,', b'{"a":['])
def test_a_number_that_may_vanish_is_looked_at_closely(before: bytes, number: bytes) -> None:
    body = before + number + (b"]}" if b"[" in before else b"}")

    assert not is_evidently_strict(body, 1, 0)
    with pytest.raises(InvalidInput, match="too small"):
        require_strict(body)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_json_in_another_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        require_strict('{"a": 1, "a": 2}'.encode(encoding))
