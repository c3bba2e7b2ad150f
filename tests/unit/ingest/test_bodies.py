import gzip
import json
import zlib

import pytest

from app.base.errors import InvalidInput, TooLarge, UnsupportedMediaType
from app.intake.logging.decode_body import MAX_BODY_BYTES, MAX_COMMAS, MAX_CONTAINERS, decode_json, decompress_body, require_decodable
from app.intake.logging.ingest_plan import MAX_RECORDS
from app.intake.logging.log_request import LogRequest, read_feedback, read_payload
from tests.unit.ingest.plans import MOMENTS, plan

PLAN = plan()


def test_gzip_is_unpacked_also_when_it_came_in_several_members() -> None:
    assert decompress_body(gzip.compress(b"abc") + gzip.compress(b"def"), "gzip") == b"abcdef"


@pytest.mark.nightly
def test_a_bomb_is_refused_without_being_unpacked() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    body = b"".join(bomb.compress(bytes(2**20)) for _ in range(MAX_BODY_BYTES // 2**20 + 1)) + bomb.flush()

    with pytest.raises(TooLarge):
        decompress_body(body, "gzip")


# Named, and without a time: a name made of bytes that hold the second would differ between the workers that collect it.
@pytest.mark.parametrize(
    "body", [b"no gzip", gzip.compress(b"abc" * 100, mtime=0)[:-9], gzip.compress(b"", mtime=0) * 100], ids=["text", "cut", "members"]
)
def test_what_is_not_one_whole_gzip_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        decompress_body(body, "gzip")


def test_other_encodings_are_refused() -> None:
    with pytest.raises(UnsupportedMediaType):
        decompress_body(b"", "br")


def test_what_pythons_json_writes_of_nan_is_let_through_to_the_records() -> None:
    decoded = decode_json(b'[NaN, "\\ud800"]')

    assert decoded[1] == "\ud800"


@pytest.mark.parametrize(("body", "names"), [(b"[],", "arrays and objects"), (b'{"":[', "arrays and objects"), (b"0,", "commas")])
def test_json_of_more_parts_than_records_have_is_refused_before_anything_is_made_of_it(body: bytes, names: str) -> None:
    bomb = gzip.compress(body * (MAX_COMMAS + 1 if names == "commas" else MAX_CONTAINERS + 1))

    with pytest.raises(TooLarge, match=names):
        read_payload(LogRequest(body=bomb, encoding="gzip"), PLAN, MOMENTS)
    with pytest.raises(TooLarge, match=names):
        read_feedback(LogRequest(body=bomb, encoding="gzip"), PLAN, MOMENTS)


@pytest.mark.nightly
def test_a_full_batch_of_wide_records_is_let_through() -> None:
    record = {"features": {f"column_{position}": position for position in range(200)}, "probability": [0.25, 0.75], "meta": {}}
    body = json.dumps({"records": [record] * MAX_RECORDS}).encode()

    require_decodable(body)
