"""`evenhand plan` of a column of dates, and what commands say of values that differ by a blank."""

from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from app.cli.library import groups, plan
from app.cli.reports import report

TWIN = "'sex': 'f ' (15 records) differs from 'f' by a blank"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Ten days of 120 decisions, and a default date."""
    lines = ["day,at,sex,ok,code", "1900-01-01,1900-01-01T00:00,m,1,3"]
    for no in range(1200):
        day, sex = f"2026-10-{no // 120 + 1:02}", "f " if no % 80 == 0 else "fm"[no % 2]
        lines.append(f"{day},{day}T{no % 24:02}:30,{sex},{int(no % 10 < (6 if sex == 'm' else 5))},{('1e-07', '0.0000001', '3')[no % 3]}")
    path = tmp_path / "decisions.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


SAID = ("--each-record-another-person", "Ann")


def run(command: Typer, *arguments: object) -> tuple[str, str]:
    ended = CliRunner().invoke(command, [*map(str, arguments)])
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.stdout.split()), " ".join(ended.stderr.split())


@pytest.mark.thorough
@pytest.mark.parametrize(("time", "unit", "other"), [("day", "day", "hour"), ("at", "hour", "day")])
def test_a_plan_speaks_of_days_where_only_days_are_recorded(file: Path, time: str, unit: str, other: str) -> None:
    printed, notes = run(plan.command, file, "--time", time, "--attribute", "sex", "--reference", "m", "--prediction", "ok", *SAID)

    assert f"records a{'n' * (unit == 'hour')} {unit} of f" in printed
    assert f" {unit}s, about" in printed
    assert f" {other}" not in printed
    assert notes.startswith(f"Times that cannot be: 1 default date (first '1900-01-01{'T00:00' * (time == 'at')}' in record 1). ")
    assert TWIN in notes


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (groups.command, ("--feature", "sex")),
        (report.command, ("--attribute", "sex", "--preset", "ugesp", "--format", "json", "--from-csv")),
    ],
    ids=["groups", "report"],
)
def test_values_that_differ_by_a_blank_are_named(file: Path, command: Typer, options: tuple[str, ...]) -> None:
    assert f"{TWIN}, and is a value of its own." in run(command, *options, file, "--prediction", "ok")[1]


def test_a_report_takes_a_reference_as_the_file_spells_it(file: Path) -> None:
    options = ("--from-csv", file, "--attribute", "code", "--number", "code", "--prediction", "ok", "--preset", "ugesp", "--format", "json")

    spellings = [run(report.command, *options, "--reference", spelled)[0] for spelled in ("1e-07", "0.0000001")]

    assert spellings[0] == spellings[1]
    assert '"code": [ "0.0000001" ]' in spellings[0]
