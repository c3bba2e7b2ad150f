"""Every command on a file says which of its rows it counts, and every row is counted or left out."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer import Typer
from typer.testing import CliRunner

from app.cli.library import evidence, groups, metrics, plan
from app.cli.reports import report
from tests.examples import many

LINE = re.compile(r"(?:All ([\d,]+) records|([\d,]+) of ([\d,]+) records) counted(?:; left out: (.*?)\.)?")

OUTCOMES = ("--favourable", "yes", "--unfavourable", "no")
COMPARED = ("--attribute", "sex", "--monitored", "woman", "--reference", "man", "--prediction", "approved", *OUTCOMES)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def read_line(printed: str) -> tuple[int, int, dict[str, int]]:
    """Counted, of, and the count of each reason."""
    found = LINE.search(" ".join(printed.split()))
    assert found is not None, printed
    if found[1]:
        return number(found[1]), number(found[1]), {}
    # Brackets name groups; without them each part ends with its count.
    reasons = (part.rsplit(" ", 1) for part in re.sub(r" \([^)]*\)", "", found[4]).split(", "))
    return number(found[2]), number(found[3]), {text: number(count) for text, count in reasons}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """2,000 rows, of which women miss their prediction more often; some have no group, another outcome or a person who comes back."""
    rng = np.random.default_rng(51)
    size = 2_000
    sex = rng.choice(["woman", "man", "diverse"], size, p=[0.45, 0.5, 0.05])
    approved = np.where(rng.random(size) < np.where(sex == "woman", 0.4, 0.5), "yes", "no").astype(object)
    approved[rng.random(size) < np.where(sex == "woman", 0.1, 0.02)] = None
    approved[rng.random(size) < 0.01] = "maybe"
    ages = rng.integers(18, 80, size).astype(str).astype(object)
    ages[:3] = ["?", None, "unknown"]
    times = pd.date_range("2026-01-01", periods=size, freq="10min").strftime("%Y-%m-%dT%H:%M:%SZ")
    table = {"sex": sex.astype(object), "age": ages, "approved": approved, "repaid": approved, "at": times}
    frame = pd.DataFrame(table).assign(person=rng.integers(0, 1_800, size), score=rng.random(size).round(3))
    frame.loc[rng.random(size) < 0.03, "sex"] = None
    frame.loc[rng.random(size) < 0.02, "score"] = None
    return frame


@pytest.fixture(scope="module")
def file(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("left_out") / "decisions.csv"
    frame.to_csv(file, index=False)
    return file


def run(command: Typer, file: Path, *options: str) -> str:
    arguments = ["--from-csv", str(file), *options] if command is report.command else [str(file), *options]
    ended = CliRunner().invoke(command, arguments)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


@pytest.mark.parametrize(
    ("command", "options", "reasons"),
    [
        (
            metrics.command,
            COMPARED,
            {"no prediction", "prediction in neither outcome list", "sex unknown", "sex in no group"},
        ),
        (
            metrics.command,
            ("--attribute", "sex", "--label", "repaid", *OUTCOMES, "--reference", "man"),
            {"no label", "label in neither outcome list", "sex unknown"},
        ),
        (
            metrics.command,
            ("--attribute", "age", "--monitored", "18-30", "--reference", "31-60", "--prediction", "approved", *OUTCOMES),
            {"no prediction", "prediction in neither outcome list", "age unknown", "age is not a number", "age in no group"},
        ),
        (
            metrics.command,
            ("--attribute", "sex", "--attribute", "age", "--number", "age", "--prediction", "approved", *OUTCOMES),
            {"no prediction", "prediction in neither outcome list", "sex × age unknown", "sex × age is not a number"},
        ),
        (
            evidence.command,
            (*COMPARED, "--time", "at", "--person", "person"),
            {"later record of a person", "no prediction", "prediction in neither outcome list", "sex unknown", "sex in no group"},
        ),
        (
            plan.command,
            (*COMPARED, "--time", "at"),
            {"outside the period", "no prediction", "prediction in neither outcome list", "sex unknown", "sex in no group"},
        ),
        (
            groups.command,
            ("--feature", "age", "--prediction", "approved", *OUTCOMES, "--person", "person"),
            {"later record of a person", "no prediction", "prediction in neither outcome list"},
        ),
    ],
    ids=["metrics", "labels", "ranges", "together", "evidence", "plan", "groups"],
)
def test_the_counts_of_the_line_add_up_to_the_rows(
    command: Typer, options: tuple[str, ...], reasons: set[str], file: Path, frame: pd.DataFrame
) -> None:
    counted, of, left_out = read_line(run(command, file, *options))

    assert of == len(frame) == counted + sum(left_out.values())
    assert set(left_out) == reasons


def check(records: dict[str, Any], of: int) -> None:
    counts = [one["count"] for one in records["left_out"]]
    assert records["of"] == of == records["counted"] + sum(counts)
    assert all(sum(group["count"] for group in cause["groups"]) == cause["count"] for cause in records["left_out"])
    assert sum(group["of"] for group in records["groups"]) == of


@pytest.mark.parametrize("answer", [("--prediction", "approved", *OUTCOMES), ("--score", "score")], ids=["selecting", "scoring"])
def test_the_report_has_the_line_of_each_table_in_every_format(answer: tuple[str, ...], file: Path, frame: pd.DataFrame) -> None:
    options = ("--attribute", "sex", "--attribute", "person", "--preset", "ll144", *answer)
    small = file.with_name("small.csv")
    frame.assign(person=frame["person"] % 5).to_csv(small, index=False)
    found = json.loads(run(report.command, small, *options, "--format", "json"))
    html = run(report.command, small, *options)
    rows = list(csv.DictReader(io.StringIO(run(report.command, small, *options, "--format", "csv"))))

    assert list(found["records_by_attribute"]) == ["sex", "person", "sex × person"]
    assert found["records"] == found["records_by_attribute"]["sex"]
    for attribute, records in found["records_by_attribute"].items():
        check(records, len(frame))
        assert records["text"] in html
        assert sum(int(row["applicants"]) for row in rows if row["sheet"] == "records" and row["attribute"] == attribute) == len(frame)


@pytest.mark.thorough
def test_a_group_that_misses_its_predictions_more_often_is_named(file: Path) -> None:
    for printed in (run(metrics.command, file, *COMPARED), run(plan.command, file, *COMPARED, "--time", "at")):
        assert "Caution: " in printed
        assert "of 100 woman are left out" in " ".join(printed.split())
    found = json.loads(run(evidence.command, file, *COMPARED, "--time", "at", "--json"))["records"]
    assert found["cautions"][0]["group"] == "woman"
    assert found["cautions"][0]["p"] < 0.01


CELL = st.sampled_from(["", "a", "b", "c"])
ANSWER = st.sampled_from(["", "yes", "no", "maybe"])


@pytest.mark.thorough
@settings(deadline=None, max_examples=many(20))
@given(st.lists(st.tuples(CELL, CELL, ANSWER, ANSWER), min_size=1, max_size=30))
def test_rows_of_any_file_are_counted_or_left_out(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]]) -> None:
    file = tmp_path_factory.getbasetemp() / "any.csv"
    output = file.with_suffix(".json")
    # One row of each, without which an option would name nothing.
    rows = [("a", "a", "yes", "yes"), ("b", "b", "no", "no"), *rows]
    file.write_text("\n".join(["sex,town,approved,repaid", *map(",".join, rows)]) + "\n")
    options = ("--attribute", "sex", "--attribute", "town", "--each", *OUTCOMES, "--output", str(output))
    for answers in (("--prediction", "approved"), ("--label", "repaid"), ("--prediction", "approved", "--label", "repaid")):
        run(metrics.command, file, *options, *answers)
        for written in json.loads(output.read_text()):
            check(written["records"], len(rows))
