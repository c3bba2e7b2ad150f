"""The files that are measured by counting: command, library and stored records have the groups, ratios and verdicts of `cases.json`."""

import csv
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from app.library.measurements import measure_frame
from tests.field.cases import FIELD, at_hand, has_number, marks_of
from tests.field.commands import evenhand, evenhand_at_latest, measure
from tests.service import RunningService

pytestmark = at_hand

CASES = json.loads((FIELD / "cases.json").read_text(encoding="utf-8"))["cases"] if FIELD.exists() else []


def _name(case: dict[str, Any]) -> str:
    return f"{case['folder']}/{case['file']}, {case['name']}"


def _cases(command: str, test: str) -> pytest.MarkDecorator:
    """The cases of a command, each with its marks for this test."""
    chosen = [case for case in CASES if case["command"][0] == command]
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=_name(case), marks=marks_of(f"{_name(case)}: {test}")) for case in chosen]
    )


def _options(case: dict[str, Any], name: str) -> list[str]:
    command = case["command"]
    return [value for option, value in pairwise(command) if option == name]


def _file(case: dict[str, Any]) -> Path:
    path: Path = FIELD / case["folder"] / case["file"]
    return path


def _arguments(case: dict[str, Any]) -> list[str | Path]:
    return [_file(case) if part == case["file"] else part for part in case["command"][1:]]


def _require_measured(case: dict[str, Any], report: dict[str, Any]) -> None:
    """The ratios and verdicts, and the counts that they are of."""
    rows = {row["group"]: row for row in report["measurements"] if (row["metric"], row["scope"]) == ("disparate_impact", "group")}
    counted = {name: [row["details"]["monitored_favourable"], row["details"]["monitored_n"]] for name, row in rows.items()}
    references = {(row["details"]["reference_favourable"], row["details"]["reference_n"]) for row in rows.values()}
    pooled = tuple(sum(case["groups"][name][place] for name in case["reference"]) for place in (0, 1))
    assert counted.keys() == case["ratios"].keys() - set(case["reference"])
    assert {**counted, "reference": references} == {**{name: case["groups"][name] for name in counted}, "reference": {pooled}}
    for name, row in rows.items():
        assert row["value"] == pytest.approx(case["ratios"][name], rel=0, abs=1e-12)
    assert {name: rows[name]["verdict"] for name in case["verdicts"]} == case["verdicts"]


@_cases("metrics", "the command")
def test_the_command_measures_what_is_counted(case: dict[str, Any], tmp_path: Path) -> None:
    report, _ = measure(tmp_path, *_arguments(case))

    _require_measured(case, report)


@_cases("metrics", "the library")
def test_the_library_measures_what_is_counted(case: dict[str, Any]) -> None:
    with _file(case).open(encoding="utf-8", newline="") as file:
        frame = pd.DataFrame([{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)], dtype=object)
    attribute, column = case["group_column"], case["outcome_column"]
    groups: dict[str, Any] = {name: _options(case, f"--{name}") for name in ("monitored", "reference")}
    if "ranges" in case:
        frame[attribute] = pd.to_numeric(frame[attribute], errors="coerce")
        groups = {name: [tuple(case["ranges"][text]) for text in texts] for name, texts in groups.items()}

    report = measure_frame(
        frame,
        attribute=attribute,
        prediction=column,
        label=next(iter(_options(case, "--label")), None),
        favourable=case["favourable"],
        monitored=groups["monitored"] or None,
        reference=groups["reference"] or None,
        metrics=["disparate_impact"],
    )

    _require_measured(case, report.to_json())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=_name(case), marks=marks_of(f"{_name(case)}: left out"))
        for case in CASES
        if case["command"][0] == "metrics" and case["left_out"]
    ],
)
def test_what_is_left_out_is_printed(case: dict[str, Any], tmp_path: Path) -> None:
    _, ended = measure(tmp_path, *_arguments(case))

    counted, left_out = sum(n for _, n in case["groups"].values()), case["left_out"]
    assert f"{counted:,} of {counted + sum(left_out.values()):,} records counted; left out:" in ended.text
    words = ended.text.partition("left out:")[2]
    assert all(str(count) in words for count in left_out.values())


@_cases("evidence", "the command")
def test_evidence_follows_the_groups_that_are_counted(case: dict[str, Any]) -> None:
    ended = evenhand_at_latest("evidence", *_arguments(case), "--json")

    comparisons = json.loads(ended.stdout)["comparisons"]
    assert {comparison["group"] for comparison in comparisons} == case["ratios"].keys()
    unfair = {(comparison["group"], comparison["direction"]) for comparison in comparisons if comparison["state"] == "unfair"}
    assert unfair == {(name, "below" if ratio < 1 else "above") for name, ratio in case["ratios"].items()}


@_cases("report", "the counts")
def test_a_report_has_the_counts_and_ratios(case: dict[str, Any]) -> None:
    ended = evenhand_at_latest("report", "--from-csv", _file(case), *_arguments(case)[2:])

    rows = {row["category"]: row for row in json.loads(ended.stdout)["sheets"]["adverse_impact"]["tables"][0]["rows"]}
    assert {name: [row["selected"], row["applicants"]] for name, row in rows.items()} == case["groups"]
    for name, ratio in case["ratios"].items():
        assert rows[name]["impact_ratio"] == pytest.approx(ratio, rel=0, abs=1e-12)


@_cases("report", "significance")
def test_a_report_corrects_p_for_the_choice_of_the_highest(case: dict[str, Any]) -> None:
    ended = evenhand_at_latest("report", "--from-csv", _file(case), *_arguments(case)[2:])

    rows = {row["category"]: row for row in json.loads(ended.stdout)["sheets"]["adverse_impact"]["tables"][0]["rows"]}
    for name, right in case["against_highest"].items():
        assert has_number(rows[name], right["p_corrected"])
        assert has_number(rows[name], right["z"])
        assert ("significant" in rows[name]["flags"]) is (right["p_corrected"] < 0.05)


@_cases("import", "the command")
def test_an_import_stores_the_records_that_are_counted(case: dict[str, Any], shared_service: RunningService, tmp_path: Path) -> None:
    deployment, client = "field-counted", shared_service.client
    features = [{"name": case["group_column"], "type": "string"}]
    body = {"id": deployment, "name": deployment, "problem_type": "binary", "features": features}
    client.post("/v1/deployments", json=body).raise_for_status()
    service = ["--url", shared_service.base_url, "--key", shared_service.admin_key, "--deployment", deployment]

    ended = evenhand("import", *_arguments(case), *service, "--state", tmp_path)

    address = f"/v1/deployments/{deployment}/payload-records?limit=1000"
    stored = client.get(address).raise_for_status().json()["payload_records"]
    client.delete(f"/v1/deployments/{deployment}").raise_for_status()
    assert ended.status == 0, ended.text
    outcomes = [(record["features"][case["group_column"]], str(record["prediction"]) in case["favourable"]) for record in stored]
    groups = Counter(group for group, _ in outcomes)
    favourable = Counter(group for group, is_favourable in outcomes if is_favourable)
    assert {name: [favourable[name], count] for name, count in groups.items()} == case["groups"]
