"""Cells of a file are texts until an option declares a number, whatever other cells of the column hold."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from app.base.errors import InvalidInput
from app.base.values import canonical
from app.cli.library.metrics import command as metrics
from app.cli.library.metrics_files import CellDeclarations, read_cells

# Each is a text of its own, though pandas reads several as one number, one boolean, or as no value.
CODES = ["01", "1", "1.0", "1E5", "100000", "9007199254740993", "9007199254740992", "True", "TRUE", "NA", "null", "None", "nan", "?"]


def _write(folder: Path, rows: list[dict[str, str]]) -> Path:
    file = folder / "rows.csv"
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def _measure(file: Path, *options: str) -> tuple[dict[str, Any], str]:
    output = file.with_suffix(".json")
    ended = CliRunner().invoke(metrics, [str(file), "--metric", "favourable_rate", "--output", str(output), *options])
    assert ended.exit_code == 0, ended.output
    return json.loads(output.read_text()), ended.output


@pytest.mark.parametrize("also", [[], [""], ["words"]])
def test_each_spelling_is_a_group_of_its_own_whatever_else_the_column_holds(tmp_path: Path, also: list[str]) -> None:
    rows = [{"code": code, "approved": str(no % 2)} for code in CODES for no in range(4)]
    rows += [{"code": cell, "approved": "1"} for cell in also]

    report, _ = _measure(_write(tmp_path, rows), "--attribute", "code", "--reference", "01", "--prediction", "approved")

    assert {group["label"] for group in report["groups"]} == {*CODES, *filter(None, also)}


@given(st.lists(st.sampled_from([*CODES, ""]), min_size=1, max_size=30))
def test_a_cell_is_read_as_it_is_written(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    file = _write(tmp_path_factory.mktemp("cells"), [{"code": cell, "more": "x"} for cell in cells])

    codes = read_cells(file, {"attribute": ["code"]}).frame["code"]

    assert codes.fillna("").tolist() == cells


def test_more_texts_stand_for_a_missing_value_if_an_option_says_so(tmp_path: Path) -> None:
    rows = [{"code": code, "approved": str(no % 2)} for code in ("NA", "a", "b") for no in range(4)]

    report, _ = _measure(_write(tmp_path, rows), "--attribute", "code", "--reference", "a", "--prediction", "approved", "--missing", "NA")

    assert {group["label"] for group in report["groups"]} == {"a", "b"}


def test_a_declared_number_has_one_group_for_all_its_spellings(tmp_path: Path) -> None:
    rows = [{"code": code, "approved": str(no % 2)} for code in ("1", "01", "1.0", "2") for no in range(4)]

    report, _ = _measure(_write(tmp_path, rows), "--attribute", "code", "--reference", "2", "--prediction", "approved", "--number", "code")

    assert {group["label"]: group["records"] for group in report["groups"]} == {"1": 12, "2": 4}


def test_a_range_declares_a_number_and_a_cell_that_is_none_is_left_out_and_counted(tmp_path: Path) -> None:
    rows = [{"age": age, "approved": str(no % 2)} for age in ("20", "30", "?") for no in range(4)]

    report, printed = _measure(
        _write(tmp_path, rows), "--attribute", "age", "--monitored", "18-25", "--reference", "26-99", "--prediction", "approved"
    )

    assert {group["label"]: group["records"] for group in report["groups"]} == {"18-25": 4, "26-99": 4}
    assert "4 of its 12 cells" in printed
    assert "'?' in record 9" in printed


def test_a_band_that_cells_spell_is_a_text_and_no_range(tmp_path: Path) -> None:
    rows = [{"age": age, "approved": str(no % 2)} for age in ("18-25", "26-99") for no in range(4)]

    report, _ = _measure(
        _write(tmp_path, rows), "--attribute", "age", "--monitored", "18-25", "--reference", "26-99", "--prediction", "approved"
    )

    assert {group["label"]: group["records"] for group in report["groups"]} == {"18-25": 4, "26-99": 4}


def test_a_number_of_a_column_that_is_not_read_is_refused(tmp_path: Path) -> None:
    file = _write(tmp_path, [{"age": "20", "approved": "1"}])

    with pytest.raises(InvalidInput, match="'pay' is not a column that another option names"):
        read_cells(file, {"attribute": ["age"]}, CellDeclarations(numbers=["pay"]))


BIG = [
    "9007199254740993",
    "9007199254740992",
    "-9223372036854775808",
    "9223372036854775807",
    "123456789012345678901",
    "123456789012345678902",
]


@pytest.mark.parametrize("big", [BIG, BIG[:2]], ids=["64 bits and more", "16 digits"])
@pytest.mark.parametrize("also", [[], [""], ["?"], ["0.5", "1e300"]], ids=str)
def test_declared_numbers_keep_all_their_digits(tmp_path: Path, big: list[str], also: list[str]) -> None:
    rows = [{"code": code, "approved": str(no % 2)} for code in [*big, *also] for no in range(4)]

    options = ("--attribute", "code", "--reference", f"{BIG[0]}.0", "--prediction", "approved", "--number", "code")
    report, _ = _measure(_write(tmp_path, rows), *options)

    assert {group["label"] for group in report["groups"]} == {*big, *(canonical(float(one)) for one in also if one[:1].isdigit())}
    assert {group["records"] for group in report["groups"]} == {4}


def test_a_range_of_numbers_holds_those_of_many_digits(tmp_path: Path) -> None:
    rows = [{"amount": amount, "approved": str(no % 2)} for amount in (*BIG, "5") for no in range(4)]

    sides = ("--monitored", "0-10", "--reference", "11-9007199254740992", "--prediction", "approved")
    report, _ = _measure(_write(tmp_path, rows), "--attribute", "amount", *sides)

    assert [(group["label"], group["records"]) for group in report["groups"]] == [("0-10", 4), ("11-9007199254740992", 8)]
