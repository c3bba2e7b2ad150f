"""`evenhand groups` and `evenhand plan`: reports for people, and refusals that name the option."""

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from app.cli.library.groups import command as groups
from app.cli.library.metrics_files import CONSOLE_WIDTH
from app.cli.library.plan import command as plan
from app.domain.group_rules import GroupRule
from tests.builders.decision_log import log as log_of_sexes
from tests.builders.page_words import says
from tests.builders.planted_log import log

OPTIONS = ("--feature", "age", "--number", "age", "--feature", "region", "--prediction", "approved", "--favourable", "yes")
PLANNING = ("--time", "at", "--attribute", "sex", "--reference", "man", "--prediction", "approved", "--favourable", "yes")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("logs") / "decisions.csv"
    log().to_csv(file, index=False)
    return file


def test_the_report_says_what_was_searched_and_prints_the_rule_of_what_was_found(file: Path, snapshot: SnapshotAssertion) -> None:
    ended = CliRunner().invoke(groups, [str(file), *OPTIONS])
    *lines, rule = ended.output.splitlines()
    printed = " ".join(" ".join(lines).split())

    assert ended.exit_code == 0, ended.output
    assert says(printed, "105", "age", "7,200")
    assert printed == snapshot
    assert msgspec.convert(msgspec.json.decode(rule)["search"]["rule"], GroupRule).label in printed
    assert all(len(line) <= CONSOLE_WIDTH for line in lines)


def test_without_a_finding_the_report_says_so(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "decisions.csv"
    log(ratio=1.0, seed=2).to_csv(file, index=False)
    ended = CliRunner().invoke(groups, [str(file), *OPTIONS])

    assert ended.exit_code == 0, ended.output
    assert " ".join(ended.output.split()) == snapshot
    assert "{" not in ended.output


def test_a_wrong_option_is_named(file: Path) -> None:
    ended = CliRunner().invoke(groups, [str(file), *OPTIONS, "--feature", "colour"])

    assert ended.exit_code == 2
    assert "--feature" in ended.output


def test_a_plan_is_a_sentence(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "decisions.csv"
    log_of_sexes(60).to_csv(file, index=False)
    ended = CliRunner().invoke(plan, [str(file), *PLANNING, "--ratio", "0.6", "--each-record-another-person", "Ann"])
    refused = CliRunner().invoke(plan, [str(file), *PLANNING, "--ratio", "0.9"])

    assert ended.exit_code == 0, ended.output
    assert says(text := " ".join(ended.output.split()), "0.6", "90")
    assert text == snapshot
    assert (refused.exit_code, "--ratio" in refused.output) == (2, True)
