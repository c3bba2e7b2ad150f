"""The files of `evenhand metrics`: the measured CSV, and the results."""

import csv
import json
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
from pandas.io.common import get_handle  # type: ignore[import-not-found]  # the stubs leave it out

from ..domain.spreadsheets import harmless
from ..domain.values import number_of
from ..errors import InvalidInput
from ..frames import Report
from .file_options import RANGE

FORMATS = (".json", ".csv")

_UNREADABLE = (
    ValueError,
    pa.ArrowException,
    csv.Error,
    OSError,
    MemoryError,
    # By its name, pandas unpacks a file, which may be damaged, cut off, encrypted, or packed in a way this machine cannot unpack.
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    RuntimeError,
    ImportError,
)

BLOCK_BYTES = 2**24
"""Bytes of the file checked at a time, and max bytes of a line."""
FIRST_ROW = 2


@dataclass(frozen=True, slots=True)
class Declared:
    """Columns of numbers, texts that are missing values, and listed values by column, as options say.

    A column is one of numbers, too, if a range is listed for it, such as `18-25`, that none of its cells spells.
    """

    numbers: Collection[str | None] = ()
    missing: Collection[str] = ()
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)


NOTHING_DECLARED = Declared()


class CsvCells(NamedTuple):
    """The columns, and a sentence on each column of numbers with cells that are none."""

    frame: pd.DataFrame
    notes: list[str]


def read(file: Path, columns: Mapping[str, Sequence[str | None]], declared: Declared = NOTHING_DECLARED) -> CsvCells:
    """Returns the columns named by the arguments: texts, and numbers where that is declared. Only an empty cell is missing.

    A line with fewer values than the header lacks the last ones. Values may be separated by semicolons or tabs instead of commas, as
    spreadsheets write them: where only one of these gives the header the columns that are wanted. A cell that is no number in a column of
    numbers is missing.

    Raises:
        InvalidInput: the file is not CSV, a line has more values than the header, or a column is missing or occurs twice.
    """
    with _report_unreadable(file):
        # As the file spells the names: pandas renames the second of two equal ones.
        header, separator = _read_header(file, ","), ","
        wanted = {name for names in columns.values() for name in names if name is not None}
        # A name with a comma in it is found first.
        for other in (";", "\t") if len(header) == 1 and not wanted <= set(header) else ():
            apart = _read_header(file, other)
            if wanted <= set(apart):
                header, separator = apart, other

    places = set()
    for argument, name in ((argument, name) for argument, names in columns.items() for name in names if name is not None):
        namesakes = header.count(name)
        if namesakes == 0:
            raise InvalidInput.of(argument, f"{name!r} is not a column of {file.name}, which has {', '.join(header)}")
        if namesakes > 1:
            raise InvalidInput.of(argument, f"{name!r} is the name of {namesakes} columns of {file.name}; rename all but one")
        places.add(header.index(name))

    with _report_unreadable(file):
        require_no_longer_line(file, len(header), separator)
        frame = pd.read_csv(
            file,
            sep=separator,
            usecols=sorted(places),
            index_col=False,
            dtype=str,
            keep_default_na=False,
            na_values=["", *declared.missing],
        )
    frame.columns = pd.Index([header[place] for place in sorted(places)])
    return _read_numbers(frame, columns, declared)


def _read_numbers(frame: pd.DataFrame, columns: Mapping[str, Sequence[str | None]], declared: Declared) -> CsvCells:
    for name in declared.numbers:
        if name is not None and name not in frame.columns:
            raise InvalidInput.of("number", f"{name!r} is not a column that another option names")
    notes = []
    for name in frame.columns:
        ranges = [text for text in declared.listed.get(name, ()) if RANGE.fullmatch(text)]
        if name not in declared.numbers and (not ranges or frame[name].isin(ranges).any()):
            continue
        numbers = frame[name].map(number_of, na_action="ignore").astype("float64")
        others = frame[name][numbers.isna() & frame[name].notna()]
        if not others.empty:
            first = f"{others.iloc[0]!r:.100} in record {int(others.index[0]) + 1:,}"
            if numbers.isna().all():
                option = next(option for option, names in columns.items() if name in names)
                raise InvalidInput.of(option, f"{name!r} must hold numbers and has none, the first cell is {first}")
            notes.append(f"{name!r} holds numbers: {others.size:,} of its {len(frame):,} cells are none and left out, the first {first}.")
        frame[name] = numbers
    return CsvCells(frame, notes)


def _read_header(file: Path, separator: str) -> list[str]:
    header: list[str] = pd.read_csv(file, sep=separator, header=None, nrows=1, dtype=str, na_filter=False).iloc[0].tolist()
    return header


def check_output(output: Path, file: Path) -> None:
    if output.suffix not in FORMATS:
        raise InvalidInput.of("output", f"must end in {' or '.join(FORMATS)}, found {output.name!r}")
    check_target(output, file)


def check_target(output: Path, file: Path) -> None:
    try:
        target = output.resolve()
        is_there = target.exists()
        is_measured, is_file = is_there and target.samefile(file), target.is_file()
    except OSError as error:
        raise InvalidInput.of("output", f"{output} cannot be written: {error.strerror}") from error
    except RuntimeError as error:
        raise InvalidInput.of("output", f"{output} is a link that leads back to itself") from error
    if is_measured:
        raise InvalidInput.of("output", f"{output} is the file that is measured; write to another one")
    if is_there and not is_file:
        raise InvalidInput.of("output", f"{output} is not a file that can be written")


def write(report: Report | Sequence[Report], output: Path) -> None:
    """Writes the measurements, as a whole or not at all."""
    if output.suffix == ".csv":
        text = _format_csv(report)
    else:
        written = report.to_json() if isinstance(report, Report) else [one.to_json() for one in report]
        text = json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput.of("output", f"{output} cannot be written: {error.object[error.start : error.end]!r} is no text") from error
    write_bytes(content, output)


def write_bytes(content: bytes, output: Path) -> None:
    """Writes a file, as a whole or not at all."""
    # A link's target, not the link; and only within its own folder can the new file replace it atomically.
    target = output.resolve()
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with half.open("xb") as unfinished:
            unfinished.write(content)
        half.replace(target)
    except OSError as error:
        raise InvalidInput.of("output", f"{output} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            half.unlink()


@contextmanager
def _report_unreadable(file: Path) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise InvalidInput.of("file", f"{file.name} cannot be read as CSV: {error}") from error


def _format_csv(report: Report | Sequence[Report]) -> str:
    if isinstance(report, Report):
        frame = report.to_frame()
    else:
        frames = [one.to_frame() for one in report]
        for part, one in zip(frames, report, strict=True):
            part.insert(0, "attribute", one.attribute)
        frame = pd.concat(frames)
    texts = frame.select_dtypes(exclude="number").columns
    # Names of groups come from the measured file, and a spreadsheet would run some texts as formulas.
    escaped = {
        str(name): frame[name].map(lambda text: harmless(text) if number_of(text) is None else text, na_action="ignore") for name in texts
    }
    return frame.assign(**escaped).to_csv(index=False, lineterminator="\n")


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
