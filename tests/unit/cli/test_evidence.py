"""`evenhand evidence`: the JSON for programs, the report for people, and refusals that name the option."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli.library.evidence import command
from app.cli.library.metrics_files import CONSOLE_WIDTH
from tests.builders.decision_log import log

OPTIONS = ("--time", "at", "--attribute", "sex", "--reference", "man", "--prediction", "approved", "--favourable", "yes")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("logs") / "decisions.csv"
    log().to_csv(file, index=False)
    return file


def run(file: Path, *options: str) -> str:
    ended = CliRunner().invoke(command, [str(file), *OPTIONS, *options])
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_json_has_the_members_that_programs_read(file: Path) -> None:
    found = json.loads(run(file, "--json"))

    assert found["hours"] == 250
    assert [set(comparison) for comparison in found["comparisons"]] == [
        {
            *("attribute", "group", "metric", "direction", "state", "row", "sentence", "evidence", "since", "alarm_at"),
            *("interval", "interval_kind"),
        }
    ] * 2
    first = found["comparisons"][0]
    assert (first["attribute"], first["group"], first["metric"], first["direction"]) == ("sex", "woman", "disparate_impact", "below")
    assert (first["state"], first["since"][:13]) in {("Unfair", f"2026-10-11T{hour}") for hour in ("05", "06", "07")}


@pytest.mark.thorough
def test_the_report_has_a_table_bars_and_sentences(file: Path) -> None:
    printed = run(file, "--label", "repaid")

    assert "since 2026-10-11 0" in printed
    assert "Unfair" in printed
    assert "--each-record-another-person NAME" in " ".join(printed.split())
    assert "█" in printed
    assert "At most one false alarm a year" in " ".join(printed.split())
    assert all(len(line) <= CONSOLE_WIDTH for line in printed.splitlines())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--time", "sex"), "--time"),
        (("--limit", "2"), "--limit"),
        (("--person", "nobody"), "--person"),
        (("--favourable", "x"), "--favourable"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(tmp_path: Path, options: tuple[str, str], named: str) -> None:
    file = tmp_path / "decisions.csv"
    log(20).to_csv(file, index=False)
    without = [one for pair in zip(OPTIONS[::2], OPTIONS[1::2], strict=True) if pair[0] != named for one in pair]
    ended = CliRunner().invoke(command, [str(file), *without, *options])

    assert ended.exit_code == 2
    assert named in ended.output


def test_times_that_cannot_be_are_a_line_of_the_report_and_a_member_of_the_json(tmp_path: Path) -> None:
    frame = log(40).assign(at=lambda one: one["at"].dt.strftime("%Y%m%d%H%M%S"))
    frame.loc[[3, 8], "at"] = "1970-01-01"
    frame.to_csv(tmp_path / "log.csv", index=False)

    printed = run(tmp_path / "log.csv")

    assert "11,998 of 12,000 records counted; left out:" in printed
    assert "Times that cannot be: 2 default date (first '1970-01-01' in record 4)." in printed
    assert json.loads(run(tmp_path / "log.csv", "--json"))["left_out_times"] == [
        {"reason": "default date", "first": "1970-01-01", "record": 4, "count": 2}
    ]


def test_a_column_of_dates_names_no_hour(tmp_path: Path) -> None:
    log().assign(at=lambda one: one["at"].dt.strftime("%d.%m.%Y")).to_csv(tmp_path / "log.csv", index=False)

    printed = run(tmp_path / "log.csv", "--time-format", "%d.%m.%Y")

    assert "log.csv: 11 days, 2026-10-05 to 2026-10-15." in printed
    assert "since 2026-10-11" in printed or "since 2026-10-12" in printed  # it fell on the 11th at 6:00
    assert not re.search("[0-9]:[0-9]", printed)


def test_the_refusal_of_a_file_names_the_option_and_its_value(tmp_path: Path) -> None:
    log(20).assign(at=lambda one: one["at"].dt.strftime("%d/%m/%Y %H:%M")).to_csv(tmp_path / "log.csv", index=False)

    ended = CliRunner().invoke(command, [str(tmp_path / "log.csv"), *OPTIONS])

    assert ended.exit_code == 2
    assert "--time-format (here perhaps '%d/%m/%Y %H:%M')" in " ".join(ended.output.replace("│", " ").split())
