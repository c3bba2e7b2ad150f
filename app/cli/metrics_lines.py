"""Checks that no line of a CSV file is longer than its header."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
from pandas.io.common import get_handle  # type: ignore[import-not-found]  # the stubs leave it out

from ..errors import InvalidInput

BLOCK_BYTES = 2**24
"""Bytes of the file checked at a time, and max bytes of a line."""

FIRST_ROW = 2


def require_no_longer_line(file: Path, names: int, separator: str = ",") -> None:
    """Returns if no line has more values than the header: pandas would cut it, or shift its values, without a warning.

    Where the first line under the header ends with one separator too many, no value moves: that is allowed.

    Raises:
    InvalidInput: a line has more.
    ValueError: it is not CSV, or not packed as its name says.
    """
    longer = _find_longer_row(file, names, separator)
    if longer is not None:
        row, values = longer
        columns = "one column" if names == 1 else f"{names} columns"

        # A quoted value may span several lines, and empty lines are not rows.
        line = 1
        with get_handle(file, "r", encoding="utf-8", compression="infer") as opened:
            reader, rows = csv.reader(opened.handle, delimiter=separator), 0
            for read in reader:
                rows += bool(read)
                if rows == row:
                    break
                line = reader.line_num + 1
        raise InvalidInput.of("file", f"line {line} of {file.name} has {values} values, but its header names {columns}")


def _find_longer_row(file: Path, names: int, separator: str) -> tuple[int, int] | None:
    found: list[tuple[int, int]] = []
    ends_with_separator = False

    def note(row: arrow_csv.InvalidRow) -> str:
        nonlocal ends_with_separator
        if row.actual_columns < names:
            return "skip"
        is_one_more_empty = row.actual_columns == names + 1 and row.text.endswith((separator, f'{separator}""'))
        ends_with_separator |= is_one_more_empty and row.number == FIRST_ROW
        if is_one_more_empty and ends_with_separator:
            return "skip"
        found.append((row.number, row.actual_columns))
        return "error"

    columns = [str(place) for place in range(names)]
    with get_handle(file, "rb", compression="infer", is_text=False) as opened:
        try:
            reader = arrow_csv.open_csv(
                opened.handle,
                # One thread: only then are rows numbered. The header is checked like a line.
                arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=columns),
                arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=note),
                # One column suffices, in the type that needs no parsing.
                arrow_csv.ConvertOptions(include_columns=columns[:1], column_types={columns[0]: pa.binary()}),
            )
            for _ in reader:
                pass
        except pa.ArrowInvalid:
            if not found:
                raise
    return found[0] if found else None
