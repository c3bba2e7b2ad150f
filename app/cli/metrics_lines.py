"""Whether the lines of a CSV file that is measured are as long as its header."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
from pandas.io.common import get_handle  # type: ignore[import-not-found]  # the stubs leave it out

from app.errors import InvalidInput

BLOCK_BYTES = 2**24
"""Of the file, looked through at a time; no line may be longer."""

FIRST_ROW = 2
"""The header is row 1."""


def require_no_longer_line(file: Path, names: int) -> None:
    """Returns if no line has more values than the header names columns; a line may have fewer.

    Pandas would cut longer ones, or move their values into other columns, without a word. Where the first line under the header,
    and with it others, ends with a separator too many, nothing is moved: that is passed over.

    Raises:
        InvalidInput: a line has more.
        ValueError: it is no CSV, or not packed as its name says; or another error that unpacking raises.
    """
    longer = _first_longer(file, names)
    if longer is not None:
        row, values = longer
        columns = "one column" if names == 1 else f"{names} columns"
        raise InvalidInput.of("file", f"line {_line_of(file, row)} of {file.name} has {values} values, but its header names {columns}")


def _first_longer(file: Path, names: int) -> tuple[int, int] | None:
    """The first row that is longer, not counting empty lines, and how many values it has."""
    found: list[tuple[int, int]] = []
    ends_with_separator = False

    def note(row: arrow_csv.InvalidRow) -> str:
        nonlocal ends_with_separator
        if row.actual_columns < names:
            return "skip"
        is_one_more_empty = row.actual_columns == names + 1 and row.text.endswith((",", ',""'))
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
                # One thread: only then are rows numbered. The header is looked through like a line.
                arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=columns),
                arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
                # One column suffices, in the type that needs no reading.
                arrow_csv.ConvertOptions(include_columns=columns[:1], column_types={columns[0]: pa.binary()}),
            )
            for _ in reader:
                pass
        except pa.ArrowInvalid:
            if not found:
                raise
    return found[0] if found else None


def _line_of(file: Path, row: int) -> int:
    """The line on which that row begins: a quoted value may hold several, and empty ones are no row."""
    line = 1
    with get_handle(file, "r", encoding="utf-8", compression="infer") as opened:
        reader, rows = csv.reader(opened.handle), 0
        for values in reader:
            rows += bool(values)
            if rows == row:
                break
            line = reader.line_num + 1
    return line
