"""An import reads commas, semicolons and tabs, as the commands on files do."""

from pathlib import Path

import pytest

from app.base.errors import InvalidInput
from app.base.spreadsheets import find_separator
from app.domain.record_times import LogKind
from app.intake.imports.flat_tables import find_layout
from tests.builders.vendor_files import input_file, subject


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_records_are_the_same_with_each_separator(tmp_path: Path, separator: str, quote: str) -> None:
    cells = ["a", "2026-03-01T09:30:00Z", "33", f'"Zoë{separator} d’Arc"', "true", "Risk"]
    header = separator.join(f"{quote}{name}{quote}" for name in ("id", "scored_at", "Age", "Sex", "Owner", "prediction"))
    file = input_file(tmp_path, "log.csv", f"\ufeff{header}\r\n{separator.join(cells)}\r\n")

    (row,) = find_layout([file], None, LogKind.PAYLOAD).read([file], subject())

    assert (row.record or {})["features"] == {"Age": 33, "Sex": f"Zoë{separator} d’Arc", "Owner": True}
    assert (row.record or {})["prediction"] == "Risk"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_labels_are_the_same_with_each_separator(tmp_path: Path, separator: str) -> None:
    file = input_file(tmp_path, "labels.csv", f"id{separator}label\na{separator}Risk\n")

    (row,) = find_layout([file], None, LogKind.FEEDBACK).read([file], subject(LogKind.FEEDBACK))

    assert (row.record or {})["label"] == "Risk"


def test_a_file_without_the_columns_is_refused_as_it_is_written(tmp_path: Path) -> None:
    file = input_file(tmp_path, "log.csv", "age;sex;prediction\n33;female;Risk\n")

    with pytest.raises(InvalidInput, match="It has 'age;sex;prediction'"):
        list(find_layout([file], None, LogKind.PAYLOAD).read([file], subject()))


@pytest.mark.parametrize(
    ("header", "columns", "separator"),
    [
        ("a,b", ["a"], ","),
        ("a;b", ["a"], ";"),
        ("a\tb", ["a", "b"], "\t"),
        ("a", ["a"], ","),
        ("a;b", ["a;b"], ","),
        ("a;b,c", ["a"], ","),
        ("a;b", ["c"], ","),
        ('"a";"b;c"', ["b;c"], ";"),
        ('"a","b;c"', ["b;c"], ","),
        ("", ["a"], ","),
        ('"a', ["a"], ","),
    ],
)
def test_a_separator_is_that_which_gives_the_columns(header: str, columns: list[str], separator: str) -> None:
    assert find_separator(lambda: iter([f"{header}\n"]), columns) == separator
