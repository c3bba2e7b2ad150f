"""Bytes of files as text: what is not of the encoding is found where it is, however the file is cut into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.encodings import decode_parts, find_encoding
from app.base.errors import InvalidInput

ENCODINGS = ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1", "mac-roman", "gb18030", "shift_jis", "koi8-r"]


def _cut(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


@given(st.text("aé€\n,\r\u2028ж", min_size=1).map("a,".__add__), st.sampled_from(ENCODINGS), st.integers(1, 7))
def test_text_is_the_same_in_whatever_parts_it_comes(text: str, encoding: str, size: int) -> None:
    content = text.encode(encoding, "replace")

    assert "".join(decode_parts(_cut(content, size), encoding, "file")) == content.decode(encoding)


@given(st.lists(st.sampled_from(["é", "a", "\n", "€"])).map("".join), st.sampled_from(["", "\ufeff"]), st.integers(1, 7))
def test_the_first_byte_that_is_no_utf_8_is_named_with_its_place(before: str, mark: str, size: int) -> None:
    start = f"{mark}ab{before}".encode()

    with pytest.raises(InvalidInput) as refused:
        list(decode_parts(_cut(start + b"\xe4nlich\n", size), "utf-8", "file"))

    assert f"byte E4 at offset {len(start):,} (line {before.count(chr(10)) + 1}) is not UTF-8" in str(refused.value)


def test_a_file_that_ends_in_the_middle_of_a_character_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"byte C3 at offset 3 \(line 2\) is not UTF-8"):
        list(decode_parts([b"ab\n", b"\xc3"], "utf-8", "file"))
    with pytest.raises(InvalidInput, match=r"byte 0A at offset 6 \(line 1\) is not UTF-16"):
        list(decode_parts(["id\n".encode("utf-16")[:-1]], "utf-16", "file"))


@pytest.mark.parametrize("written", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("read", ["utf-8", "latin-1", "cp1252"])
def test_utf_16_is_never_taken_for_single_bytes(written: str, read: str) -> None:
    with pytest.raises(InvalidInput, match=r"--encoding utf-16(-le)?,"):
        list(decode_parts(["id,sex\n".encode(written)], read, "file"))


def test_utf_16_without_a_byte_order_mark_must_say_its_order() -> None:
    with pytest.raises(InvalidInput, match=r"the beginning is not UTF-16. .* --encoding utf-16-le,"):
        list(decode_parts(["id\n".encode("utf-16-le")], "utf-16", "file"))
    with pytest.raises(InvalidInput, match=r"byte 69 at offset 0 \(line 1\) is not UTF-32"):
        list(decode_parts([b"id,sex\n"], "utf-32", "file"))


def test_only_encodings_of_files_are_taken() -> None:
    taken = {name: find_encoding(name) for name in ("UTF8", "utf-8-sig", "Latin-1", "windows-1252", "utf_16", "UTF-16LE", "ascii", "big5")}

    assert None not in taken.values()
    assert (taken["UTF8"], taken["utf-8-sig"]) == ("utf-8", "utf-8")
    assert {find_encoding(name) for name in ("base64", "idna", "punycode", "unicode_escape", "rot13", "utf-7", "no such", "", "a\0b")} == {
        None
    }
