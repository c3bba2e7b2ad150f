"""A line with more values than the header is refused: pandas would cut it, or read its values as other columns'."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from app.base.errors import InvalidInput
from app.cli.library.metrics_files import read_cells

HEADER = "sex,approved\n"
ROWS = "woman,1\nman,0\n" * 50

LONGER = {
    "first": (HEADER + "7,woman,1\n" + ROWS, "line 2 of rows.csv has 3 values, but its header names 2 columns"),
    "later": (HEADER + ROWS + "7,woman,1\n", "line 102 of rows.csv has 3 values, but its header names 2 columns"),
    "last, without an end": (HEADER + ROWS + "7,woman,1", "line 102 of rows.csv has 3 values, but its header names 2 columns"),
    "much longer": (HEADER + ROWS + "woman,1,,,,\n", "line 102 of rows.csv has 6 values, but its header names 2 columns"),
    "a separator too many": (HEADER + ROWS + "7,woman,\n", "line 102 of rows.csv has 3 values, but its header names 2 columns"),
    "one column": ("sex\nwoman\nman,1\n", "line 3 of rows.csv has 2 values, but its header names one column"),
    "lines in quotes and empty ones": (
        HEADER + '"a\nwoman",1\n\n\nman,0\n7,woman,1\n',
        "line 7 of rows.csv has 3 values, but its header names 2 columns",
    ),
    "ends of lines of another system": (
        HEADER + "woman,1\r\n\r\n7,woman,1\r\n",
        "line 4 of rows.csv has 3 values, but its header names 2 columns",
    ),
    "behind separators too many": (
        HEADER + "woman,1,\nman,0,\nman,0,1\n",
        "line 4 of rows.csv has 3 values, but its header names 2 columns",
    ),
}


@pytest.mark.parametrize("text", LONGER)
def test_a_line_with_more_values_than_the_header_is_told_with_its_number(tmp_path: Path, text: str) -> None:
    content, expected = LONGER[text]
    (tmp_path / "rows.csv").write_bytes(content.encode())

    with pytest.raises(InvalidInput) as refused:
        read_cells(tmp_path / "rows.csv", {"attribute": ["sex"]})

    assert [(problem.field, problem.message) for problem in refused.value.problems] == [("file", expected)]


def test_a_longer_line_is_found_in_a_packed_file_too(tmp_path: Path) -> None:
    text, archive = (HEADER + ROWS + "7,woman,1\n").encode(), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("rows.csv", text)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "rows.zip").write_bytes(archive.getvalue())

    for name in ("rows.csv.gz", "rows.zip"):
        with pytest.raises(InvalidInput, match=f"line 102 of {name} has 3 values"):
            read_cells(tmp_path / name, {"attribute": ["sex"]})


def test_a_line_with_fewer_values_lacks_the_last_ones(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEADER + "woman\nman,0\n")

    frame = read_cells(tmp_path / "rows.csv", {"attribute": ["sex"], "prediction": ["approved"]}).frame

    assert frame["sex"].tolist() == ["woman", "man"]
    assert frame["approved"].isna().tolist() == [True, False]


def test_separators_in_quotes_are_none(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEADER + '"a, b and ""c""",1\n"d\n,e",0\n')

    frame = read_cells(tmp_path / "rows.csv", {"attribute": ["sex"]}).frame

    assert frame["sex"].tolist() == ['a, b and "c"', "d\n,e"]
