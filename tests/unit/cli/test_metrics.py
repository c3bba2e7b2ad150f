import gzip
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from app.cli.library.metrics import command
from app.cli.library.metrics_files import CONSOLE_WIDTH
from app.library.measurements import measure_frame
from tests.builders.page_words import says
from tests.golden import golden

SEXES = ["woman", "man"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """40 women, of whom 10 were approved, and 60 men, of whom 30 were; ages and incomes beside it."""
    frame = pd.DataFrame(
        {
            "sex": ["woman"] * 40 + ["man"] * 60,
            "age": [20 + place % 50 for place in range(100)],
            "approved": ["yes"] * 10 + ["no"] * 30 + ["yes"] * 30 + ["no"] * 30,
            "repaid": ["yes", "no"] * 50,
            "income": [1000.5 * place for place in range(100)],
        }
    )
    frame.to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path / "loans.csv"


def metrics(file: Path, *options: str) -> str:
    ended = CliRunner().invoke(command, [str(file), *options])
    assert ended.exit_code == 0, ended.output
    return ended.output


def refusal(file: Path, *options: str) -> str:
    ended = CliRunner().invoke(command, [str(file), *options])
    assert ended.exit_code == 2, ended.output
    return " ".join(ended.output.replace("│", " ").split())


def written(file: Path, *options: str) -> dict[str, Any]:
    output = file.with_suffix(".json")
    metrics(file, *options, "--output", str(output))
    report: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    return report


@pytest.mark.thorough
def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"sex,approved\n" + b"m,1\n" * 2**25))

    ended = CliRunner().invoke(command, [str(bomb), "--attribute", "sex", "--prediction", "approved"])

    assert ended.exit_code == 2
    assert "unpacks to more than 100 times its size" in " ".join(ended.stderr.replace("│", " ").split())


def test_the_report_says_who_was_compared_and_fits_into_its_width(file: Path, snapshot: SnapshotAssertion) -> None:
    printed = metrics(file, "--prediction", "approved", "--favourable", "yes", "--attribute", "sex")

    assert says(printed, "sex", "woman", "40", "man", "60", "reference")
    assert printed == snapshot
    assert all(len(line) <= CONSOLE_WIDTH and line == line.rstrip() for line in printed.splitlines())


def test_each_metric_has_its_line_and_its_sentence(file: Path, snapshot: SnapshotAssertion) -> None:
    printed = metrics(file, "--prediction", "approved", "--favourable", "yes", "--attribute", "sex", "--metric", "disparate_impact")

    line = next(line for line in printed.splitlines() if "Disparate impact" in line)
    assert line.split() == ["Disparate", "impact", "woman", "0.5000", "0.2762", "to", "0.9051", "100", "suspected"]
    assert says(" ".join(printed.split()), "100", "woman", "25", "100", "man", "50", "0.500")
    assert printed == snapshot


@pytest.mark.nightly
def test_many_groups_still_fit_into_the_width(file: Path) -> None:
    options = ["--prediction", "approved", "--label", "repaid", "--favourable", "yes", "--attribute", "sex", "--attribute", "age"]
    ranges = [f"age={lo}-{lo + 4}" for lo in range(20, 60, 5)]

    printed = metrics(file, *options, *(part for text in ranges for part in ("--monitored", text)), "--reference", "age=60-80", "--all")

    assert max(len(line) for line in printed.splitlines()) <= CONSOLE_WIDTH


def test_each_attribute_has_its_report_and_all_together_the_last(file: Path) -> None:
    options = ["--prediction", "approved", "--favourable", "yes", "--attribute", "sex", "--attribute", "repaid"]

    printed = metrics(file, *options, "--each")

    assert re.findall("^([a-z× ]+): .*[(]monitored[)]", printed, re.MULTILINE) == ["sex", "repaid", "sex × repaid"]
    assert printed.rstrip().endswith(metrics(file, *options).rstrip())


def test_each_attribute_is_written_under_its_name(file: Path) -> None:
    options = ["--prediction", "approved", "--favourable", "yes", "--attribute", "sex", "--attribute", "repaid", "--each", "--output"]

    metrics(file, *options, str(file.with_suffix(".json")))
    metrics(file, *options, str(file.with_name("out.csv")))

    reports = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    rows = pd.read_csv(file.with_name("out.csv"))
    assert [report["attribute"] for report in reports] == ["sex", "repaid", "sex × repaid"]
    assert rows["attribute"].value_counts().to_dict() == {report["attribute"]: len(report["measurements"]) for report in reports}


def test_a_missing_figure_is_printed_with_its_reason(file: Path, snapshot: SnapshotAssertion) -> None:
    printed = metrics(file, "--prediction", "approved", "--favourable", "yes", "--attribute", "approved", "--reference", "no")

    assert says(printed, "Disparate impact", "reference", "60", "reference")
    assert printed == snapshot
    line = next(line for line in printed.splitlines() if "Disparate impact" in line)
    assert line.split() == ["Disparate", "impact", "yes", "–", "100", "not", "computable"]


def test_the_json_is_that_of_the_library(file: Path) -> None:
    report = written(
        file, "--prediction", "approved", "--label", "repaid", "--favourable", "yes", "--attribute", "sex", "--all", "--seed", "3"
    )

    expected = measure_frame(pd.read_csv(file), attribute="sex", label="repaid", prediction="approved", favourable="yes", seed=3)
    assert report == json.loads(json.dumps(expected.to_json()))


def test_the_csv_has_a_row_for_each_measurement(file: Path) -> None:
    output = file.with_name("out.csv")

    metrics(
        file,
        "--prediction",
        "approved",
        "--favourable",
        "yes",
        "--attribute",
        "sex",
        "--metric",
        "favourable_rate",
        "--output",
        str(output),
    )

    rows = pd.read_csv(output)
    assert rows["value"].tolist() == [0.25, 0.5]
    assert rows["group"].tolist() == SEXES
    assert rows["sentence"].notna().all()


def test_ranges_are_written_as_they_are_shown(file: Path) -> None:
    options = ("--prediction", "approved", "--favourable", "yes", "--attribute", "age", "--monitored", "20-29", "--reference", "30-49.5")

    assert written(file, *options)["groups"] == [
        {"label": "20-29", "role": "monitored", "records": 20},
        {"label": "30-49.5", "role": "reference", "records": 40},
    ]


def test_outcomes_may_be_ranges_of_numbers(file: Path) -> None:
    report = written(file, "--prediction", "income", "--favourable", "60000-1000000", "--attribute", "sex", "--metric", "favourable_rate")

    assert (report["favourable"], report["measurements"][1]["value"]) == (["60000-1000000"], pytest.approx(40 / 60))


def test_several_attributes_are_compared_together(file: Path) -> None:
    options = (
        "--attribute",
        "sex",
        "--attribute",
        "age",
        "--monitored",
        "sex=woman",
        "--monitored",
        "age=20-29",
        "--reference",
        "age=30-80",
    )

    report = written(file, "--prediction", "approved", "--favourable", "yes", *options)

    assert report["attribute"] == "sex × age"
    assert {group["label"]: group["role"] for group in report["groups"]} == {
        "woman × 20-29": "monitored",
        "woman × 30-80": "monitored",
        "man × 20-29": "monitored",
        "man × 30-80": "reference",
    }


def test_what_the_marks_and_the_verdicts_mean_is_said_below_the_table(file: Path, snapshot: SnapshotAssertion) -> None:
    options = ("--prediction", "approved", "--favourable", "yes", "--attribute")

    few = metrics(file, *options, "age", "--monitored", "20-20", "--reference", "30-60")
    many = metrics(file, *options, "sex")

    line = next(line for line in few.splitlines() if "Disparate impact" in line)
    assert re.search(r"[0-9]\* +[0-9]+ +insufficient data$", line)
    assert says(few, "insufficient data =", "10")
    assert says(many, "0.8", "1.25", "Disparate impact", "−0.1", "0.1", "Statistical parity difference")
    assert says(many, "suspected =")
    assert [few, many] == snapshot
    assert "*" not in many
    assert "fair = the value is within" not in many


def test_the_two_figures_that_search_all_groups_say_which_they_are(file: Path, snapshot: SnapshotAssertion) -> None:
    ages = ("--monitored", "20-34", "--monitored", "35-49", "--reference", "50-70")

    printed = metrics(file, "--prediction", "approved", "--favourable", "yes", "--attribute", "age", *ages, "--metric", "disparate_impact")

    assert says(printed, "Furthest out")
    assert says(printed, "Furthest apart")
    assert printed == snapshot


def test_a_group_that_nobody_is_in_is_warned_of_with_the_values_that_there_are(file: Path, snapshot: SnapshotAssertion) -> None:
    printed = metrics(file, "--attribute", "sex", "--label", "repaid", "--favourable", "yes", "--reference", "men")

    assert says(printed, "'men'", "'sex'", "man", "woman")
    assert says(printed, "reference", "men")
    assert printed == snapshot


def test_names_of_groups_cannot_command_the_terminal(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.csv"
    hostile.write_text('sex,approved\n"\x1b[31mred",1\n"\x1b]0;title\x07",0\n')

    printed = metrics(hostile, "--attribute", "sex", "--prediction", "approved")

    assert "\\x1b[31mred" in printed
    assert not set("\x1b\x07") & set(printed)
    assert "\x1b" not in metrics(hostile, "--attribute", "sex", "--prediction", "approved", "--reference", "\x1b[31mblue")
    assert "\x1b" not in refusal(hostile, "--attribute", "sex", "--prediction", "approved", "--favourable", "\x1b[31mblue")


def test_a_spreadsheet_runs_nothing_that_the_file_brought_along(tmp_path: Path) -> None:
    hostile, output = tmp_path / "hostile.csv", tmp_path / "out.csv"
    names = ["=cmd()", "+1+1", "@sum", "-2-3", "-5", "plain"]
    pd.DataFrame({"=sex": names * 2, "approved": [0, 1] * 6}).to_csv(hostile, index=False)

    metrics(hostile, "--attribute", "=sex", "--prediction", "approved", "--reference", "plain", "--each", "--output", str(output))

    rows = pd.read_csv(output)
    assert set(rows["attribute"]) == {"'=sex"}
    assert set(rows["group"].dropna()) == {"'=cmd()", "'+1+1", "'@sum", "'-2-3", "-5", "plain"}
    assert rows["value"].dtype == "float64"


@pytest.mark.parametrize("reached", ["same", "link", "hard link"])
def test_the_file_that_is_measured_is_not_written_to(file: Path, reached: str) -> None:
    before, output = file.read_bytes(), file if reached == "same" else file.with_name("other.csv")
    if reached == "link":
        output.symlink_to(file)
    elif reached == "hard link":
        output.hardlink_to(file)

    refused = refusal(file, "--attribute", "sex", "--prediction", "approved", "--favourable", "yes", "--output", str(output))

    assert "Invalid value for --output" in refused
    assert "is the file that is measured" in "".join(refused).replace("  ", " ")
    assert file.read_bytes() == before


def test_a_failure_leaves_what_was_there_and_no_half_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = file.with_name("out.json")
    output.write_text("earlier")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))

    refused = refusal(file, "--attribute", "sex", "--prediction", "approved", "--favourable", "yes", "--output", str(output))

    assert "No space left on device" in refused
    assert output.read_text() == "earlier"
    assert sorted(path.name for path in file.parent.iterdir()) == ["loans.csv", "out.json"]


def test_the_output_is_written_through_a_link(file: Path) -> None:
    real, link = file.with_name("real.json"), file.with_name("link.json")
    real.write_text("earlier")
    link.symlink_to(real)

    metrics(file, "--attribute", "sex", "--prediction", "approved", "--favourable", "yes", "--output", str(link))

    assert link.is_symlink()
    assert json.loads(real.read_text(encoding="utf-8"))["records"]["counted"] == 100


def test_a_folder_is_no_output(file: Path) -> None:
    file.with_name("out.json").mkdir()

    assert "--output" in refusal(file, "--attribute", "sex", "--prediction", "approved", "--output", str(file.with_name("out.json")))


def test_of_two_columns_of_one_name_neither_is_taken(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    twice = tmp_path / "twice.csv"
    twice.write_text("sex,p,p,q,p.1\nf,1,0,1,0\nm,0,1,0,1\n")

    assert says(said := refusal(twice, "--attribute", "sex", "--prediction", "p"), "--prediction", "'p'", "2")
    assert said == snapshot
    assert "--prediction: 'p.2' is not a column" in refusal(twice, "--attribute", "sex", "--prediction", "p.2")
    report = written(twice, "--attribute", "sex", "--prediction", "p.1", "--metric", "favourable_rate")
    assert {row["group"]: row["value"] for row in report["measurements"] if row["group"]} == {"f": 0, "m": 1}
    assert metrics(twice, "--attribute", "sex", "--prediction", "q")


def test_numbers_that_end_where_numbers_end_are_no_traceback(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    huge = tmp_path / "huge.csv"
    huge.write_text("sex,p,x\nf,1,1e308\nm,0,-1e308\nf,0,1e308\nm,1,3\n")
    options = ("--attribute", "sex", "--prediction", "p")

    assert metrics(huge, *options, "--feature", "x", "--all")
    assert says(said := refusal(huge, *options, "--weight", "x"), "--weight", "'x'", "1e-12", "1e+12", "1e+308")
    assert said == snapshot


def test_a_fault_of_our_own_is_not_blamed_on_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("app.cli.library.metrics.measure_frame", fails)

    ended = CliRunner().invoke(command, [str(file), "--attribute", "sex", "--prediction", "approved", "--favourable", "yes"])

    assert isinstance(ended.exception, ZeroDivisionError)
    assert ended.exit_code == 1
    assert "Invalid value" not in ended.output


REFUSED = [
    (("--prediction", "approved"), "Missing option '--attribute'"),
    (("--attribute", "sex"), "--prediction: is needed, or label, or both"),
    (
        ("--attribute", "sexe", "--prediction", "approved"),
        "--attribute: 'sexe' is not a column of loans.csv, which has 'sex', 'age', 'approved',",
    ),
    (("--attribute", "sex", "--prediction", "approved"), "--favourable: '1' is not a value of 'approved', which holds 'no', 'yes'"),
    (
        ("--attribute", "sex", "--label", "repaid", "--favourable", "yes", "--metric", "impact"),
        "--metric: 'impact' is not in the catalogue",
    ),
    (
        ("--attribute", "sex", "--label", "repaid", "--favourable", "yes", "--metric", "DPL"),
        "--metric: 'DPL' is not in the catalogue of metrics; it is Clarify's name of difference_in_proportions_of_labels",
    ),
    (
        ("--attribute", "sex", "--label", "repaid", "--favourable", "yes", "--unfavourable", "yes"),
        "--unfavourable: 'yes' is listed as favourable, too",
    ),
    (
        ("--attribute", "sex", "--label", "repaid", "--favourable", "yes", "--feature", "approved"),
        "--feature: 'approved' must hold numbers, found 'yes' in 100 records, the first of them 1",
    ),
    (("--attribute", "sex", "--label", "repaid", "--output", "out.txt"), "--output: must end in .json or .csv, found 'out.txt'"),
    (
        ("--attribute", "sex", "--label", "repaid", "--favourable", "yes", "--output", "no/out.csv"),
        "--output: no/out.csv cannot be written",
    ),
    (
        ("--attribute", "sex", "--attribute", "age", "--label", "repaid", "--favourable", "yes", "--monitored", "woman"),
        "--monitored: must be NAME=VALUE with one of sex, age as the name, found 'woman'",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_is_wrong_is_named_with_its_option_and_ends_with_status_2(file: Path, options: tuple[str, ...], message: str) -> None:
    assert message in refusal(file, *options)


def test_a_file_that_is_no_csv_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    binary = tmp_path / "model.bin"
    binary.write_bytes(b"\xff\xfe\x00\x01" * 10)

    assert refusal(binary, "--attribute", "sex", "--prediction", "approved") == snapshot
    assert "does not exist" in refusal(tmp_path / "none.csv", "--attribute", "sex", "--prediction", "approved")


def test_lines_that_are_longer_than_the_header_do_not_move_values_into_other_columns(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    longer, trailing = tmp_path / "longer.csv", tmp_path / "trailing.csv"
    longer.write_text("sex,approved\n7,woman,0\n8,man,1\n")
    trailing.write_text("sex,approved\nwoman,0,\nman,1,\n")
    options = ("--attribute", "sex", "--prediction", "approved", "--reference", "man")

    assert says(said := refusal(longer, *options), "line 2", "longer.csv", "3", "2")
    assert said == snapshot
    assert written(trailing, *options)["groups"][0] == {"label": "woman", "role": "monitored", "records": 1}


def test_the_golden_file_gives_the_golden_figures(tmp_path: Path) -> None:
    predictions, expected = golden("A1_adult") / "predictions.csv", json.loads((golden("A1_adult") / "clarify.json").read_text())
    facet = expected["facets"]["sex=Female"]["d_vs_rest"]
    names = {
        "disparate_impact": "DI",
        "difference_in_positive_proportions_in_predicted_labels": "DPPL",
        "difference_in_proportions_of_labels": "DPL",
        "accuracy_difference": "AD",
        "treatment_equality": "TE",
        "conditional_demographic_disparity_in_predicted_labels": "CDDPL",
    }
    output = tmp_path / "report.json"
    columns = ("--label", "label", "--prediction", "prediction", "--score", "score", "--strata", "education_num", "--attribute", "sex")

    metrics(predictions, *columns, "--monitored", "Female", "--all", "--output", str(output))

    measured = {row["metric"]: row["value"] for row in json.loads(output.read_text())["measurements"] if row["group"] == "Female"}
    assert {key: measured[key] for key in names} == pytest.approx({key: facet[name] for key, name in names.items()}, abs=1e-9)
