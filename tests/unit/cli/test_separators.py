"""Files whose values are separated by semicolons or tabs, as spreadsheets write them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli.library.metrics_files import read_cells
from app.cli.reports.report import command

ROWS = ["sex,hired", *["Male,yes"] * 6, *["Male,no"] * 4, *["Female,yes"] * 3, *["Female,no"] * 7, ",yes"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_separator_is_found_by_the_wanted_columns(tmp_path: Path, separator: str, encoding: str) -> None:
    file = tmp_path / "people.csv"
    file.write_text("\n".join(row.replace(",", separator) for row in ROWS) + "\n", encoding=encoding)
    arguments = ["--from-csv", str(file), "--attribute", "sex", "--prediction", "hired", "--favourable", "yes", "--preset", "ll144"]
    ended = CliRunner().invoke(command, [*arguments, "--format", "json"])

    assert ended.exit_code == 0, ended.output
    sheet = json.loads(ended.stdout)["sheets"]["ll144"]
    assert [(row["category"], row["selected"]) for row in sheet["tables"][0]["rows"]] == [("Female", 3), ("Male", 6)]
    assert sheet["unknown"] == 1


def test_a_longer_line_of_such_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("sex;hired\nMale;yes\nFemale;no;1\n")
    arguments = ["--from-csv", str(file), "--attribute", "sex", "--prediction", "hired", "--favourable", "yes", "--preset", "ll144"]
    ended = CliRunner().invoke(command, arguments)
    assert ended.exit_code == 2
    assert "line 3" in ended.output


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_names_in_quotes_are_read_with_each_separator(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "people.csv"
    quoted = (separator.join(f'"{cell}"' for cell in row.split(",")) for row in ROWS)
    file.write_text("\n".join(quoted) + "\n")

    assert read_cells(file, {"attribute": ["sex"], "prediction": ["hired"]}).frame["sex"].value_counts().to_dict() == {
        "Male": 10,
        "Female": 10,
    }
