"""No rate of labelled records appears without "of the … with a label": answers, files, pages, reports, messages and commands."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from app.cli.library import metrics
from app.database.engine import Database
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import words
from tests.scenes import HOUR, NOON, Scene, scene
from tests.service import running_service

MARK = re.compile(r"of\s+the\s+[\d,]+\s+with\s+a\s+label")
HEADLINE = "Labels of some: 80 of 120 records have a label, 60 of them favourable."
METRICS = ("disparate_impact", "accuracy", "true_positive_rate_difference", "accuracy_difference", "positive_predictive_value", "f1")
PEOPLE = applicants(60, 60, 30)


@pytest.fixture
def stage(database: Database) -> Scene:
    """Records of which two of three have a label, which is the prediction for four of five."""
    watched = scene(database, APPLICANT, monitor_of(SEX, metrics=METRICS), endpoint=None)
    watched.log(PEOPLE, NOON)
    known = [(person["id"], person["prediction"] if no % 5 else 1 - person["prediction"]) for no, person in enumerate(PEOPLE) if no % 3]
    watched.label(known, NOON + HOUR / 2)
    return watched


@pytest.fixture
def client(stage: Scene, tmp_path: Path) -> Iterator[httpx.Client]:
    with running_service(stage.database, tmp_path) as service:
        yield service.client


def read(client: httpx.Client, path: str) -> httpx.Response:
    return client.get(path).raise_for_status()


@pytest.mark.thorough
def test_answers_files_pages_and_reports_mark_each_figure_of_labelled_records(stage: Scene, client: httpx.Client) -> None:
    check = stage.check(NOON).run
    api, page = (f"{root}/deployments/{stage.deployment.id}/checks/{check.id}" for root in ("/v1", ""))
    measured: list[dict[str, Any]] = read(client, f"{api}/measurements?limit=1000").json()["measurements"]
    labelled = [one for one in measured if one["data"] == "labelled" and one["value"] is not None]
    in_file = [row for row in csv.DictReader(io.StringIO(read(client, f"{api}/measurements.csv").text)) if row["data"] == "labelled"]

    assert {one["metric"] for one in labelled} == set(METRICS) - {"disparate_impact"}
    assert [one for one in labelled if not MARK.search(one["sentence"]) or one["details"]["labels"]["of"] != "labelled"] == []
    assert [row for row in in_file if row["value"] and not MARK.search(row["sentence"])] == []
    assert not any(MARK.search(one["sentence"]) for one in measured if one["data"] == "as_logged")

    text = read(client, page).text
    listed = read(client, f"{page}/measurements").text
    rows = [words(row) for row in re.findall(r"<tr>.*?</tr>", listed, re.DOTALL) if "labelled records" in row]
    assert len(rows) == len(labelled)
    assert [row for row in rows if not MARK.search(row)] == []
    for one in labelled:
        figure = {name: one[name] for name in ("metric", "data", "scope", "attribute", "group") if one[name] is not None}
        shown = client.get(f"{page}/figure", params=figure).raise_for_status().text
        assert MARK.search(words(shown)), figure

    first, of_metric = (read(client, f"/deployments/{stage.deployment.id}{query}").text for query in ("", "?metric=accuracy&data=labelled"))
    assert MARK.search(words(of_metric))
    for shown in (text, first, of_metric, read(client, f"{api}/report.html").text):
        assert HEADLINE in words(shown)
    assert HEADLINE in str(read(client, f"{api}/report.json").json())


def test_a_command_marks_each_figure_of_labelled_rows(tmp_path: Path) -> None:
    rows = [
        f"{person['sex']},{person['prediction']},{(person['prediction'] + (no % 5 == 0)) % 2 if no % 3 else ''}"
        for no, person in enumerate(PEOPLE)
    ]
    file = tmp_path / "decisions.csv"
    file.write_text("\n".join(["sex,approved,repaid", *rows]) + "\n")
    options = ("--attribute", "sex", "--monitored", "female", "--reference", "male", "--prediction", "approved", "--label", "repaid")

    written = tmp_path / "figures.csv"
    printed = CliRunner().invoke(metrics.command, [str(file), *options, "--output", str(written)]).stdout
    in_file = [row for row in csv.DictReader(io.StringIO(written.read_text())) if "label" in row["sentence"] and row["value"]]

    sentences = [" ".join(part.split()) for part in printed.split("•")[1:]]
    of_labels = [sentence for sentence in sentences if "label" in sentence]
    assert len(of_labels) >= 5
    assert [label for label in of_labels if not MARK.search(label)] == []
    assert HEADLINE in " ".join(printed.split())
    assert len(in_file) >= len(of_labels)
    assert [row for row in in_file if not MARK.search(row["sentence"])] == []
