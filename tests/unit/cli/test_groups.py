"""`evenhand groups` and `evenhand plan`: reports for people, and refusals that name the option."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli.file_options import WIDTH
from app.cli.groups import command as groups
from app.cli.plan import command as plan
from tests.builders.decision_log import log as log_of_sexes
from tests.builders.planted_log import log

OPTIONS = ("--time", "at", "--feature", "age", "--feature", "region", "--prediction", "approved", "--favourable", "yes")
PLANNING = ("--time", "at", "--attribute", "sex", "--reference", "man", "--prediction", "approved", "--favourable", "yes")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("logs") / "decisions.csv"
    log().to_csv(file, index=False)
    return file


def test_the_report_says_what_was_searched_and_what_was_confirmed(file: Path) -> None:
    ended = CliRunner().invoke(groups, [str(file), *OPTIONS, "--scan-hours", "48"])
    printed = " ".join(ended.output.split())

    assert ended.exit_code == 0, ended.output
    assert "each of which searched 105 subgroups by age, region" in printed
    assert "Candidate 1" in printed
    assert "Confirmed at" in printed
    assert all(len(line) <= WIDTH for line in ended.output.splitlines())


def test_without_later_hours_the_report_says_that_it_is_a_candidate(file: Path) -> None:
    printed = " ".join(CliRunner().invoke(groups, [str(file), *OPTIONS]).output.split())

    assert "A candidate, not a finding" in printed
    assert "it expires at 2026-11-09" in printed


def test_a_wrong_option_is_named(file: Path) -> None:
    ended = CliRunner().invoke(groups, [str(file), *OPTIONS, "--feature", "colour"])

    assert ended.exit_code == 2
    assert "--feature" in ended.output


def test_a_plan_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    log_of_sexes(60).to_csv(file, index=False)
    ended = CliRunner().invoke(plan, [str(file), *PLANNING, "--ratio", "0.6"])
    refused = CliRunner().invoke(plan, [str(file), *PLANNING, "--ratio", "0.9"])

    assert ended.exit_code == 0, ended.output
    assert "a ratio of 0.6 is found with 90 % probability within" in " ".join(ended.output.split())
    assert (refused.exit_code, "--ratio" in refused.output) == (2, True)
