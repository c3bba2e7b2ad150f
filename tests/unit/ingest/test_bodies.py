import gzip
import zlib

import pytest

from app.errors import InvalidInput, TooLarge, UnsupportedMediaType
from app.ingest.bodies import decoded_json, decompressed
from app.ingest.limits import MAX_BODY_BYTES


def test_gzip_is_unpacked_also_when_it_came_in_several_members() -> None:
    assert decompressed(gzip.compress(b"abc") + gzip.compress(b"def"), "gzip") == b"abcdef"


def test_a_bomb_is_refused_without_being_unpacked() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    body = b"".join(bomb.compress(bytes(2**20)) for _ in range(MAX_BODY_BYTES // 2**20 + 1)) + bomb.flush()

    with pytest.raises(TooLarge):
        decompressed(body, "gzip")


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b"abc" * 100)[:-9], gzip.compress(b"") * 100])
def test_what_is_not_one_whole_gzip_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        decompressed(body, "gzip")


def test_other_encodings_are_refused() -> None:
    with pytest.raises(UnsupportedMediaType):
        decompressed(b"", "br")


def test_what_pythons_json_writes_of_nan_is_let_through_to_the_records() -> None:
    decoded = decoded_json(b'[NaN, "\\ud800"]')

    assert not decoded.is_plain
    assert decoded.value[1] == "\ud800"
