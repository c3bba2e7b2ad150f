"""Carries a report's data in its HTML, PDF and CSV, each with the SHA-256 of the file."""

import base64
import csv
import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from operator import getitem

from ...base.errors import InvalidInput
from ...records.second_look.flagged_csv import write_csv_lines
from ..document import Json

_HASH = re.compile(
    rb"(?:<!-- evenhand-sha256 |%evenhand-sha256 |file,,,sha256,)([0-9a-f]{64})(?: -->)?\r?\n\Z"
)
_HTML_DATA = re.compile(rb"<!-- evenhand-report ([A-Za-z0-9+/=]+) -->\n")
_PDF_STREAM = re.compile(rb"stream\r?\n")
_CSV_MEMBERS = ("kind", "format", "deployment.id", "period.start", "period.end", "seal", "chain_head")

NO_HASH = (
    "has no hash of its own: it was made by an earlier version of Evenhand, or its end was cut off; "
    "verify the JSON of the report"
)


def seal_html(html: bytes, content: bytes) -> bytes:
    """Appends the JSON, packed, in a comment, then the hash of all before."""
    unsealed = (
        html.rstrip(b"\n")
        + b"\n<!-- evenhand-report "
        + base64.b64encode(zlib.compress(content, 9))
        + b" -->\n"
    )
    return unsealed + b"<!-- evenhand-sha256 " + _hash_content(unsealed) + b" -->\n"


def seal_pdf(pdf: bytes) -> bytes:
    """Appends a comment with the hash to the PDF, to which the JSON is attached."""
    # Readers look for the end of a PDF in its last 1,024 bytes.
    unsealed = pdf if pdf.endswith(b"\n") else pdf + b"\n"
    return unsealed + b"%evenhand-sha256 " + _hash_content(unsealed) + b"\n"


def seal_csv(rows: Iterable[Sequence[str]], report: Json) -> bytes:
    """Appends the report's members, its chain, and the hash of all before."""
    members = [
        ("report", "", "", path, str(reduce(getitem, path.split("."), report))) for path in _CSV_MEMBERS
    ]
    chain = [("chain", "", entry["part"], "digest", entry["digest"]) for entry in report["chain"]]
    unsealed = write_csv_lines([*rows, *members, *chain])
    return unsealed + b"file,,,sha256," + _hash_content(unsealed) + b"\r\n"


def is_whole(content: bytes) -> bool:
    """Compares the file with the hash that it ends with.

    Raises:
        InvalidInput: it ends with none.
    """
    match = _HASH.search(content)
    if match is None:
        raise InvalidInput("file", NO_HASH)
    return _hash_content(content[: match.start()]) == match[1]


def read_html(content: bytes) -> bytes:
    """Reads the page's JSON.

    Raises:
        InvalidInput: it carries none.
    """
    match = _HTML_DATA.search(content)
    try:
        return zlib.decompress(base64.b64decode(match[1])) if match else _refuse_form("HTML")
    except (ValueError, zlib.error) as error:
        raise InvalidInput(
            "file", "carries a report that cannot be unpacked: the file was changed"
        ) from error


def read_pdf(content: bytes, *, opening: bytes) -> bytes:
    """Reads the attached JSON, which begins with `opening`.

    Raises:
        InvalidInput: there is none.
    """
    for match in _PDF_STREAM.finditer(content):
        with suppress(zlib.error):
            unpacked = zlib.decompressobj().decompress(content[match.end() :])
            if unpacked.startswith(opening):
                return unpacked
    return _refuse_form("PDF")


def read_csv(content: bytes) -> Json:
    """Reads the members that verify a report, and its chain.

    Raises:
        InvalidInput: it has none.
    """
    try:
        table = csv.reader(io.StringIO(content.decode(), newline=""))
        rows = [row for row in table if len(row) == 5]  # noqa: PLR2004 - columns of the file
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput("file", "must be a report of a deployment, and is no text") from error
    members: Json = {name: value for sheet, _, _, name, value in rows if sheet == "report"}
    chain = [{"part": part, "digest": digest} for sheet, _, part, _, digest in rows if sheet == "chain"]
    if not set(_CSV_MEMBERS) <= set(members):
        _refuse_form("CSV")
    if members["format"].isdigit():
        members["format"] = int(members["format"])
    report: Json = {"chain": chain}
    for path in _CSV_MEMBERS:
        parent, _, name = path.rpartition(".")
        (report.setdefault(parent, {}) if parent else report)[name] = members[path]
    return report


def _hash_content(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _refuse_form(form: str) -> bytes:
    raise InvalidInput("file", f"is {form} that carries no report of `evenhand report --deployment`")
