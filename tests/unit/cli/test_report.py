"""`evenhand report --from-csv`: the same figures in every format, and refusals that name the option."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli.reports.report import command
from app.statistics.selections.selection_presets import ReportPreset, SheetName

ROWS = [
    "sex,race,selected,score,age",
    *["Male,01,yes,5,30"] * 60,
    *["Male,NA,no,4,30"] * 40,
    *["Female,01,yes,3,30"] * 30,
    *["Female,=NA(),no,2,30"] * 70,
]
EMPTY = ",01,yes,1,"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("logs") / "decisions.csv"
    file.write_text("\n".join([*ROWS, EMPTY]) + "\n")
    return file


def run(file: Path, *options: str) -> bytes:
    choice = () if "--score" in options or "--prediction" in options else ("--prediction", "selected", "--favourable", "yes")
    preset = () if "--preset" in options else ("--preset", "ll144")
    arguments = ["--from-csv", str(file), "--attribute", "sex", "--attribute", "race", *preset, *choice, *options]
    ended = CliRunner().invoke(command, arguments)
    assert ended.exit_code == 0, ended.output
    return ended.stdout_bytes


def test_json_has_the_sheet_that_programs_read(file: Path) -> None:
    sheet = json.loads(run(file, "--format", "json"))["sheets"]["ll144"]

    assert set(sheet) == {"tables", "unknown"}
    assert sheet["unknown"] == 1
    assert [table["attribute"] for table in sheet["tables"]] == ["sex", "race", "sex × race"]
    assert sheet["tables"][0]["rows"] == [
        {"category": "Female", "applicants": 100, "selected": 30, "rate": 0.3, "impact_ratio": 0.5, "excluded": False},
        {"category": "Male", "applicants": 100, "selected": 60, "rate": 0.6, "impact_ratio": 1.0, "excluded": False},
    ]
    # Categories are text as the file has it: neither a number nor a missing value.
    assert [row["category"] for row in sheet["tables"][1]["rows"]] == ["01", "=NA()", "NA"]


@pytest.mark.parametrize("preset", ["ll144", "ugesp"])
def test_csv_has_the_figures_of_the_json(file: Path, preset: str) -> None:
    (sheet,) = json.loads(run(file, "--preset", preset, "--format", "json"))["sheets"].values()
    rows = list(csv.DictReader(io.StringIO(run(file, "--preset", preset, "--format", "csv").decode())))

    counted = [row for row in rows if row["sheet"] == "records"]
    assert (counted[-1]["category"], counted[-1]["applicants"]) == ("sex × race unknown", "1")
    written = [row for table in sheet["tables"] for row in table["rows"]]
    for own, row in zip(rows, written, strict=False):
        assert own["category"] == row["category"].replace("=NA()", "'=NA()" if row["category"].startswith("=") else "=NA()")
        assert (own["impact_ratio"] or None) == (None if row["impact_ratio"] is None else str(row["impact_ratio"]))
    assert len(rows) == len(written) + len(counted)


LENDING = ("--prediction", "selected", "--favourable", "yes", "--score", "score", "--control", "age", "--reference", "sex=Male")


@pytest.mark.parametrize("preset", ["lending", "insurance-co"])
def test_a_lending_report_of_a_file_has_decisions_and_scores(file: Path, preset: str) -> None:
    found = json.loads(run(file, "--preset", preset, *LENDING, "--format", "json"))
    assert list(found["sheets"]) == ["lending", "probabilistic", "controls"]
    assert found["references"] == {"sex": ["Male"], "race": ["01"]}
    (women,) = found["sheets"]["lending"]["tables"][0]["rows"]
    assert (women["category"], women["air"]) == ("Female", 0.5)
    # By hand: women have 3 in 30 lines and 2 in 70, men 5 in 60 and 4 in 40.
    assert women["score"]["gap"]["difference"] == pytest.approx(2.3 - 4.6)
    (odds,) = found["sheets"]["controls"]["tables"][0]["rows"]
    assert odds["crude"]["value"] == pytest.approx((30 * 40) / (70 * 60))
    rows = list(csv.DictReader(io.StringIO(run(file, "--preset", preset, *LENDING, "--format", "csv").decode())))
    assert float(rows[0]["score.gap.difference"]) == women["score"]["gap"]["difference"]
    html = run(file, "--preset", preset, *LENDING).decode()
    assert "No reference of race was chosen" in html
    assert "no weights were given" in html


def test_every_preset_can_be_made_of_a_file(file: Path) -> None:
    for preset in ReportPreset:
        html = run(file, "--preset", preset.value, "--format", "html").decode()
        assert "What is missing for the rule" in html
        assert set(json.loads(run(file, "--preset", preset.value, "--format", "json"))["sheets"]) <= {sheet.value for sheet in SheetName}


@pytest.mark.parametrize("options", [("--preset", "ll144"), ("--preset", "ugesp"), ("--score", "score")], ids=str)
def test_html_and_pdf_show_the_tables(file: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    html = run(file, *options).decode()
    for shown in ("Female", "sex unknown", "not legal advice", "=NA()"):
        assert shown in html
    output = tmp_path / "report.pdf"
    assert run(file, *options, "--format", "pdf", "--output", str(output)) == b""
    assert output.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--attribute", "city"), "--attribute"),
        (("--favourable", "maybe"), "--favourable"),
        (("--score", "score", "--prediction", "selected"), "--prediction"),
        (("--least-share", "2"), "--least-share"),
        (("--preset", "gdpr"), "--preset"),
        (("--reference", "x"), "--reference"),
        (("--control", "sex"), "--control"),
        (("--control", "town"), "--control"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(file: Path, options: tuple[str, ...], named: str) -> None:
    arguments = ["--from-csv", str(file), "--attribute", "sex", "--prediction", "selected", "--favourable", "yes", "--preset", "ll144"]
    if "--favourable" in options:
        arguments = [one for one in arguments if one not in {"--favourable", "yes"}]
    ended = CliRunner().invoke(command, [*arguments, *options])
    assert ended.exit_code == 2
    assert named in ended.output


def test_a_file_without_a_preset_is_refused_with_those_there_are(file: Path) -> None:
    ended = CliRunner().invoke(command, ["--from-csv", str(file), "--attribute", "sex", "--prediction", "selected", "--favourable", "yes"])
    assert ended.exit_code == 2
    assert "ll144, ugesp" in ended.output
    assert "left out" in ended.output
    assert "None" not in ended.output


def test_the_counted_file_is_never_overwritten(file: Path) -> None:
    arguments = ["--from-csv", str(file), "--attribute", "sex", "--prediction", "selected", "--favourable", "yes", "--preset", "ll144"]
    ended = CliRunner().invoke(command, [*arguments, "--output", str(file)])
    assert ended.exit_code == 2
    assert "--output" in ended.output
    assert file.read_text().startswith("sex,race")


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["Female,no", "Male,no"], "Nobody of an included category was selected, so there are no ratios."),
        ([",yes", ",no"], "0 of 2 records counted; left out: sex unknown 2."),
        (["Female,yes", "Female,no"], "Ratios are taken to Female"),
    ],
)
def test_an_audit_without_a_comparison_says_so(tmp_path: Path, lines: list[str], shown: str) -> None:
    file = tmp_path / "few.csv"
    file.write_text("\n".join(["sex,selected", *lines, *([] if "yes" in "".join(lines) else [",yes"])]) + "\n")
    arguments = ["--from-csv", str(file), "--attribute", "sex", "--prediction", "selected", "--favourable", "yes", "--preset", "ll144"]
    assert shown.lower() in CliRunner().invoke(command, arguments).output.lower()
    header = CliRunner().invoke(command, [*arguments, "--format", "csv"]).output.splitlines()[0]
    assert header == "sheet,attribute,category,applicants,selected,rate,impact_ratio,excluded"


def test_a_file_without_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("sex,selected\n")
    ended = CliRunner().invoke(command, ["--from-csv", str(file), "--attribute", "sex", "--prediction", "selected", "--preset", "ll144"])
    assert ended.exit_code == 2
    assert "no line below it" in " ".join(ended.output.replace("│", " ").split())
