"""Files of the commands that measure: options they share, the CSV that is read, the results written."""

import csv
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.io.common import get_handle  # type: ignore[import-not-found]  # the stubs leave it out
from rich.console import Console
from typer import Argument, BadParameter, Option, echo

from ...base.encodings import UTF_8, decode_parts, find_encoding
from ...base.errors import InvalidInput
from ...base.spreadsheets import escape_formula, find_separator
from ...base.values import EXACT, exact_number, find_nearest, frozen, quote_names, read_number
from ...domain.groups import count_twins, describe_twins, drop_twins
from ...library.frame_columns import convert_some_numbers, is_numeric_column
from ...library.frame_report import NOT_NUMBERS, Report
from .metrics_report import escape_unprintable

MAX_UNPACKED_RATIO = 100
MIN_UNPACKED_BYTES = 64 * 2**20
"""A file may unpack to `MAX_UNPACKED_RATIO` times its size, or to `MIN_UNPACKED_BYTES` if that is more."""

CONSOLE_WIDTH = 100
"""Characters of a line if the output is no terminal."""

Text = str | None
Texts = list[str] | None
Favourable = Annotated[
    Texts, Option(help="A favourable value, or range lo-hi of numbers; by default 1. Repeatable.")
]
Unfavourable = Annotated[
    Texts, Option(help="An unfavourable value or range; by default every other value. Repeatable.")
]
Monitored = Annotated[
    Texts,
    Option(
        help="A value or range lo-hi to watch; by default every value but the reference. With several "
        "attributes, NAME=VALUE. Repeatable."
    ),
]
Reference = Annotated[
    Texts,
    Option(
        help="A value or range to compare with; by default every other value or, without --monitored, the "
        "largest group. Repeatable."
    ),
]

Numbers = Annotated[
    Texts,
    Option(
        help="Column that holds numbers: 1 and 1.0 are one value there. A column with a range is one. "
        "Repeatable."
    ),
]
MissingTexts = Annotated[
    Texts, Option(help="Text that means a missing value, such as NA; an empty cell always does. Repeatable.")
]

OUTPUT_ENDINGS = (".json", ".csv")

_READ_ERRORS = (
    ValueError,
    csv.Error,
    OSError,
    MemoryError,
    # pandas unpacks a file by its name. It may be damaged, cut off, encrypted, or packed in a way that this
    # machine cannot unpack.
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    KeyError,  # a link in an archive
    RuntimeError,
    ImportError,
)


def _read_encoding(name: str) -> str:
    encoding = find_encoding(name)
    if encoding is None:
        raise BadParameter(
            f"must be an encoding of text, such as latin-1, cp1252 or utf-16; found {name!r:.50}"
        )
    return encoding


Encoding = Annotated[
    str, Option(callback=_read_encoding, help="Encoding of a file of text, such as latin-1 or utf-16.")
]

MeasuredFile = Annotated[
    Path,
    Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header."),
]
PredictionColumn = Annotated[Text, Option(help="Column of the model's predictions.")]
Attributes = Annotated[
    list[str], Option(help="Column whose groups are compared. With two or three, their combinations are.")
]
LabelColumn = Annotated[Text, Option(help="Column of the ground-truth labels.")]
TimeColumn = Annotated[
    str, Option(help="Column of the times or dates: ISO 8601 or digits, UTC unless it says otherwise.")
]
TimeFormat = Annotated[
    Text,
    Option(
        help="How times are written: a pattern such as %d.%m.%Y_%H:%M, or s, ms, us, ns, dotnet, filetime "
        "or excel."
    ),
]
Earliest = Annotated[Text, Option(help="First possible day; by default 1 January 20 years before now.")]
PersonColumn = Annotated[
    Text, Option(help="Column of person ids. Only the first record of each person counts.")
]
AnotherPerson = Annotated[
    str | None,
    Option(
        "--each-record-another-person",
        metavar="NAME",
        help="Declare with your name that no two records are of one person. Without it and --person, evidence "
        "counts at a tenth.",
    ),
]
LowerLimit = Annotated[
    float, Option(help="Lower limit of the ratio of favourable rates; the upper one is 1 / limit.")
]

NUMBER_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")
_OPTION_NAMES = {"features": "--feature", "metrics": "--metric", "file": "FILE", "frame": "FILE"}


def open_console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=CONSOLE_WIDTH)


def parse_values(frame: pd.DataFrame, columns: Sequence[str | None], texts: Sequence[str]) -> list[Any]:
    """If all columns hold numbers, as numbers and ranges, else as texts."""
    if not all(is_numeric_column(frame[name]) for name in columns if name in frame):
        return list(texts)
    return [_parse_value(text) for text in texts]


def _parse_value(text: str) -> tuple[float, float] | int | float | str:
    bounds = NUMBER_RANGE.fullmatch(text)
    if bounds:
        return float(bounds[1]), float(bounds[2])
    number = exact_number(text)
    return text if number is None else number


def read_side(attributes: Sequence[str], texts: Texts, option: str) -> dict[str, list[str]]:
    """Divides listed values, `NAME=VALUE`, by attribute; of one attribute they have no name."""
    if texts and len(attributes) == 1:
        return {attributes[0]: texts}
    values_by_name = dict[str, list[str]]()
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or name not in attributes:
            raise InvalidInput(
                option, f"must be NAME=VALUE with one of {', '.join(attributes)} as the name, found {text!r}"
            )
        values_by_name.setdefault(name, []).append(value)
    return values_by_name


def merge_listings(*listings: Mapping[str | None, Texts] | Mapping[str, list[str]]) -> dict[str, list[str]]:
    merged = dict[str, list[str]]()
    for listing in listings:
        for name, texts in listing.items():
            if name is not None:
                merged[name] = merged.get(name, []) + (texts or [])
    return merged


def parse_side(
    frame: pd.DataFrame, attributes: Sequence[str], texts: Texts, option: str
) -> dict[str, list[Any]] | None:
    return {
        name: parse_values(frame, (name,), values)
        for name, values in read_side(attributes, texts, option).items()
    } or None


def print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        echo(escape_unprintable(f"{note.rstrip('.')}."), err=True)


@contextmanager
def refuse_errors() -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        argument = error.problems[0].field
        message = "; ".join(problem.message for problem in error.problems)
        raise BadParameter(
            escape_unprintable(message),
            param_hint=_OPTION_NAMES.get(argument, f"--{argument.replace('_', '-')}"),
        ) from None


@frozen
class CellDeclarations:
    """Declarations on the cells of a file: columns of numbers, texts that mean missing, listed values.

    A column is one of numbers, too, if a range is listed for it, such as `18-25`, that none of its cells
    spells.
    """

    numbers: Collection[str | None] = ()
    missing: Collection[str] = ()
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    encoding: str = UTF_8


NO_DECLARATIONS = CellDeclarations()


class CsvCells(NamedTuple):
    frame: pd.DataFrame
    notes: list[str]


def read_cells(
    file: Path, columns: Mapping[str, Sequence[str | None]], declared: CellDeclarations = NO_DECLARATIONS
) -> CsvCells:
    """Reads these columns of a CSV file as texts, and as numbers where that is declared.

    Only an empty cell, or a text declared as missing, is missing, and in a column of numbers a cell that is
    none. A line with fewer values than the header lacks the last ones. Values may be separated by semicolons
    or tabs, as spreadsheets write them, if only that gives the header these columns.

    Raises:
        InvalidInput: the file is no CSV, a line is too long, or a column is missing or there twice.
    """
    text = _read_text(file, declared.encoding)
    names = {name for listed in columns.values() for name in listed if name is not None}
    with _translate_read_errors(file):
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=find_separator(lambda: io.StringIO(text, newline=""), names),
            strict=True,
        )
        header = next((line for line in reader if line), [])
        if not header:
            raise InvalidInput("file", f"{file.name} cannot be read as CSV: it is empty")
    positions = _find_positions(file, header, columns)
    missing = {"", *declared.missing}
    cells: dict[str, list[str | None]] = {name: [] for name in positions}
    for values in _read_lines(file, reader, len(header)):
        for name, position in positions.items():
            cell = values[position] if position < len(values) else ""
            cells[name].append(None if cell in missing else cell)
    for number in declared.numbers:
        if number is not None and number not in cells:
            raise InvalidInput("number", f"{number!r} is not a column that another option names")
    return _convert_numbers(pd.DataFrame(cells, dtype=object), columns, declared)


def _read_text(file: Path, encoding: str) -> str:
    with _translate_read_errors(file), get_handle(file, "rb", is_text=False, compression="infer") as opened:
        limit = max(MAX_UNPACKED_RATIO * file.stat().st_size, MIN_UNPACKED_BYTES)
        content = opened.handle.read(limit + 1)
    if len(content) > limit:
        raise InvalidInput(
            "file", f"{file.name} unpacks to more than {MAX_UNPACKED_RATIO} times its size; unpack it first"
        )
    return "".join(decode_parts([content], encoding, "file"))


def _find_positions(
    file: Path, header: Sequence[str], columns: Mapping[str, Sequence[str | None]]
) -> dict[str, int]:
    positions = {}
    for argument, names in columns.items():
        for name in names:
            if name is None:
                continue
            namesakes = header.count(name)
            if namesakes == 0:
                nearest_name = find_nearest(name, header)
                suggestion = "" if nearest_name is None else f"; did you mean {nearest_name!r}?"
                raise InvalidInput(
                    argument,
                    f"{name!r} is not a column of {file.name}, which has {quote_names(header)}{suggestion}",
                )
            if namesakes > 1:
                raise InvalidInput(
                    argument,
                    f"{name!r} is the name of {namesakes} columns of {file.name}; rename all but one",
                )
            positions[name] = header.index(name)
    return positions


def _read_lines(file: Path, reader: Any, columns: int) -> Iterator[list[str]]:  # noqa: ANN401 - csv's
    may_end_with_separator = None
    line = reader.line_num + 1
    with _translate_read_errors(file):
        for values in reader:
            if values:
                is_one_more_empty = len(values) == columns + 1 and values[-1] == ""
                # Where the first line below the header ends with a separator too many, no value moves.
                if may_end_with_separator is None:
                    may_end_with_separator = is_one_more_empty
                if len(values) > columns and not (is_one_more_empty and may_end_with_separator):
                    names = "one column" if columns == 1 else f"{columns} columns"
                    raise InvalidInput(
                        "file",
                        f"line {line} of {file.name} has {len(values)} values, but its header names {names}",
                    )
                yield values
            line = reader.line_num + 1


def _convert_numbers(
    frame: pd.DataFrame, columns: Mapping[str, Sequence[str | None]], declared: CellDeclarations
) -> CsvCells:
    notes = list[str]()
    for name in frame:
        ranges = [text for text in declared.listed.get(str(name), ()) if NUMBER_RANGE.fullmatch(text)]
        if name not in declared.numbers and (not ranges or frame[name].isin(ranges).any()):
            continue
        option = next(option for option, names in columns.items() if name in names)
        numbers = convert_some_numbers(frame[name], option, notes)
        frame.attrs.setdefault(NOT_NUMBERS, {})[name] = np.isnan(numbers) & frame[name].notna().to_numpy()
        # Double precision, which pandas takes for whole numbers next to an empty cell, merges those from
        # 2**53 on.
        is_exact = not (np.abs(numbers) >= EXACT).any()
        frame[name] = (
            numbers if is_exact else pd.array([exact_number(cell) for cell in frame[name]], dtype=object)
        )
    return CsvCells(frame, notes)


def find_twin_values(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    notes = list[str]()
    for name in columns:
        records = frame[name].value_counts().to_dict()
        notes += describe_twins(count_twins(name, records, drop_twins(records)), "and is a value of its own")
    return notes


class MeasuredRecords(NamedTuple):
    """Columns of a file, remarks on their cells, and the arguments of `measure_frame`."""

    frame: pd.DataFrame
    notes: list[str]
    arguments: dict[str, Any]


def read_measured(
    file: Path,
    columns: dict[str, str | None],
    *,
    attribute: Sequence[str] = (),
    favourable: Texts,
    unfavourable: Texts,
    monitored: Texts = None,
    reference: Texts = None,
    missing: Texts,
    encoding: str,
    numbers: Collection[str | None],
    features: Texts = None,
) -> MeasuredRecords:
    """Reads the columns of a command, and its listed values as arguments of `measure_frame`.

    Raises as `read_cells`.
    """
    outcomes = [*(favourable or ["1"]), *(unfavourable or [])]
    prediction = columns["prediction"]
    label = columns["label"]
    listed_values = merge_listings(
        read_side(attribute, monitored, "monitored"),
        read_side(attribute, reference, "reference"),
        {label: outcomes},
        {prediction: outcomes},
    )
    columns_by_option = {option: [name] for option, name in columns.items()} | {
        "attribute": attribute,
        "features": features or [],
    }
    frame, notes = read_cells(
        file, columns_by_option, CellDeclarations(numbers, missing or (), listed_values, encoding)
    )
    values = {
        "favourable": parse_values(frame, (prediction, label), favourable or ["1"]),
        "unfavourable": parse_values(frame, (prediction, label), unfavourable or []) or None,
        "monitored": parse_side(frame, attribute, monitored, "monitored"),
        "reference": parse_side(frame, attribute, reference, "reference"),
    }
    return MeasuredRecords(
        frame, notes, columns | {name: value for name, value in values.items() if value is not None}
    )


def check_output(output: Path, file: Path) -> None:
    if output.suffix not in OUTPUT_ENDINGS:
        raise InvalidInput("output", f"must end in {' or '.join(OUTPUT_ENDINGS)}, found {output.name!r}")
    check_target(output, file)


def check_target(output: Path, file: Path) -> None:
    try:
        target = output.resolve()
        does_exist = target.exists()
        is_measured = does_exist and target.samefile(file)
        is_file = target.is_file()
    except OSError as error:
        raise InvalidInput("output", f"{output} cannot be written: {error.strerror}") from error
    except RuntimeError as error:
        raise InvalidInput("output", f"{output} is a link that leads back to itself") from error
    if is_measured:
        raise InvalidInput("output", f"{output} is the file that is measured; write to another one")
    if does_exist and not is_file:
        raise InvalidInput("output", f"{output} is not a file that can be written")


def write_reports(report: Report | Sequence[Report], output: Path) -> None:
    if output.suffix == ".csv":
        if isinstance(report, Report):
            frame = report.to_frame()
        else:
            frames = [member.to_frame() for member in report]
            for table, member in zip(frames, report, strict=True):
                table.insert(0, "attribute", member.attribute)
            frame = pd.concat(frames)
        texts = frame.select_dtypes(exclude="number").columns
        # Names of groups come from the measured file, and a spreadsheet would run some texts as formulas.
        escaped_columns = {
            str(name): frame[name].map(
                lambda text: escape_formula(text) if read_number(text) is None else text, na_action="ignore"
            )
            for name in texts
        }
        text = frame.assign(**escaped_columns).to_csv(index=False, lineterminator="\n")
    else:
        document = report.to_json() if isinstance(report, Report) else [member.to_json() for member in report]
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "output", f"{output} cannot be written: {error.object[error.start : error.end]!r} is no text"
        ) from error
    write_bytes(content, output)


def write_bytes(content: bytes, output: Path) -> None:
    """The whole file, or the target stays as it was."""
    # The target of a link, not the link. A new file can replace it atomically only in the same folder.
    target = output.resolve()
    draft_file = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with draft_file.open("xb") as draft:
            draft.write(content)
        draft_file.replace(target)
    except OSError as error:
        raise InvalidInput("output", f"{output} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft_file.unlink()


@contextmanager
def _translate_read_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except _READ_ERRORS as error:
        raise InvalidInput("file", f"{file.name} cannot be read as CSV: {error}") from error
