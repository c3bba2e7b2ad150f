"""The files of `evenhand metrics`: the CSV that is measured, and the JSON or CSV that is written."""

import csv
import json
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa

from app.cli.metrics_lines import require_no_longer_line
from app.domain.values import number_of
from app.errors import InvalidInput
from app.frames import Report

FORMATS = (".json", ".csv")

_UNREADABLE = (
    ValueError,  # what pandas cannot parse or decode
    pa.ArrowException,
    csv.Error,
    OSError,
    MemoryError,
    # By the ending of its name pandas unpacks a file, which may be damaged, cut off, encrypted, or packed as this machine cannot unpack.
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    RuntimeError,
    ImportError,
)
_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read(file: Path, columns: Mapping[str, Sequence[str | None]]) -> pd.DataFrame:
    """The columns named by the arguments, in the types that pandas reads them in.

    A line with fewer values than the header lacks the last ones.

    Raises:
        InvalidInput: the file is no CSV, a line has more values than the header, or a column is not in it or in it twice.
    """
    with _telling(file):
        header = _header(file)
    places = {name: _place(name, header, file, argument) for argument, names in columns.items() for name in names if name is not None}
    with _telling(file):
        require_no_longer_line(file, len(header))
        frame = pd.read_csv(file, usecols=sorted(places.values()), index_col=False, low_memory=False)
    frame.columns = pd.Index([header[place] for place in sorted(places.values())])
    return frame


def check_output(output: Path, file: Path) -> None:
    """Refuses early what could not be written, or must not be.

    Raises:
        InvalidInput: another form than ours, the file that is measured, no file, or no place to write to.
    """
    if output.suffix not in FORMATS:
        raise InvalidInput.of("output", f"must end in {' or '.join(FORMATS)}, found {output.name!r}")
    try:
        target = output.resolve()
        is_there = target.exists()
        is_measured, is_file = is_there and target.samefile(file), target.is_file()
    except OSError as error:
        raise InvalidInput.of("output", f"{output} cannot be written: {error.strerror}") from error
    except RuntimeError as error:  # what resolving gives for a link in a circle
        raise InvalidInput.of("output", f"{output} is a link that leads back to itself") from error
    if is_measured:
        raise InvalidInput.of("output", f"{output} is the file that is measured; write to another one")
    if is_there and not is_file:
        raise InvalidInput.of("output", f"{output} is no file that could be written")


def write(report: Report | Sequence[Report], output: Path) -> None:
    """Writes the measurements of a report, or of several, as a whole or not at all.

    Raises:
        InvalidInput: the file cannot be written.
    """
    text = _as_csv(report) if output.suffix == ".csv" else _as_json(report)
    # Not the link, but what is behind it, would be written to; and only in its own folder is a new name given at one blow.
    target = output.resolve()
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with half.open("x", encoding="utf-8", newline="") as unfinished:
            unfinished.write(text)
        half.replace(target)
    except OSError as error:
        raise InvalidInput.of("output", f"{output} cannot be written: {error.strerror}") from error
    except UnicodeEncodeError as error:  # an option spelled in bytes that are no text
        raise InvalidInput.of("output", f"{output} cannot be written: {error.object[error.start : error.end]!r} is no text") from error
    finally:
        with suppress(OSError):
            half.unlink()


@contextmanager
def _telling(file: Path) -> Iterator[None]:
    """Tells what keeps pandas from reading the file."""
    try:
        yield
    except _UNREADABLE as error:
        raise InvalidInput.of("file", f"{file.name} cannot be read as CSV: {error}") from error


def _header(file: Path) -> list[str]:
    """The names as they stand in the file: pandas renames the second of two that are the same."""
    names: list[str] = pd.read_csv(file, header=None, nrows=1, dtype=str, na_filter=False).iloc[0].tolist()
    return names


def _place(name: str, header: Sequence[str], file: Path, argument: str) -> int:
    namesakes = header.count(name)
    if namesakes == 0:
        raise InvalidInput.of(argument, f"{name!r} is not a column of {file.name}, which has {', '.join(header)}")
    if namesakes > 1:
        raise InvalidInput.of(argument, f"{name!r} is the name of {namesakes} columns of {file.name}; rename all but one")
    return header.index(name)


def _as_csv(report: Report | Sequence[Report]) -> str:
    """The rows of the report; of several with the attribute before them."""
    if isinstance(report, Report):
        return _rows(report.to_frame())
    frames = [one.to_frame() for one in report]
    for frame, one in zip(frames, report, strict=True):
        frame.insert(0, "attribute", one.attribute)
    return _rows(pd.concat(frames))


def _rows(frame: pd.DataFrame) -> str:
    texts = frame.select_dtypes(exclude="number").columns
    harmless = frame.assign(**{str(name): frame[name].map(_harmless, na_action="ignore") for name in texts})
    return harmless.to_csv(index=False, lineterminator="\n")


def _harmless(text: str) -> str:
    """The text with an apostrophe before what a spreadsheet would run: names of groups come from the file that was measured."""
    return f"'{text}" if text.startswith(_STARTS_A_FORMULA) and number_of(text) is None else text


def _as_json(report: Report | Sequence[Report]) -> str:
    written = report.to_json() if isinstance(report, Report) else [one.to_json() for one in report]
    return json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
