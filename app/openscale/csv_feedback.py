"""CSV as the SDK sends it, in the form that the ingestion service reads: a header, commas, no lines left out."""

import csv
import io
from dataclasses import dataclass

from ..errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """Options of a CSV. `skip` rows under the header are left out, and after them all but `limit` rows."""

    header: bool
    delimiter: str
    skip: int
    limit: int | None


def cut_csv(body: bytes, options: CsvOptions) -> bytes:
    """Returns the rows that the options leave, with commas between the values.

    Raises:
        InvalidInput: it is not CSV in UTF-8, or has no header.
    """
    if not options.header:
        raise InvalidInput.of("header", "must be true: without a line of column names Evenhand cannot distinguish the values")
    if (options.delimiter, options.skip, options.limit) == (",", 0, None):
        return body
    try:
        lines = list(csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), delimiter=options.delimiter, strict=True))
    except (UnicodeDecodeError, csv.Error, TypeError, ValueError) as error:
        raise InvalidInput.of("body", f"is not CSV in UTF-8 with the delimiter {options.delimiter!r} ({error})") from error
    # As IBM counts: rows, without the header.
    rows = lines[1:][options.skip :]
    written = io.StringIO()
    csv.writer(written).writerows([*lines[:1], *(rows if options.limit is None else rows[: options.limit])])
    return written.getvalue().encode()
